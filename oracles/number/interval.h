// Enclosures of real numbers: [lower, upper] in MPFR, every operation rounded outward. Finite data only; the one infinite end that occurs
// is the upper end of rsqrt at zero.
#pragma once

#include "oracles/number/real.h"

namespace normfuzz {

class Interval;
Interval rsqrt(const Interval& s);
Interval square(const Interval& a);
Interval sqrt(const Interval& s);
Interval abs(const Interval& a);
Interval max(const Interval& a, const Interval& b);
Interval pow(const Interval& base, const Interval& exponent);

class Interval {
 public:
  Interval() = default;  // [0, 0]
  // The exact double. Premise: the working precision is at least 53.
  explicit Interval(double exact) {
    mpfr_set_d(lower_.get(), exact, MPFR_RNDD);
    mpfr_set_d(upper_.get(), exact, MPFR_RNDU);
  }

  friend Interval operator+(const Interval& a, const Interval& b) {
    Interval r;
    mpfr_add(r.lower_.get(), a.lower(), b.lower(), MPFR_RNDD);
    mpfr_add(r.upper_.get(), a.upper(), b.upper(), MPFR_RNDU);
    return r;
  }
  friend Interval operator-(const Interval& a, const Interval& b) {
    Interval r;
    mpfr_sub(r.lower_.get(), a.lower(), b.upper(), MPFR_RNDD);
    mpfr_sub(r.upper_.get(), a.upper(), b.lower(), MPFR_RNDU);
    return r;
  }
  Interval& operator+=(const Interval& b) {
    mpfr_add(lower_.get(), lower(), b.lower(), MPFR_RNDD);
    mpfr_add(upper_.get(), upper(), b.upper(), MPFR_RNDU);
    return *this;
  }
  friend Interval operator*(const Interval& a, const Interval& b);
  friend Interval operator/(const Interval& a, unsigned long n) {
    Interval r;
    mpfr_div_ui(r.lower_.get(), a.lower(), n, MPFR_RNDD);
    mpfr_div_ui(r.upper_.get(), a.upper(), n, MPFR_RNDU);
    return r;
  }
  // Premise: the divisor does not hold zero; the quotient is NaN where it does.
  friend Interval operator/(const Interval& a, const Interval& b);
  // 0 <= square, whatever the sign of the operand.
  friend Interval square(const Interval& a);
  // 1/sqrt of the part of the enclosure above zero; [., +inf] where it touches zero. Premise: upper > 0.
  friend Interval rsqrt(const Interval& s);
  // Of the part of the enclosure at or above zero.
  friend Interval sqrt(const Interval& s);
  friend Interval abs(const Interval& a);
  friend Interval max(const Interval& a, const Interval& b);
  // base^exponent of the part of `base` at or above zero. Premise: exponent > 0.
  friend Interval pow(const Interval& base, const Interval& exponent);

  mpfr_srcptr lower() const { return lower_.get(); }
  mpfr_srcptr upper() const { return upper_.get(); }
  bool is_point() const { return mpfr_equal_p(lower(), upper()) != 0; }
  bool is_zero() const { return mpfr_zero_p(lower()) && mpfr_zero_p(upper()); }
  double lower_double() const { return mpfr_get_d(lower(), MPFR_RNDD); }
  double upper_double() const { return mpfr_get_d(upper(), MPFR_RNDU); }
  // Upper bound of the absolute value, in double (+inf beyond its range).
  double magnitude() const;

 private:
  Real lower_, upper_;
};

}  // namespace normfuzz
