// How many rows of how many columns, and how they are spread over dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/generate/generator.h"
#include "harness/generate/regime.h"
#include "harness/generate/stream.h"

namespace normfuzz {

struct Extent {
  std::int64_t rows, cols;
};
// Mostly a few dozen elements; widths and row counts about powers of two and of real models; rarely 65,537 of either (large_shapes).
Extent draw_extent(Stream s, const Regime& regime, const GeneratorOptions& options);

// `count` extents >= 1 with product n; most factors go to one of them.
std::vector<std::int64_t> split_extent(Stream& s, std::int64_t n, int count);

}  // namespace normfuzz
