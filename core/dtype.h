// The four storage formats and their exact conversions. Everything that is known about a format stands here once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace normfuzz {

enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16 };
inline constexpr DType kAllDTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

// An IEEE-style binary format: precision p (with the hidden bit), exponents emin..emax of normal numbers.
struct FloatFormat {
  std::string_view name;
  int bytes;
  int precision;
  int min_exponent;           // smallest normal = 2^min_exponent
  int max_exponent;           // largest finite < 2^(max_exponent + 1)
  double unit_roundoff;       // u = 2^-p
  double half_subnormal;      // eta: half the smallest subnormal (f64: 2^-1074, because 2^-1075 is 0 in double; ERROR_MODEL, head)
  double smallest_subnormal;  // 2^(emin - p + 1)
  double smallest_normal;     // 2^emin
  double max_finite;          // (2 - 2^(1-p)) 2^emax
};

constexpr FloatFormat kFormats[] = {
    {"f64", 8, 53, -1022, 1023, 0x1p-53, 0x1p-1074, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp+1023},
    {"f32", 4, 24, -126, 127, 0x1p-24, 0x1p-150, 0x1p-149, 0x1p-126, 0x1.fffffep+127},
    {"f16", 2, 11, -14, 15, 0x1p-11, 0x1p-25, 0x1p-24, 0x1p-14, 0x1.ffcp+15},
    {"bf16", 2, 8, -126, 127, 0x1p-8, 0x1p-134, 0x1p-133, 0x1p-126, 0x1.fep+127},
};

constexpr const FloatFormat& format_of(DType d) { return kFormats[static_cast<std::size_t>(d)]; }
constexpr std::string_view name_of(DType d) { return format_of(d).name; }
std::optional<DType> dtype_from_name(std::string_view name);

// The value of a stored bit pattern (low bits of `bits`), exactly.
double value_from_bits(DType d, std::uint64_t bits);

// `value` rounded to nearest even into `d`; overflow gives an infinity, NaN the canonical quiet NaN.
std::uint64_t bits_from_value(DType d, double value);

// The same into the finite numbers of `d`: its largest one, with the sign, where that overflows; for NaN the positive one.
double nearest_finite(DType d, double value);

// True if `value` (not NaN) survives storage in `d` unchanged, or is NaN.
bool representable(DType d, double value);

// Reads and writes the bits of one element at any address, aligned or not.
std::uint64_t load_bits(DType d, const void* element);
void store_bits(DType d, void* element, std::uint64_t bits);
inline double load_value(DType d, const void* element) { return value_from_bits(d, load_bits(d, element)); }

// Neighbours of a finite bit pattern on the number line (toward +-infinity); used by the generator and the shrinker.
std::uint64_t next_up_bits(DType d, std::uint64_t bits);

inline bool is_nan_bits(DType d, std::uint64_t bits) {
  const double v = value_from_bits(d, bits);
  return v != v;
}

// 16-bit storage types of our own: compilers disagree about _Float16 and __bf16. Arithmetic happens in float.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float v) : bits(static_cast<std::uint16_t>(bits_from_value(DType::kF16, v))) {}
  explicit operator float() const { return static_cast<float>(value_from_bits(DType::kF16, bits)); }
};
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float v) : bits(static_cast<std::uint16_t>(bits_from_value(DType::kBF16, v))) {}
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace normfuzz
