#include "oracles/number/interval.h"

#include <algorithm>
#include <cmath>

namespace normfuzz {
namespace {
thread_local mpfr_prec_t precision = 192;
}

mpfr_prec_t working_precision() { return precision; }
PrecisionScope::PrecisionScope(mpfr_prec_t bits) : saved_(precision) { precision = bits; }
PrecisionScope::~PrecisionScope() { precision = saved_; }

Interval operator*(const Interval& a, const Interval& b) {
  Interval r;
  const bool a_positive = mpfr_sgn(a.lower()) >= 0, a_negative = mpfr_sgn(a.upper()) <= 0;
  const bool b_positive = mpfr_sgn(b.lower()) >= 0, b_negative = mpfr_sgn(b.upper()) <= 0;
  if ((a_positive || a_negative) && (b_positive || b_negative)) {  // no operand straddles zero: the ends of the product are known
    mpfr_srcptr al = a.lower(), au = a.upper(), bl = b.lower(), bu = b.upper();
    mpfr_srcptr low_a = b_positive ? al : au, low_b = a_positive ? bl : bu;
    mpfr_srcptr high_a = b_positive ? au : al, high_b = a_positive ? bu : bl;
    mpfr_mul(r.lower_.get(), low_a, low_b, MPFR_RNDD);
    mpfr_mul(r.upper_.get(), high_a, high_b, MPFR_RNDU);
    return r;
  }
  Real candidate;
  mpfr_mul(r.lower_.get(), a.lower(), b.lower(), MPFR_RNDD);
  mpfr_mul(r.upper_.get(), a.lower(), b.lower(), MPFR_RNDU);
  const auto include = [&](mpfr_srcptr p, mpfr_srcptr q) {
    mpfr_mul(candidate.get(), p, q, MPFR_RNDD);
    mpfr_min(r.lower_.get(), r.lower(), candidate.get(), MPFR_RNDD);
    mpfr_mul(candidate.get(), p, q, MPFR_RNDU);
    mpfr_max(r.upper_.get(), r.upper(), candidate.get(), MPFR_RNDU);
  };
  include(a.lower(), b.upper());
  include(a.upper(), b.lower());
  include(a.upper(), b.upper());
  return r;
}

Interval square(const Interval& a) {
  Interval r;
  const bool straddles = mpfr_sgn(a.lower()) < 0 && mpfr_sgn(a.upper()) > 0;
  const bool lower_is_smaller = mpfr_cmpabs(a.lower(), a.upper()) <= 0;
  if (!straddles) mpfr_sqr(r.lower_.get(), lower_is_smaller ? a.lower() : a.upper(), MPFR_RNDD);
  mpfr_sqr(r.upper_.get(), lower_is_smaller ? a.upper() : a.lower(), MPFR_RNDU);
  return r;
}

Interval rsqrt(const Interval& s) {
  Interval r;
  mpfr_rec_sqrt(r.lower_.get(), s.upper(), MPFR_RNDD);
  if (mpfr_sgn(s.lower()) > 0)
    mpfr_rec_sqrt(r.upper_.get(), s.lower(), MPFR_RNDU);
  else
    mpfr_set_inf(r.upper_.get(), 1);
  return r;
}

Interval operator/(const Interval& a, const Interval& b) {
  Interval r;
  if (mpfr_sgn(b.lower()) <= 0 && mpfr_sgn(b.upper()) >= 0) {
    mpfr_set_nan(r.lower_.get());
    mpfr_set_nan(r.upper_.get());
    return r;
  }
  // 1/b is monotone on either side of zero, so the extremes of a/b are among the four quotients of the ends.
  Real candidate;
  mpfr_div(r.lower_.get(), a.lower(), b.lower(), MPFR_RNDD);
  mpfr_div(r.upper_.get(), a.lower(), b.lower(), MPFR_RNDU);
  const auto include = [&](mpfr_srcptr p, mpfr_srcptr q) {
    mpfr_div(candidate.get(), p, q, MPFR_RNDD);
    mpfr_min(r.lower_.get(), r.lower(), candidate.get(), MPFR_RNDD);
    mpfr_div(candidate.get(), p, q, MPFR_RNDU);
    mpfr_max(r.upper_.get(), r.upper(), candidate.get(), MPFR_RNDU);
  };
  include(a.lower(), b.upper());
  include(a.upper(), b.lower());
  include(a.upper(), b.upper());
  return r;
}

Interval sqrt(const Interval& s) {
  Interval r;
  if (mpfr_sgn(s.lower()) > 0) mpfr_sqrt(r.lower_.get(), s.lower(), MPFR_RNDD);
  if (mpfr_sgn(s.upper()) > 0) mpfr_sqrt(r.upper_.get(), s.upper(), MPFR_RNDU);
  return r;
}

Interval abs(const Interval& a) {
  Interval r;
  const bool lower_is_smaller = mpfr_cmpabs(a.lower(), a.upper()) <= 0;
  const bool straddles = mpfr_sgn(a.lower()) < 0 && mpfr_sgn(a.upper()) > 0;
  if (!straddles) mpfr_abs(r.lower_.get(), lower_is_smaller ? a.lower() : a.upper(), MPFR_RNDD);
  mpfr_abs(r.upper_.get(), lower_is_smaller ? a.upper() : a.lower(), MPFR_RNDU);
  return r;
}

Interval max(const Interval& a, const Interval& b) {
  Interval r;
  mpfr_max(r.lower_.get(), a.lower(), b.lower(), MPFR_RNDD);
  mpfr_max(r.upper_.get(), a.upper(), b.upper(), MPFR_RNDU);
  return r;
}

Interval pow(const Interval& base, const Interval& exponent) {
  // x^q grows with x; it grows with q from x = 1 on and falls with q below.
  Interval r;
  if (mpfr_sgn(base.lower()) > 0) {
    const bool above_one = mpfr_cmp_ui(base.lower(), 1) >= 0;
    mpfr_pow(r.lower_.get(), base.lower(), above_one ? exponent.lower() : exponent.upper(), MPFR_RNDD);
  }
  if (mpfr_sgn(base.upper()) > 0) {
    const bool above_one = mpfr_cmp_ui(base.upper(), 1) >= 0;
    mpfr_pow(r.upper_.get(), base.upper(), above_one ? exponent.upper() : exponent.lower(), MPFR_RNDU);
  }
  return r;
}

double Interval::magnitude() const { return std::max(std::fabs(lower_double()), std::fabs(upper_double())); }

}  // namespace normfuzz
