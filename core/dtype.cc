#include "core/dtype.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace normfuzz {
namespace {

constexpr std::uint64_t kCanonicalNan[] = {0x7ff8000000000000u, 0x7fc00000u, 0x7e00u, 0x7fc0u};

int total_bits(const FloatFormat& f) { return 8 * f.bytes; }
int mantissa_bits(const FloatFormat& f) { return f.precision - 1; }

}  // namespace

std::optional<DType> dtype_from_name(std::string_view name) {
  for (DType d : kAllDTypes)
    if (name_of(d) == name) return d;
  return std::nullopt;
}

double value_from_bits(DType d, std::uint64_t bits) {
  if (d == DType::kF64) return std::bit_cast<double>(bits);
  if (d == DType::kF32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (d == DType::kBF16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 15) & 1, exponent = static_cast<std::uint32_t>(bits >> 10) & 0x1f,
                      mantissa = static_cast<std::uint32_t>(bits) & 0x3ff;
  double v;
  if (exponent == 0x1f) {
    v = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    v = mantissa * 0x1p-24;
  } else {
    // 1.mantissa * 2^(exponent - 15), assembled in double's fields.
    v = std::bit_cast<double>((static_cast<std::uint64_t>(exponent + 1008) << 52) | (static_cast<std::uint64_t>(mantissa) << 42));
  }
  return sign ? -v : v;
}

std::uint64_t bits_from_value(DType d, double value) {
  if (d == DType::kF64) return value != value ? kCanonicalNan[0] : std::bit_cast<std::uint64_t>(value);
  if (value != value) return kCanonicalNan[static_cast<std::size_t>(d)];
  if (d == DType::kF32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const FloatFormat& f = format_of(d);
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (total_bits(f) - 1) : 0;
  const std::uint64_t infinity = ((std::uint64_t{1} << (total_bits(f) - 1)) - 1) & ~((std::uint64_t{1} << mantissa_bits(f)) - 1);
  const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(value) & ~(std::uint64_t{1} << 63);
  const int e = static_cast<int>(magnitude >> 52) - 1023;  // of a double's subnormal: below every 16-bit number
  if (e > f.max_exponent) return sign | infinity;
  // The double's 53-bit significand in units in the last place of the target (of its subnormals below its smallest normal), to nearest
  // even.
  const std::uint64_t significand = (magnitude & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  const int shift = 52 - mantissa_bits(f) + std::max(f.min_exponent - e, 0);
  if (shift > 53) return sign;  // below half of the smallest subnormal
  const std::uint64_t whole = significand >> shift, rest = significand & ((std::uint64_t{1} << shift) - 1),
                      half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rounded = whole + (rest > half || (rest == half && (whole & 1)));
  // Adding (biased exponent - 1) << mantissa_bits to the integer significand carries correctly into the exponent and to infinity.
  return sign | (rounded + (static_cast<std::uint64_t>(std::max(e - f.min_exponent, 0)) << mantissa_bits(f)));
}

bool representable(DType d, double value) { return value != value || value_from_bits(d, bits_from_value(d, value)) == value; }

std::uint64_t load_bits(DType d, const void* element) {
  switch (format_of(d).bytes) {
    case 8: {
      std::uint64_t b;
      std::memcpy(&b, element, 8);
      return b;
    }
    case 4: {
      std::uint32_t b;
      std::memcpy(&b, element, 4);
      return b;
    }
    default: {
      std::uint16_t b;
      std::memcpy(&b, element, 2);
      return b;
    }
  }
}

void store_bits(DType d, void* element, std::uint64_t bits) {
  switch (format_of(d).bytes) {
    case 8:
      std::memcpy(element, &bits, 8);
      return;
    case 4: {
      const auto b = static_cast<std::uint32_t>(bits);
      std::memcpy(element, &b, 4);
      return;
    }
    default: {
      const auto b = static_cast<std::uint16_t>(bits);
      std::memcpy(element, &b, 2);
      return;
    }
  }
}

double nearest_finite(DType d, double value) {
  const double limit = format_of(d).max_finite;
  if (std::isnan(value)) return limit;
  return value_from_bits(d, bits_from_value(d, std::clamp(value, -limit, limit)));
}

std::uint64_t next_up_bits(DType d, std::uint64_t bits) {
  const std::uint64_t sign = std::uint64_t{1} << (total_bits(format_of(d)) - 1);
  if (bits == sign) return 1;  // -0 -> smallest positive
  return bits & sign ? bits - 1 : bits + 1;
}

}  // namespace normfuzz
