// Magnitudes that suit a dtype: how far scales may reach before squares, sums or the type itself run out of range.
#pragma once

#include "core/dtype.h"
#include "harness/generate/stream.h"

namespace normfuzz {

struct Exponents {
  int lo, hi;  // of octaves, both included
};

// Everyday scales: 8.11 * 2^(hi+1) stays far below the largest finite number of each type (f16: 8.11 * 2^10 = 8305 < 65504).
constexpr Exponents ordinary_exponents(DType d) { return d == DType::kF16 ? Exponents{-10, 9} : Exponents{-24, 24}; }

// Scales whose squares, summed over 2^20 elements, neither overflow nor underflow in the accumulation type (f32 for 16-bit storage):
// 2 (40+1) + 2 + 20 < 127 and -80 > -126 there; f64 the same with 400. f16 itself ends at 2^16 and -14.
constexpr Exponents safe_exponents(DType d) {
  switch (d) {
    case DType::kF64:
      return {-400, 400};
    case DType::kF16:
      return {-14, 14};
    default:
      return {-40, 40};
  }
}

// From the smallest subnormal to the largest finite number.
constexpr Exponents all_exponents(DType d) {
  const FloatFormat& f = format_of(d);
  return {f.min_exponent - f.precision + 1, f.max_exponent};
}

// A positive number of the dtype, log-uniform over the octaves given (among subnormals: to be rounded to the dtype).
inline double draw_magnitude(Stream& s, DType d, Exponents e) { return s.log_uniform(e.lo, e.hi, format_of(d).precision); }

// The scale of an everyday row: half of them 1, most others within 2^-6 .. 2^7, a few over the whole ordinary range.
inline double draw_scale(Stream& s, DType d) {
  switch (s.below(8)) {
    case 0:
      return power_of_two(static_cast<int>(s.between(-6, 6)));
    case 1:
    case 2:
      return draw_magnitude(s, d, {-6, 6});
    case 3:
      return draw_magnitude(s, d, ordinary_exponents(d));
    default:
      return 1;
  }
}

// `v` rounded to the dtype.
inline double rounded(DType d, double v) { return value_from_bits(d, bits_from_value(d, v)); }

// The value `steps` units in the last place above the positive finite number `v` of the dtype.
inline double ulps_above(DType d, double v, std::uint64_t steps) { return value_from_bits(d, bits_from_value(d, v) + steps); }

}  // namespace normfuzz
