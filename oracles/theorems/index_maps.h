// The index maps of channel normalization on 64-bit integers: activations c x h x w against rows of channels (h w) x c.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "oracles/theorems/property.h"

namespace normfuzz::theorems {

struct Extents {
  std::int64_t c = 1, h = 1, w = 1;
};
// c h w, or nothing where the product leaves 63 bits or an extent is below 1.
std::optional<std::int64_t> volume(const Extents& e);

// Premise of all maps: volume(e) has a value and 0 <= k < volume.
struct IndexMaps {
  std::int64_t (*reassoc_forward)(const Extents&, std::int64_t k);   // (ci, (hi, wi)) of [c, h w] to ((ci, hi), wi) of [c h, w]
  std::int64_t (*reassoc_backward)(const Extents&, std::int64_t k);  // the other way
  std::int64_t (*rows)(const Extents&, std::int64_t j);              // offset in [c, h, w] to offset in [h w, c]
  std::int64_t (*rows_inverse)(const Extents&, std::int64_t o);
  std::int64_t (*transpose)(std::int64_t m, std::int64_t n, std::int64_t k);  // [m, n] to [n, m]
  std::vector<std::int64_t> (*strides)(const std::vector<std::int64_t>& shape);
};
extern const IndexMaps kIndexMaps;

// Checks the law on these maps: all indices of a small size, a sample of a large one. Tests pass corrupted maps.
PropertyResult check_index_law(std::string_view id, const PropertyArgs& args, const IndexMaps& maps);

}  // namespace normfuzz::theorems
