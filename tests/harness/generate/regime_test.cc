#include "harness/generate/regime.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/case_io.h"
#include "harness/generate/activations.h"
#include "harness/generate/plan.h"
#include "tests/harness/generate/regime_checks.h"
#include "tests/harness/generate/rows_of.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kSeed = 20240501;
// Enough for every branch of a fill (the rarest has probability 1/20) in each dtype; large shapes are the coverage test's business.
constexpr std::uint64_t kCases = 300;

GeneratorOptions only(std::string_view regime) { return {.regime = std::string(regime), .large_shapes = false}; }
std::string label(const Case& c) {
  return c.op + " " + std::string(name_of(c.dtype())) + " " + c.provenance->regime + " seed " + std::to_string(c.provenance->seed) +
         " index " + std::to_string(c.provenance->index);
}

TEST(Regimes, EachHasOneCheck) {
  ASSERT_EQ(regime_list().size(), test::regime_checks().size());
  for (std::size_t i = 0; i < regime_list().size(); ++i) EXPECT_EQ(regime_list()[i].info.name, test::regime_checks()[i].regime);
}

TEST(Regimes, KeepWhatTheirSummaryPromises) {
  for (const OpPlan& plan : op_plans())
    for (const DType dtype : kAllDTypes)
      for (const test::RegimeCheck& check : test::regime_checks())
        for (std::uint64_t i = 0; i < (plan.name == "layer_norm" ? kCases : kCases / 20); ++i) {  // the fills are the same for every op
          const Case c = generate(kSeed, plan.name, dtype, i, only(check.regime));
          // Rows beside an epsilon are only asked of ops that have it inside the root.
          if (find_regime(check.regime)->epsilon == EpsilonWish::kPositive && !find_op(plan.name)->affine()) continue;
          ASSERT_TRUE(check.keeps(c)) << label(c);
        }
}

TEST(Regimes, ChecksFailOnCorruptedCases) {
  for (const DType dtype : kAllDTypes)
    for (const test::RegimeCheck& check : test::regime_checks()) {
      int corrupted = 0;
      for (std::uint64_t i = 0; i < 60; ++i) {
        Case c = generate(kSeed, "layer_norm", dtype, i, only(check.regime));
        // Orders and equalities need a few elements before they can be broken.
        if (find_regime(check.regime)->cols == 0 && test::rows_of(c)[0].size() < 7) continue;
        check.corrupt(c);
        EXPECT_FALSE(check.keeps(c)) << label(c);
        ++corrupted;
      }
      EXPECT_GT(corrupted, 0) << check.regime;
    }
}

// The premises of the issue: ratios up to the last bit of the type, epsilon on both sides of the row, every octave of one feature.
TEST(Regimes, LargeMeanReachesThePrecisionOfTheType) {
  for (const DType dtype : kAllDTypes) {
    double best = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      for (const auto& row : test::rows_of(generate(kSeed, "layer_norm", dtype, i, only("large_mean")))) {
        double mean = 0, square = 0;
        for (const double v : row) mean += v / static_cast<double>(row.size());
        for (const double v : row) square += (v - mean) * (v - mean) / static_cast<double>(row.size());
        if (square > 0) best = std::max(best, std::fabs(mean) / std::sqrt(square));
      }
    }
    // One element of two differing by one unit in the last place: std = ulp/2, mean/std >= 2^p (2^(p-1) where the mean is at the octave's
    // start).
    EXPECT_GE(best, 0.5 / format_of(dtype).unit_roundoff) << name_of(dtype);
  }
}

TEST(Regimes, EpsDominatedLiesOnBothSidesOfEpsilon) {
  int below = 0, above = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Case c = generate(kSeed, "rms_norm", DType::kF32, i, only("eps_dominated"));
    for (const auto& row : test::rows_of(c)) {
      double square = 0;
      for (const double v : row) square += v * v / static_cast<double>(row.size());
      (square < c.epsilon() ? below : above) += 1;
    }
  }
  EXPECT_GT(below, 100);
  EXPECT_GT(above, 100);
}

TEST(Regimes, OneFeatureVisitsEveryOctave) {
  for (const DType dtype : kAllDTypes) {
    const FloatFormat& f = format_of(dtype);
    const int lowest = f.min_exponent - f.precision + 1;
    std::vector<int> seen(static_cast<std::size_t>(f.max_exponent - lowest + 1), 0);
    for (std::uint64_t i = 0; i < 8000; ++i)
      for (const auto& row : test::rows_of(generate(kSeed, "layer_norm", dtype, i, only("one_feature"))))
        ++seen[static_cast<std::size_t>(std::ilogb(row[0]) - lowest)];
    for (std::size_t e = 0; e < seen.size(); ++e) EXPECT_GT(seen[e], 0) << name_of(dtype) << " octave " << static_cast<int>(e) + lowest;
  }
}

TEST(Regimes, SpecialValuesOfEveryKindOccur) {
  int nan = 0, plus = 0, minus = 0, zero = 0, clean = 0;
  for (std::uint64_t i = 0; i < 300; ++i)
    for (const auto& row : test::rows_of(generate(kSeed, "layer_norm", DType::kBF16, i, only("special_values")))) {
      bool special = false;
      for (const double v : row) {
        nan += std::isnan(v);
        plus += v == HUGE_VAL;
        minus += v == -HUGE_VAL;
        zero += v == 0 && std::signbit(v);
        special |= !std::isfinite(v);
      }
      clean += !special;
    }
  for (const int count : {nan, plus, minus, zero, clean}) EXPECT_GT(count, 0);
}

TEST(Regimes, RealActivationsBringTheirWeightBiasAndEpsilon) {
  int weight = 0, bias = 0, epsilon = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Case c = generate(kSeed, "layer_norm", DType::kF32, i, only("real_activations"));
    weight += c.input("weight") && c.input("weight")->value(0) == static_cast<double>(activation_weight()[0]);
    bias += c.input("bias") && c.input("bias")->value(0) == static_cast<double>(activation_bias()[0]);
    epsilon += c.epsilon() == static_cast<double>(1e-12F);
  }
  EXPECT_GT(weight, 30);
  EXPECT_GT(bias, 30);
  EXPECT_GT(epsilon, 30);
}

TEST(Regimes, EmbeddedActivationsAreTheFile) {
  constexpr std::size_t kBytes = (kActivationRows + 2) * kActivationCols * sizeof(float);
  const auto file = read_file(NORMFUZZ_SOURCE_DIR "/corpus/activations/minilm.f32.bin", kBytes);
  ASSERT_TRUE(static_cast<bool>(file)) << file.error();
  ASSERT_EQ(file->size(), kBytes);
  EXPECT_EQ(std::memcmp(file->data(), activation_row(0).data(), kBytes), 0);
}

TEST(Regimes, UnknownNamesGiveCasesThatValidationRefuses) {
  EXPECT_TRUE(static_cast<bool>(validate(generate(1, "layer_norm", DType::kF32, 0))));
  EXPECT_FALSE(static_cast<bool>(validate(generate(1, "layer_norm", DType::kF32, 0, only("no_such_regime")))));
  EXPECT_FALSE(static_cast<bool>(validate(generate(1, "no_such_op", DType::kF32, 0))));
}

}  // namespace
}  // namespace normfuzz
