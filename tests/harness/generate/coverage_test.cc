// What the issue asks of shapes and parameters, counted over the first indices of one seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/generate/regime.h"
#include "harness/generate/shape.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kSeed = 20240501;

struct Seen {
  std::map<std::int64_t, int> rows, cols;
  std::vector<std::int64_t> sizes;
};

Seen draw_extents(std::uint64_t count, const GeneratorOptions& options) {
  Seen seen;
  const Regime* any = find_regime("gaussian");
  for (std::uint64_t i = 0; i < count; ++i) {
    const Extent e = draw_extent(Stream(kSeed).sub(i), *any, options);
    ++seen.rows[e.rows];
    ++seen.cols[e.cols];
    seen.sizes.push_back(e.rows * e.cols);
  }
  return seen;
}

TEST(Coverage, ShapesOfTheIssueAllOccur) {
  const Seen seen = draw_extents(300000, {});
  for (std::int64_t n = 1; n <= 17; ++n) EXPECT_TRUE(seen.cols.count(n)) << n << " columns";
  for (int k = 5; k <= 16; ++k)
    for (int off = -1; off <= 1; ++off)
      EXPECT_TRUE(seen.cols.count((std::int64_t{1} << k) + off)) << "2^" << k << " + " << off << " columns";
  for (const std::int64_t n : {384, 768, 1600, 2880, 3584, 4096, 5120, 7168}) EXPECT_TRUE(seen.cols.count(n)) << n << " columns";
  for (const std::int64_t n : {1, 2, 3, 255, 256, 257, 65535, 65536, 65537}) EXPECT_TRUE(seen.rows.count(n)) << n << " rows";
}

TEST(Coverage, MostCasesAreSmall) {
  Seen seen = draw_extents(300000, {});
  std::nth_element(seen.sizes.begin(), seen.sizes.begin() + 150000, seen.sizes.end());
  EXPECT_LE(seen.sizes[150000], 64);
  double sum = 0;
  for (const std::int64_t n : seen.sizes) sum += static_cast<double>(n);
  EXPECT_LE(sum / 300000, 400);
}

TEST(Coverage, OptionsLimitShapes) {
  const Seen plain = draw_extents(300000, {.large_shapes = false});
  EXPECT_LE(plain.rows.rbegin()->first, 600);
  EXPECT_LE(plain.cols.rbegin()->first, 8193);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const GeneratorOptions options{.max_elements = 100};
    EXPECT_LE(generate(kSeed, "layer_norm", DType::kF32, i, options).input("x")->size(), 100);
  }
  for (const std::int64_t size : draw_extents(300000, {.max_elements = std::int64_t{1} << 40}).sizes)
    ASSERT_LE(size, std::int64_t{1} << 20);
}

TEST(Coverage, RanksParametersAndMixedTypes) {
  std::set<int> ranks, trailing;
  std::set<double> epsilons;
  std::map<std::string, int> has;
  for (const std::string_view op : {"layer_norm", "rms_norm"})
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const Case c = generate(kSeed, op, DType::kBF16, i, {.large_shapes = false});
      ranks.insert(c.input("x")->rank());
      epsilons.insert(c.epsilon());
      for (const char* name : {"weight", "bias"}) {
        const Tensor* t = c.input(name);
        ++has[std::string(op).append(t ? " with " : " without ").append(name)];
        if (t) trailing.insert(t->rank());
        if (t && t->dtype == DType::kF32) ++has[std::string("mixed ").append(name)];
      }
      if (c.params.count("weight_offset")) ++has[std::string(op) + " weight_offset"];
      if (c.params.count("normalized_axis")) ++has[c.integer("normalized_axis", 0) < 0 ? "negative axis" : "positive axis"];
    }
  EXPECT_EQ(ranks, (std::set<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(trailing, (std::set<int>{1, 2, 3}));
  for (const float e : {0.0F, 1e-12F, 1e-8F, 1e-6F, 1e-5F, 1e-3F, 1.0F, 100.0F}) EXPECT_TRUE(epsilons.count(static_cast<double>(e))) << e;
  EXPECT_GT(epsilons.size(), 1000u);  // log-uniform ones
  for (const char* what :
       {"layer_norm with weight", "layer_norm without weight", "layer_norm with bias", "layer_norm without bias", "rms_norm with bias",
        "rms_norm without bias", "rms_norm weight_offset", "mixed weight", "mixed bias", "negative axis", "positive axis"})
    EXPECT_GT(has[what], 200) << what;
  EXPECT_EQ(has["layer_norm weight_offset"], 0);
  EXPECT_GT(has["rms_norm without bias"], 5 * has["rms_norm with bias"]);
}

TEST(Coverage, EveryRegimeIsDrawn) {
  std::map<std::string, int> drawn;
  for (std::uint64_t i = 0; i < 20000; ++i) ++drawn[generate(kSeed, "layer_norm", DType::kF32, i, {.max_elements = 64}).provenance->regime];
  EXPECT_EQ(drawn.size(), all_regimes().size());
  for (const auto& [name, count] : drawn) EXPECT_GT(count, 100) << name;
}

}  // namespace
}  // namespace normfuzz
