// Exact values, allowed errors and element verdicts on rows whose answers are known in closed form.
#include "oracles/bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

using testing::case_of;
using testing::kEpsilon;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

Contract standard(DType d) { return *contract_named("standard", d); }

TEST(Bound, ExactValuesThatArePointsHaveNoError) {
  // mean 0, variance 9/4, epsilon 7/4: scale 1/2.
  const CaseRows rows(case_of("layer_norm", DType::kF32, 1, {1.5, -1.5}, 1.75));
  const auto b = slice_bounds(rows, 0, standard(DType::kF32));
  EXPECT_EQ(b[0].head, 0.75);
  EXPECT_EQ(b[1].head, -0.75);
  EXPECT_EQ(b[0].tail, 0);
}

TEST(Bound, StrictBelowAndLooseAbove) {
  const CaseRows rows(case_of("layer_norm", DType::kF32, 1, {1.5, -1.5}, 1.75));
  const Contract c = standard(DType::kF32);
  const auto b = slice_bounds(rows, 0, c);
  EXPECT_EQ(certify(0.75, b[0], c, DType::kF32), ElementVerdict::kWithin);
  EXPECT_EQ(certify(0.75 + b[0].allowed * 0.999, b[0], c, DType::kF32), ElementVerdict::kWithin);
  EXPECT_EQ(certify(0.75 + b[0].allowed * 1.001, b[0], c, DType::kF32), ElementVerdict::kViolation);
  EXPECT_EQ(certify(kNaN, b[0], c, DType::kF32), ElementVerdict::kViolation);
  EXPECT_EQ(certify(kInf, b[0], c, DType::kF32), ElementVerdict::kViolation);
}

TEST(Bound, EveryRungAllowsAtLeastTheCorrectlyRoundedResult) {
  for (const DType d : kAllDTypes)
    for (const char* op : {"layer_norm", "rms_norm"})
      for (const auto rung : contract_ladder()) {
        const CaseRows rows(case_of(op, d, 1, {1, 2, 4, -3, 0.5}, kEpsilon));
        const Contract c = *contract_named(rung, d);
        for (const ElementBound& b : slice_bounds(rows, 0, c)) {
          const double rounded = value_from_bits(d, bits_from_value(d, b.head));
          EXPECT_NE(certify(rounded, b, c, d), ElementVerdict::kViolation) << op << ' ' << rung << ' ' << name_of(d);
        }
      }
}

TEST(Bound, TheLadderWidens) {
  const CaseRows rows(case_of("layer_norm", DType::kF32, 1, {100, 101, 102, 104, 107, 100, 90, 103, 99}, kEpsilon));
  const auto allowed = [&](const char* rung) { return slice_bounds(rows, 0, *contract_named(rung, DType::kF32))[0].allowed; };
  EXPECT_LT(allowed("f64_accumulate"), allowed("two_pass"));
  EXPECT_LT(allowed("two_pass"), allowed("standard"));
  EXPECT_LE(allowed("standard"), allowed("one_pass"));
}

TEST(Bound, SquaresThatOverflowPermitAnythingUnlessRobust) {
  const CaseRows rows(case_of("layer_norm", DType::kF32, 1, {1e30, -1e30}, kEpsilon));
  const auto b = slice_bounds(rows, 0, standard(DType::kF32));
  EXPECT_EQ(b[0].limit, Limit::kOverflow);
  EXPECT_EQ(certify(0, b[0], standard(DType::kF32), DType::kF32), ElementVerdict::kLimit);
  const Contract robust = *contract_named("robust", DType::kF32);
  const auto r = slice_bounds(rows, 0, robust);
  EXPECT_EQ(certify(0, r[0], robust, DType::kF32), ElementVerdict::kViolation);
  EXPECT_EQ(certify(1, r[0], robust, DType::kF32), ElementVerdict::kWithin);
}

