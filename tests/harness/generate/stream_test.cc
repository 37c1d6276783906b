#include "harness/generate/stream.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "core/dtype.h"
#include "harness/generate/magnitude.h"

namespace normfuzz {
namespace {

constexpr int kDraws = 1 << 18;
// Statistics of n independent draws are compared at six standard errors: a right generator fails once in 5e8 (and the seeds are fixed).
constexpr double kStandardErrors = 6;

bool uniform_counts(const std::vector<int>& counts) {
  double n = 0;
  for (const int c : counts) n += c;
  const double p = 1.0 / static_cast<double>(counts.size());
  for (const int c : counts)
    if (std::fabs(c - n * p) > kStandardErrors * std::sqrt(n * p * (1 - p))) return false;
  return true;
}

template <class Draw>
bool standard_normal_moments(Draw draw) {
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double g = draw();
    sum += g;
    squares += g * g;
  }
  // Standard errors: of the mean 1/sqrt(n), of the mean square sqrt(2/n) for a kurtosis of at most 3.
  return std::fabs(sum / kDraws) <= kStandardErrors / std::sqrt(kDraws) &&
         std::fabs(squares / kDraws - 1) <= kStandardErrors * std::sqrt(2.0 / kDraws);
}

TEST(Stream, KnownDraws) {
  Stream s = Stream(1).sub("layer_norm").sub(2);
  const std::vector<std::uint64_t> first = {s.next(), s.next(), s.next()};
  Stream again = Stream(1).sub("layer_norm").sub(2);
  for (const std::uint64_t v : first) EXPECT_EQ(again.next(), v);
  // splitmix64 with seed 0 begins 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4 (published test vector of its author's program).
  Stream zero(0);
  EXPECT_EQ(zero.next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(zero.next(), 0x6e789e6aa1b965f4u);
}

TEST(Stream, SubStreamsDoNotDependOnDrawsAndDiffer) {
  Stream s(7);
  const Stream before = s.sub(3);
  for (int i = 0; i < 10; ++i) s.next();
  Stream a = before, b = s.sub(3);
  EXPECT_EQ(a.next(), b.next());
  std::set<std::uint64_t> firsts;
  for (std::uint64_t k = 0; k < 10000; ++k) firsts.insert(Stream(7).sub(k).next());
  for (const auto* name : {"x", "weight", "bias", "layout", "rows", "shared"}) firsts.insert(Stream(7).sub(name).next());
  EXPECT_EQ(firsts.size(), 10006u);
}

TEST(Stream, IntegersAreUniformAndInRange) {
  for (const std::uint64_t n : {1u, 2u, 3u, 10u, 100u}) {
    Stream s(n);
    std::vector<int> counts(n, 0);
    for (int i = 0; i < kDraws; ++i) ++counts[s.below(n)];
    EXPECT_TRUE(uniform_counts(counts)) << n;
  }
  Stream s(5);
  std::vector<int> biased(3, 0);
  for (int i = 0; i < kDraws; ++i) ++biased[s.below(64) % 3];  // 22, 21, 21 of 64: the check must see modulo bias
  EXPECT_FALSE(uniform_counts(biased));
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t v = s.between(-3, 4);
    EXPECT_TRUE(v >= -3 && v <= 4);
  }
}

TEST(Stream, GaussianHasItsMoments) {
  Stream s(11);
  EXPECT_TRUE(standard_normal_moments([&] { return s.gaussian(); }));
  EXPECT_FALSE(standard_normal_moments([&] { return 1.02 * s.gaussian(); }));
  EXPECT_FALSE(standard_normal_moments([&] { return s.gaussian() + 0.02; }));
  for (int i = 0; i < kDraws; ++i) EXPECT_LT(std::fabs(s.gaussian()), Stream::kGaussianBound);
}

TEST(Stream, PowersOfTwoAndBitCountsAreExact) {
  for (int e = -1074; e <= 1023; ++e) EXPECT_EQ(power_of_two(e), std::ldexp(1.0, e)) << e;
  Stream s(3);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t v = s.next();
    EXPECT_EQ(count_bits(v), std::popcount(v));
  }
  EXPECT_EQ(count_bits(0), 0);
  EXPECT_EQ(count_bits(~std::uint64_t{0}), 64);
}

TEST(Stream, LogUniformFillsItsOctavesWithTheirPrecision) {
  Stream s(13);
  std::vector<int> octaves(20, 0);
  for (int i = 0; i < kDraws; ++i) {
    const double v = s.log_uniform(-10, 9, 24);
    ASSERT_TRUE(representable(DType::kF32, v));
    ++octaves[static_cast<std::size_t>(std::ilogb(v) + 10)];
  }
  EXPECT_TRUE(uniform_counts(octaves));
}

TEST(Magnitude, WholeRangeIsFiniteAndPositiveInEveryType) {
  for (const DType d : kAllDTypes) {
    Stream s(17);
    for (int i = 0; i < kDraws / 8; ++i) {
      const double v = rounded(d, draw_magnitude(s, d, all_exponents(d)));
      ASSERT_TRUE(v > 0 && v <= format_of(d).max_finite) << name_of(d) << " " << v;
    }
  }
}

}  // namespace
}  // namespace normfuzz
