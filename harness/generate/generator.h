// (seed, op, dtype, index) -> Case, a pure function: the same bits on every machine, whatever else is generated (PROTOCOLS.md,
// 'Determinism').
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"

namespace normfuzz {

// Bumped by every change that alters any generated case.
inline constexpr int kGeneratorVersion = 1;

struct RegimeInfo {
  std::string_view name;
  std::string_view summary;
  bool special;  // range, special values, zero denominators: bounds there are often infinite by design
};
const std::vector<RegimeInfo>& all_regimes();

struct GeneratorOptions {
  std::string regime = {};  // only this one; empty: all, weighted
  std::int64_t max_elements = std::int64_t{1} << 20;
  bool large_shapes = true;  // 65,535-row and 65,537-column shapes, rarely
};

Case generate(std::uint64_t seed, std::string_view op, DType dtype, std::uint64_t index, const GeneratorOptions& options = {});

}  // namespace normfuzz
