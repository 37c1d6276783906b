#include "core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace normfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The definition of IEEE 754, field by field: independent of the code under test.
double value_by_definition(DType d, std::uint64_t bits) {
  const FloatFormat& f = format_of(d);
  const int mantissa_bits = f.precision - 1, exponent_bits = 8 * f.bytes - 1 - mantissa_bits;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double sign = bits >> (8 * f.bytes - 1) & 1 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), f.min_exponent - mantissa_bits);
  const double significand = static_cast<double>(mantissa | std::uint64_t{1} << mantissa_bits);
  return sign * std::ldexp(significand, f.min_exponent + exponent - 1 - mantissa_bits);
}

class SmallFormat : public ::testing::TestWithParam<DType> {
 protected:
  DType d = GetParam();
  // Bits of the positive infinity: the patterns below are the finite ones, in increasing order.
  std::uint64_t infinity = bits_from_value(d, kInfinity);
  std::uint64_t sign = 0x8000;
};

TEST_P(SmallFormat, EveryPatternHasItsValueAndComesBack) {
  for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
    const double expected = value_by_definition(d, bits), value = value_from_bits(d, bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(bits_from_value(d, value), d == DType::kF16 ? 0x7e00u : 0x7fc0u) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected)) << bits;
      ASSERT_EQ(bits_from_value(d, value), bits);
    }
    ASSERT_TRUE(representable(d, value));
  }
}

// Between two neighbours there is one tie; it, and the doubles beside it, decide the rounding of everything between them.
TEST_P(SmallFormat, RoundsToNearestEvenBetweenAllNeighbours) {
  for (std::uint64_t low = 0; low + 1 < infinity; ++low) {
    const std::uint64_t high = low + 1, even = low % 2 == 0 ? low : high;
    const double tie = (value_from_bits(d, low) + value_from_bits(d, high)) / 2;  // exact: precision is far below 53
    ASSERT_EQ(bits_from_value(d, tie), even);
    ASSERT_EQ(bits_from_value(d, std::nextafter(tie, 0)), low);
    ASSERT_EQ(bits_from_value(d, std::nextafter(tie, kInfinity)), high);
    ASSERT_EQ(bits_from_value(d, -tie), even | sign);
    ASSERT_EQ(bits_from_value(d, std::nextafter(-tie, 0)), low | sign);
    ASSERT_EQ(bits_from_value(d, std::nextafter(-tie, -kInfinity)), high | sign);
    ASSERT_FALSE(representable(d, tie));
    ASSERT_EQ(next_up_bits(d, low), high);
    ASSERT_EQ(next_up_bits(d, high | sign), low | sign);
  }
}

TEST_P(SmallFormat, OverflowsAtMaximumPlusHalfAUnit) {
  const FloatFormat& f = format_of(d);
  const double half_unit = std::ldexp(f.unit_roundoff, f.max_exponent);  // u 2^emax: half the spacing of the top binade
  EXPECT_EQ(bits_from_value(d, f.max_finite), infinity - 1);
  EXPECT_EQ(bits_from_value(d, f.max_finite + half_unit), infinity);
  EXPECT_EQ(bits_from_value(d, std::nextafter(f.max_finite + half_unit, 0)), infinity - 1);
  EXPECT_EQ(bits_from_value(d, -f.max_finite - half_unit), infinity | sign);
  EXPECT_EQ(bits_from_value(d, std::numeric_limits<double>::max()), infinity);
  EXPECT_EQ(bits_from_value(d, std::numeric_limits<double>::denorm_min()), 0u);
  EXPECT_EQ(bits_from_value(d, -std::numeric_limits<double>::denorm_min()), sign);
  EXPECT_EQ(bits_from_value(d, f.smallest_subnormal / 2), 0u);  // a tie, and zero is even
  EXPECT_EQ(bits_from_value(d, std::nextafter(f.smallest_subnormal / 2, 1)), 1u);
}

