#include "oracles/number/correct_rounding.h"

#include <algorithm>
#include <cmath>

namespace normfuzz {

std::uint64_t correctly_rounded(DType d, mpfr_srcptr value) {
  const FloatFormat& f = format_of(d);
  if (!mpfr_regular_p(value)) return bits_from_value(d, mpfr_get_d(value, MPFR_RNDN));  // zero, infinity, NaN: exact in double
  const mpfr_exp_t exponent = mpfr_get_exp(value) - 1;                                  // 2^exponent <= |value| < 2^(exponent + 1)
  const double sign = mpfr_signbit(value) ? -1.0 : 1.0;
  if (exponent > f.max_exponent) return bits_from_value(d, std::copysign(HUGE_VAL, sign));
  // Bits that the format has at this magnitude: fewer below the smallest normal number, none between half the smallest subnormal and it.
  const mpfr_exp_t bits = f.precision - std::max<mpfr_exp_t>(0, f.min_exponent - exponent);
  if (bits < 0) return bits_from_value(d, std::copysign(0.0, sign));
  if (bits == 0) {
    const bool tie = mpfr_min_prec(value) == 1;  // a power of two, so half the smallest subnormal itself: to even, 0
    return bits_from_value(d, std::copysign(tie ? 0.0 : f.smallest_subnormal, sign));
  }
  mpfr_t rounded;
  mpfr_init2(rounded, bits);
  mpfr_set(rounded, value, MPFR_RNDN);
  // A carry to 2^(max_exponent + 1) is the infinity; everything else is a number of the format, hence a double.
  const double exact = mpfr_get_exp(rounded) - 1 > f.max_exponent ? std::copysign(HUGE_VAL, sign) : mpfr_get_d(rounded, MPFR_RNDN);
  mpfr_clear(rounded);
  return bits_from_value(d, exact);
}

}  // namespace normfuzz