TEST(Bound, PartialSumsOverflowBeforeTheirTotal) {
  // (1.5, 1.5, -1.5, -1.5) 2^127: the sum is 0, its partial sums are not numbers.
  const double big = 0x1.8p127;
  const CaseRows rows(case_of("layer_norm", DType::kF32, 1, {big, big, -big, -big}, kEpsilon));
  EXPECT_EQ(slice_bounds(rows, 0, standard(DType::kF32))[0].limit, Limit::kOverflow);
}

TEST(Bound, HalfPrecisionOverflowIsPermittedExactlyAtMaxPlusHalfUlp) {
  Case c = case_of("rms_norm", DType::kF16, 1, {1, 1}, 0);
  c.set_input("weight", testing::tensor(DType::kF16, {2}, {65504, 32768}));
  c.set_input("bias", testing::tensor(DType::kF16, {2}, {15.5, 0}));  // 65519.5: just below 65520
  const CaseRows rows(c);
  const Contract k = standard(DType::kF16);
  const auto b = slice_bounds(rows, 0, k);
  EXPECT_EQ(certify(65504, b[0], k, DType::kF16), ElementVerdict::kWithin);
  EXPECT_EQ(certify(kInf, b[0], k, DType::kF16), ElementVerdict::kWithin);  // the ball reaches 65520
  EXPECT_EQ(certify(-kInf, b[0], k, DType::kF16), ElementVerdict::kViolation);
  EXPECT_EQ(certify(kInf, b[1], k, DType::kF16), ElementVerdict::kViolation);
}

// The product 65504 * 1.41 overflows where it is cast before the bias takes it back into the range.
TEST(Bound, ACastProductMayOverflow) {
  Case c = case_of("layer_norm", DType::kF16, 1, {0, 0, 3}, 0);
  c.set_input("weight", testing::tensor(DType::kF16, {3}, {65504, 65504, 65504}));
  c.set_input("bias", testing::tensor(DType::kF16, {3}, {0, 0, -60000}));
  Contract k = standard(DType::kF16);
  EXPECT_EQ(slice_bounds(CaseRows(c), 0, k)[2].limit, Limit::kNone);
  ASSERT_TRUE(apply_modifier(k, "before_weight", "yes"));
  EXPECT_EQ(slice_bounds(CaseRows(c), 0, k)[2].limit, Limit::kOverflow);
}

TEST(Bound, ZeroDenominatorsFollowThePromise) {
  Case c = case_of("layer_norm", DType::kF32, 1, {7, 7, 7}, 0);
  c.set_input("bias", testing::tensor(DType::kF32, {3}, {1, 2, 3}));
  const CaseRows rows(c);
  Contract k = standard(DType::kF32);
  EXPECT_EQ(certify(kNaN, slice_bounds(rows, 0, k)[1], k, DType::kF32), ElementVerdict::kLimit);
  k.zero_denominator = ZeroDenominator::kZero;
  EXPECT_EQ(certify(2, slice_bounds(rows, 0, k)[1], k, DType::kF32), ElementVerdict::kWithin);
  EXPECT_EQ(certify(kNaN, slice_bounds(rows, 0, k)[1], k, DType::kF32), ElementVerdict::kViolation);
  k.zero_denominator = ZeroDenominator::kNan;
  EXPECT_EQ(certify(kNaN, slice_bounds(rows, 0, k)[1], k, DType::kF32), ElementVerdict::kWithin);
  EXPECT_EQ(certify(2, slice_bounds(rows, 0, k)[1], k, DType::kF32), ElementVerdict::kViolation);
}

TEST(Bound, NaNsPropagateAndInfinitiesStayNotFinite) {
  const Contract k = standard(DType::kF32);
  const CaseRows nan_row(case_of("layer_norm", DType::kF32, 2, {1, kNaN, 1, 2}, kEpsilon));
  EXPECT_EQ(certify(0, slice_bounds(nan_row, 0, k)[0], k, DType::kF32), ElementVerdict::kViolation);
  EXPECT_EQ(certify(kNaN, slice_bounds(nan_row, 0, k)[0], k, DType::kF32), ElementVerdict::kWithin);
  EXPECT_EQ(slice_bounds(nan_row, 1, k)[0].expect, Expectation::kValue);
  const CaseRows inf_row(case_of("rms_norm", DType::kF32, 1, {kInf, 1}, kEpsilon));
  EXPECT_EQ(certify(1, slice_bounds(inf_row, 0, k)[0], k, DType::kF32), ElementVerdict::kViolation);
  EXPECT_EQ(certify(0, slice_bounds(inf_row, 0, k)[1], k, DType::kF32), ElementVerdict::kLimit);
}

