// Machine arithmetic and the kernels on it: every operation rounds as its format does, and a contract admits what it pays for.
#include "oracles/kernels/kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "oracles/number/interval.h"
#include "oracles/number/machine_number.h"
#include "oracles/number/rounded.h"
#include "targets/cpu/two_pass_arithmetic.h"

namespace normfuzz {
namespace {

#include "oracles/ops/all-inl.h"

constexpr int kDraws = 20000;

double finite_number(DType d, std::mt19937_64& random) {
  for (;;) {
    const double v = value_from_bits(d, random() & 0xffff);
    if (std::isfinite(v)) return v;
  }
}

// |exact - a| <= |exact - b|, decided exactly.
bool not_farther(mpfr_srcptr exact, double a, double b) {
  Real to_a, to_b;
  mpfr_sub_d(to_a.get(), exact, a, MPFR_RNDN);
  mpfr_sub_d(to_b.get(), exact, b, MPFR_RNDN);
  return mpfr_cmpabs(to_a.get(), to_b.get()) <= 0;
}

// `got` is the number of D nearest to `exact`, the even one of two; an infinity where `exact` is max + ulp/2 or more.
void expect_nearest(DType d, mpfr_srcptr exact, double got) {
  const FloatFormat& f = format_of(d);
  if (std::isinf(got)) {
    EXPECT_GE(std::fabs(mpfr_get_d(exact, MPFR_RNDZ)), f.max_finite + std::ldexp(f.unit_roundoff, f.max_exponent));
    return;
  }
  const std::uint64_t bits = bits_from_value(d, got);
  const double above = value_from_bits(d, next_up_bits(d, bits)), below = -value_from_bits(d, next_up_bits(d, bits_from_value(d, -got)));
  for (const double neighbour : {above, below}) {
    if (!std::isfinite(neighbour)) continue;
    EXPECT_TRUE(not_farther(exact, got, neighbour));
    if (not_farther(exact, neighbour, got)) {
      EXPECT_EQ(bits & 1, 0u) << "a tie, to even";
    }
  }
}

template <DType D>
void check_operations() {
  const PrecisionScope bits(1024);  // sums and products of 16-bit numbers are exact, quotients and roots are no ties
  std::mt19937_64 random(20240501);
  for (int i = 0; i < kDraws; ++i) {
    const double a = finite_number(D, random), b = finite_number(D, random), c = finite_number(D, random);
    const Narrow<D> x(a), y(b), z(c);
    Real exact, of_b, of_c;
    mpfr_set_d(exact.get(), a, MPFR_RNDN);
    mpfr_set_d(of_b.get(), b, MPFR_RNDN);
    mpfr_set_d(of_c.get(), c, MPFR_RNDN);
    mpfr_fma(exact.get(), exact.get(), of_b.get(), of_c.get(), MPFR_RNDN);
    expect_nearest(D, exact.get(), static_cast<double>(fused(x, y, z)));
    mpfr_add_d(exact.get(), of_b.get(), c, MPFR_RNDN);
    expect_nearest(D, exact.get(), static_cast<double>(y + z));
    mpfr_mul_d(exact.get(), of_b.get(), c, MPFR_RNDN);
    expect_nearest(D, exact.get(), static_cast<double>(y * z));
    if (c != 0) {
      mpfr_div_d(exact.get(), of_b.get(), c, MPFR_RNDN);
      expect_nearest(D, exact.get(), static_cast<double>(y / z));
    }
    if (b >= 0) {
      mpfr_sqrt(exact.get(), of_b.get(), MPFR_RNDN);
      expect_nearest(D, exact.get(), static_cast<double>(root_of(y)));
    }
  }
}

TEST(Narrow, OperationsRoundOnceInF16) { check_operations<DType::kF16>(); }
TEST(Narrow, OperationsRoundOnceInBF16) { check_operations<DType::kBF16>(); }

// 7/16 37/16 = 259/256 lies halfway between 129/128 and the even 130/128. Rounded to double first, 2^-100 below it is forgotten.
TEST(Narrow, FusedRoundsOnceWhereDoubleWouldRoundTwice) {
  using Number = Narrow<DType::kBF16>;
  const Number a(7.0 / 16), b(37.0 / 16);
  EXPECT_EQ(static_cast<double>(fused(a, b, Number(0))), 130.0 / 128);
  EXPECT_EQ(static_cast<double>(fused(a, b, Number(-0x1p-100))), 129.0 / 128);
  EXPECT_EQ(static_cast<double>(Number(std::fma(7.0 / 16, 37.0 / 16, -0x1p-100))), 130.0 / 128) << "twice";
}

TEST(Flushed, ResultsBelowTheSmallestNormalAreZero) {
  const Flushed<float> smallest(0x1p-126), half(0.5), stored_subnormal(0x1p-130);
  EXPECT_EQ(static_cast<double>(smallest * half), 0);
  EXPECT_EQ(static_cast<double>(smallest - Flushed<float>(0x1.8p-126)), 0);
  EXPECT_EQ(static_cast<double>(stored_subnormal), 0x1p-130) << "a stored input stays: that is denormals-are-zero";
  EXPECT_EQ(static_cast<double>(smallest + smallest), 0x1p-125);
}

struct Row {
  std::vector<double> x, weight, bias;
  RowInputs inputs(double epsilon) const { return {static_cast<std::int64_t>(x.size()), x.data(), weight.data(), bias.data(), epsilon, 0}; }
};

Row random_row(std::mt19937_64& random, std::int64_t n) {
  Row row;
  for (auto* v : {&row.x, &row.weight, &row.bias})
    for (std::int64_t i = 0; i < n; ++i) v->push_back(static_cast<float>(std::ldexp(static_cast<double>(random() >> 12), -50) - 2));
  return row;
}

// The default kernel is the cpu target's.
TEST(RunKernel, DefaultsAreTheTwoPassArithmetic) {
  std::mt19937_64 random(20240501);
  for (std::int64_t n = 1; n <= 33; ++n)
    for (const char* op : {"layer_norm", "rms_norm"}) {
      const Row row = random_row(random, n);
      const RowInputs in = row.inputs(0x1p-10);
      const TwoPassArithmetic<float> plain(n);
      const float* expected = evaluate_formula(op, plain, in);
      EXPECT_EQ(run_kernel({}, op, DType::kF32, DType::kF32, in), std::vector<double>(expected, expected + n));
    }
}

// In exact arithmetic all kernels agree: integers with a power-of-two count, an integral mean and variance + epsilon = 4^k.
TEST(RunKernel, AllKernelsAgreeWhereNothingRounds) {
  const Row row{{-2, 2, -2, 2, -2, 2, -2, 2}, {1, 2, 4, 8, -1, -2, -4, -8}, {1, 1, 1, 1, 0, 0, 0, 0}};
  const std::vector<double> expected{0, 3, -3, 9, 1, -2, 4, -8};
  for (int moments = 0; moments < 6; ++moments)
    for (int order = 0; order < 6; ++order)
      for (int association = 0; association < 6; ++association)
        for (int root = 0; root < 3; ++root)
          for (const bool flag : {false, true}) {
            KernelOptions k;
            k.moments = static_cast<MomentsMethod>(moments);
            k.order = static_cast<SummationOrder>(order);
            k.association = static_cast<Association>(association);
            k.root = static_cast<Root>(root);
            k.fma = flag;
            // Welford's running means of this row are not integers.
            if (k.moments == MomentsMethod::kWelfordSequential || k.moments == MomentsMethod::kWelfordLanes) continue;
            if (k.moments == MomentsMethod::kWelfordTree && k.order == SummationOrder::kRandomTree) continue;
            for (const DType accumulate : kAllDTypes)
              EXPECT_EQ(run_kernel(k, "layer_norm", accumulate, DType::kF32, row.inputs(0)), expected)
                  << describe(k) << ", " << name_of(accumulate);
          }
}

TEST(Allows, WhatTheContractPaysFor) {
  const Contract two_pass = *contract_named("two_pass", DType::kF32), standard = *contract_named("standard", DType::kF32);
  const auto with = [](Contract c, std::string_view field, std::string_view value) {
    EXPECT_TRUE(apply_modifier(c, field, value));
    return c;
  };
  KernelOptions k;
  EXPECT_TRUE(allows(two_pass, k, 8));
  EXPECT_FALSE(allows(*contract_named("faithful", DType::kF32), k, 8));
  EXPECT_FALSE(allows(*contract_named("robust", DType::kF32), k, 8));
  k.moments = MomentsMethod::kWelfordTree;
  EXPECT_FALSE(allows(two_pass, k, 8));
  EXPECT_TRUE(allows(standard, k, 8));
  EXPECT_TRUE(allows(with(standard, "moments", "welford_tree(3)"), k, 8));
  EXPECT_FALSE(allows(with(standard, "moments", "welford_tree(3)"), k, 9));
  k = {};
  k.association = Association::kFoldedMean;
  EXPECT_FALSE(allows(standard, k, 8));
  EXPECT_TRUE(allows(with(standard, "affine", "folded"), k, 8));
  k = {};
  k.root = Root::kRsqrt;
  k.root_steps = -3;
  EXPECT_TRUE(allows(standard, k, 8));
  k.root_steps = -4;
  EXPECT_FALSE(allows(standard, k, 8)) << "4 steps from the nearest number may be 4.5 ulps from the root";
  k = {};
  k.flush_to_zero = true;
  EXPECT_FALSE(allows(standard, k, 8));
  EXPECT_TRUE(allows(with(standard, "ftz", "yes"), k, 8));
}

}  // namespace
}  // namespace normfuzz
