// chan.* and graph.* on integers: exhaustive, and each law catches a corrupted map.
#include <gtest/gtest.h>

#include "core/tensor.h"
#include "oracles/theorems/index_maps.h"

namespace normfuzz {
namespace {

using theorems::check_index_law;
using theorems::Extents;
using theorems::IndexMaps;
using theorems::kIndexMaps;
using theorems::volume;

constexpr const char* kLaws[] = {"chan.reassoc_fwd_index", "chan.reassoc_back_index", "chan.rows_index_inverse",
                                 "chan.rows_permutation",  "chan.rows_reindex",       "chan.transpose_involution",
                                 "graph.cast_index",       "graph.reassoc",           "graph.unassoc"};

PropertyArgs args_of(std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t seed = 1) {
  return {{"c", std::to_string(c)}, {"h", std::to_string(h)}, {"w", std::to_string(w)}, {"seed", std::to_string(seed)}};
}
bool holds(const char* law, const PropertyArgs& args, const IndexMaps& maps = kIndexMaps) {
  return check_index_law(law, args, maps).state == PropertyResult::State::kHolds;
}

TEST(IndexLaws, HoldForAllSmallExtents) {
  for (const char* law : kLaws)
    for (std::int64_t c = 1; c <= 12; ++c)
      for (std::int64_t h = 1; h <= 12; ++h)
        for (std::int64_t w = 1; w <= 12; ++w) ASSERT_TRUE(holds(law, args_of(c, h, w))) << law << ' ' << c << ' ' << h << ' ' << w;
}

TEST(IndexLaws, HoldNear2To40) {
  for (const char* law : kLaws) {
    EXPECT_TRUE(holds(law, args_of(1 << 20, 1 << 10, 1 << 10))) << law;
    EXPECT_TRUE(holds(law, args_of(1048573, 1021, 1031))) << law;
    EXPECT_TRUE(holds(law, args_of(3, 641, 571000001))) << law;
    EXPECT_TRUE(holds(law, args_of((std::int64_t{1} << 40) - 87, 1, 1))) << law;
  }
}

TEST(IndexLaws, RefuseOverflow) {
  const std::int64_t large = std::int64_t{1} << 32;
  EXPECT_FALSE(volume({large, large, 1}));
  EXPECT_FALSE(volume({3, large, std::int64_t{1} << 31}));
  EXPECT_EQ(volume({1, std::int64_t{1} << 31, std::int64_t{1} << 31}), std::int64_t{1} << 62);
  EXPECT_FALSE(volume({0, 1, 1}));
  for (const char* law : kLaws)
    EXPECT_EQ(check_index_law(law, args_of(large, large, 2), kIndexMaps).state, PropertyResult::State::kVoid) << law;
}

// Every law is broken by the corruption that its entry names.
TEST(IndexLaws, CatchCorruptedMaps) {
  IndexMaps exchanged = kIndexMaps;  // h and w
  exchanged.reassoc_forward = [](const Extents& e, std::int64_t k) {
    return kIndexMaps.reassoc_forward({e.c, e.w, e.h}, k) / e.h * e.h + k % e.w;
  };
  exchanged.reassoc_backward = exchanged.reassoc_forward;
  IndexMaps swapped = kIndexMaps;  // (wi, hi)
  swapped.rows_inverse = [](const Extents& e, std::int64_t o) {
    const std::int64_t s = o / e.c, transposed = s % e.h * e.w + s / e.h;
    return kIndexMaps.rows_inverse(e, transposed * e.c + o % e.c);
  };
  IndexMaps forgetful = kIndexMaps;  // the channel
  forgetful.rows = [](const Extents& e, std::int64_t j) { return j % (e.h * e.w) * e.c; };
  IndexMaps mirrored = kIndexMaps;  // m and n
  mirrored.transpose = [](std::int64_t m, std::int64_t n, std::int64_t k) { return kIndexMaps.transpose(n, m, k) % (m * n - 1); };
  IndexMaps column_major = kIndexMaps;
  column_major.strides = [](const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      strides[i] = step;
      step *= shape[i];
    }
    return strides;
  };
  const std::pair<const char*, const IndexMaps*> kCorruptions[] = {
      {"chan.reassoc_fwd_index", &exchanged}, {"chan.reassoc_back_index", &exchanged}, {"chan.rows_index_inverse", &swapped},
      {"chan.rows_permutation", &forgetful},  {"chan.rows_reindex", &swapped},         {"chan.transpose_involution", &mirrored},
      {"graph.cast_index", &column_major},    {"graph.reassoc", &column_major},        {"graph.unassoc", &column_major}};
  for (const auto& [law, maps] : kCorruptions) {
    EXPECT_FALSE(holds(law, args_of(3, 4, 5), *maps)) << law;
    EXPECT_TRUE(holds(law, args_of(3, 4, 5))) << law;
    const PropertyResult r = check_index_law(law, args_of(3, 4, 5), *maps);
    EXPECT_EQ(r.kind, PropertyKind::kIndex);
    EXPECT_FALSE(r.discrepancies.empty()) << law;
    EXPECT_NE(r.detail.find("c = 3, h = 4, w = 5"), std::string::npos) << r.detail;
  }
}

}  // namespace
}  // namespace normfuzz