// x without spread, epsilon 0: xhat is 0/0 in every column, and a dy that is infinite in one of them changes nothing in the others.
TEST(Bound, ZeroDivisorBesideInfiniteCotangent) {
  Case c;
  c.op = "layer_norm_backward";
  c.params["epsilon"] = 0.0;
  c.set_input("x", testing::tensor(DType::kF32, {1, 2}, {3, 3}));
  c.set_input("dy", testing::tensor(DType::kF32, {1, 2}, {kInf, 1}));
  c.set_input("weight", testing::tensor(DType::kF32, {2}, {1, 1}));
  const CaseRows rows(c);
  const Contract k = standard(DType::kF32);
  const auto sums = slice_bounds(rows, 1, k);  // dweight, then dbias
  ASSERT_EQ(sums.size(), 4u);
  EXPECT_EQ(certify(kNaN, sums[1], k, DType::kF32), ElementVerdict::kLimit);
  EXPECT_EQ(certify(0, sums[0], k, DType::kF32), ElementVerdict::kViolation);
  EXPECT_EQ(certify(1, sums[3], k, DType::kF32), ElementVerdict::kWithin);
  EXPECT_EQ(certify(kNaN, sums[3], k, DType::kF32), ElementVerdict::kViolation);
}

TEST(Bound, DoubleRowsAreResolvedBelowOneUlp) {
  const CaseRows rows(case_of("layer_norm", DType::kF64, 1, {1, 2, 4}, kEpsilon));
  const Contract k = *contract_named("faithful", DType::kF64);
  const auto b = slice_bounds(rows, 0, k);
  const double nearest = b[0].head, neighbour = std::nextafter(nearest, nearest + b[0].tail > nearest ? 10 : -10);
  EXPECT_EQ(certify(nearest, b[0], k, DType::kF64), ElementVerdict::kWithin);
  EXPECT_EQ(certify(neighbour, b[0], k, DType::kF64), ElementVerdict::kWithin);
  EXPECT_EQ(certify(std::nextafter(neighbour, neighbour + (neighbour - nearest)), b[0], k, DType::kF64), ElementVerdict::kViolation);
}

TEST(Bound, EnclosuresOfTwoPrecisionsMeet) {
  // The exact mean of 2^300, -2^300, 2^-300, 0 needs 600 bits; 192 enclose it, wider.
  const CaseRows rows(case_of("layer_norm", DType::kF64, 1, {0x1p300, -0x1p300, 0x1p-300, 0}, 0));
  const auto b = slice_bounds(rows, 0, standard(DType::kF64), 192), wide = slice_bounds(rows, 0, standard(DType::kF64), 2048);
  for (std::size_t i = 0; i < b.size(); ++i) {
    EXPECT_EQ(b[i].expect, Expectation::kValue);
    const double distance = std::fabs((b[i].head - wide[i].head) + (b[i].tail - wide[i].tail));
    EXPECT_LE(distance, b[i].error + wide[i].error);
  }
}

TEST(Bound, FingerprintsSeparateContractsByContentNotByName) {
  Contract a = standard(DType::kF32), b = a;
  b.name = "another name";
  EXPECT_EQ(fingerprint(a), fingerprint(b));
  b.rsqrt_ulps = 5;
  EXPECT_NE(fingerprint(a), fingerprint(b));
  EXPECT_EQ(fingerprint(*contract_named("standard", DType::kF64)), fingerprint(*contract_named("f64_accumulate", DType::kF64)));
}

}  // namespace
}  // namespace normfuzz
