#include "oracles/number/correct_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace normfuzz {
namespace {

class Number {
 public:
  explicit Number(double v, mpfr_prec_t bits = 300) {
    mpfr_init2(value_, bits);
    mpfr_set_d(value_, v, MPFR_RNDN);
  }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_ptr get() { return value_; }
  // Moved by one unit in the last of 300 bits.
  Number& above() {
    mpfr_nextabove(value_);
    return *this;
  }
  Number& below() {
    mpfr_nextbelow(value_);
    return *this;
  }

 private:
  mpfr_t value_;
};

// Every pair of neighbours of a 16-bit format: the numbers, what lies just off them, the midpoint and what lies just off it.
class EveryNeighbour : public ::testing::TestWithParam<DType> {};

TEST_P(EveryNeighbour, MidpointsGoToEven) {
  const DType d = GetParam();
  for (std::uint64_t bits = 0; bits < 0x8000; ++bits) {
    const double low = value_from_bits(d, bits), high = value_from_bits(d, bits + 1);
    if (std::isnan(high) || std::isinf(low)) break;
    const double top = std::isinf(high) ? std::ldexp(1.0, format_of(d).max_exponent + 1) : high, middle = (low + top) / 2;
    const std::uint64_t even = bits & 1 ? bits + 1 : bits;
    EXPECT_EQ(correctly_rounded(d, Number(low).get()), bits);
    EXPECT_EQ(correctly_rounded(d, Number(low).above().get()), bits);
    EXPECT_EQ(correctly_rounded(d, Number(middle).get()), even) << middle;
    EXPECT_EQ(correctly_rounded(d, Number(middle).below().get()), bits) << middle;
    EXPECT_EQ(correctly_rounded(d, Number(middle).above().get()), bits + 1) << middle;
    EXPECT_EQ(correctly_rounded(d, Number(top).below().get()), bits + 1);
    EXPECT_EQ(correctly_rounded(d, Number(-middle).get()), even | 0x8000) << -middle;
    EXPECT_EQ(correctly_rounded(d, Number(-middle).below().get()), (bits + 1) | 0x8000) << -middle;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryNeighbour, ::testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// MPFR's own conversions to the machine's types, subnormals included.
TEST(CorrectRounding, AgreesWithMpfrOnMachineFormats) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    Number v(std::ldexp(static_cast<double>(random() | 1) * (random() & 1 ? 1 : -1), static_cast<int>(random() % 400) - 250), 64);
    if (random() & 1) v.above();
    EXPECT_EQ(value_from_bits(DType::kF32, correctly_rounded(DType::kF32, v.get())), static_cast<double>(mpfr_get_flt(v.get(), MPFR_RNDN)));
    mpfr_mul_2si(v.get(), v.get(), static_cast<long>(random() % 2600) - 1400, MPFR_RNDN);
    EXPECT_EQ(value_from_bits(DType::kF64, correctly_rounded(DType::kF64, v.get())), mpfr_get_d(v.get(), MPFR_RNDN));
  }
}

TEST(CorrectRounding, SpecialValuesAndHugeExponents) {
  for (const DType d : kAllDTypes) {
    EXPECT_TRUE(is_nan_bits(d, correctly_rounded(d, Number(std::nan("")).get())));
    EXPECT_EQ(value_from_bits(d, correctly_rounded(d, Number(-HUGE_VAL).get())), -HUGE_VAL);
    EXPECT_TRUE(std::signbit(value_from_bits(d, correctly_rounded(d, Number(-0.0).get()))));
    Number huge(-1.5), tiny(-1.5);
    mpfr_mul_2si(huge.get(), huge.get(), 1L << 40, MPFR_RNDN);
    mpfr_mul_2si(tiny.get(), tiny.get(), -(1L << 40), MPFR_RNDN);
    EXPECT_EQ(value_from_bits(d, correctly_rounded(d, huge.get())), -HUGE_VAL);
    const double zero = value_from_bits(d, correctly_rounded(d, tiny.get()));
    EXPECT_TRUE(zero == 0 && std::signbit(zero));
  }
}

}  // namespace
}  // namespace normfuzz