INSTANTIATE_TEST_SUITE_P(DType, SmallFormat, ::testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(DType, Float16OverflowsAtItsKnownDecimalThreshold) {
  EXPECT_EQ(value_from_bits(DType::kF16, bits_from_value(DType::kF16, 65519.999)), 65504);
  EXPECT_EQ(value_from_bits(DType::kF16, bits_from_value(DType::kF16, 65520)), kInfinity);
}

TEST(DType, Float32RoundsToNearestEvenBetweenNeighbours) {
  const DType d = DType::kF32;
  const std::uint64_t infinity = 0x7f800000;
  // A prime step visits every exponent and both parities; the first and last patterns are added.
  const auto check = [&](std::uint64_t low) {
    const double a = value_by_definition(d, low), b = low + 1 == infinity ? 0x1p128 : value_by_definition(d, low + 1);
    const double tie = (a + b) / 2;
    ASSERT_EQ(bits_from_value(d, a), low);
    ASSERT_EQ(bits_from_value(d, tie), low % 2 == 0 ? low : low + 1);
    ASSERT_EQ(bits_from_value(d, std::nextafter(tie, 0)), low);
    ASSERT_EQ(bits_from_value(d, std::nextafter(tie, kInfinity)), low + 1);
    ASSERT_EQ(value_from_bits(d, low), a);
  };
  for (std::uint64_t low = 0; low < infinity; low += 10007) check(low);
  for (const std::uint64_t low : {std::uint64_t{0}, std::uint64_t{0x7fffff}, std::uint64_t{0x800000}, infinity - 1}) check(low);
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) std::uint16_t hardware_f16(float v) {
  return static_cast<std::uint16_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(v), _MM_FROUND_TO_NEAREST_INT), 0));
}

TEST(DType, Float16AgreesWithTheProcessor) {
  if (!__builtin_cpu_supports("avx2"))
    GTEST_SKIP() << "this processor has no AVX2, and so perhaps no F16C";  // clang 16 knows no "f16c" here
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1009) {
    const float v = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(v)) continue;  // the processor keeps payloads, we store the canonical NaN
    ASSERT_EQ(bits_from_value(DType::kF16, v), hardware_f16(v)) << bits;
    ASSERT_EQ(Float16(v).bits, hardware_f16(v));
  }
}
#endif

TEST(DType, NansAreCanonical) {
  for (const DType d : kAllDTypes) {
    const double negative = std::bit_cast<double>(std::uint64_t{0xfff8000000000001});
    EXPECT_EQ(bits_from_value(d, negative), bits_from_value(d, std::numeric_limits<double>::quiet_NaN())) << name_of(d);
    EXPECT_TRUE(is_nan_bits(d, bits_from_value(d, negative)));
    EXPECT_TRUE(representable(d, negative));
  }
}

TEST(DType, TableFollowsFromPrecisionAndExponents) {
  for (const DType d : kAllDTypes) {
    const FloatFormat& f = format_of(d);
    EXPECT_EQ(f.unit_roundoff, std::ldexp(1, -f.precision)) << f.name;
    EXPECT_EQ(f.smallest_normal, std::ldexp(1, f.min_exponent)) << f.name;
    EXPECT_EQ(f.smallest_subnormal, std::ldexp(1, f.min_exponent - f.precision + 1)) << f.name;
    EXPECT_EQ(f.max_finite, std::ldexp(2 - 2 * f.unit_roundoff, f.max_exponent)) << f.name;
    EXPECT_EQ(f.half_subnormal, d == DType::kF64 ? f.smallest_subnormal : f.smallest_subnormal / 2) << f.name;
    EXPECT_EQ(f.max_exponent, 1 - f.min_exponent) << f.name;
    EXPECT_EQ(dtype_from_name(f.name), d);
  }
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
}

TEST(DType, StorageTypesConvertLikeTheTable) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    Float16 h;
    BFloat16 b;
    h.bits = b.bits = static_cast<std::uint16_t>(bits);
    const auto same = [](float a, double e) {
      return std::isnan(e) ? std::isnan(a) : std::bit_cast<std::uint64_t>(static_cast<double>(a)) == std::bit_cast<std::uint64_t>(e);
    };
    ASSERT_TRUE(same(static_cast<float>(h), value_by_definition(DType::kF16, bits))) << bits;
    ASSERT_TRUE(same(static_cast<float>(b), value_by_definition(DType::kBF16, bits))) << bits;
  }
}

TEST(DType, LoadsAndStoresAtAnyAddress) {
  for (const DType d : kAllDTypes) {
    std::byte buffer[17] = {};
    const std::uint64_t bits = bits_from_value(d, -1.5);
    for (std::size_t at = 0; at < 9; ++at) {
      store_bits(d, buffer + at, bits);
      EXPECT_EQ(load_bits(d, buffer + at), bits);
      EXPECT_EQ(load_value(d, buffer + at), -1.5);
    }
  }
}

}  // namespace
}  // namespace normfuzz
