#include "oracles/number/ball_number.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace normfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Lower bounds of sqrt(v) and of |a|.
double root_below(double v) { return v > 0 ? std::sqrt(v) * (1 - 0x1p-51) : 0; }
double magnitude_below(const Interval& a) {
  if (mpfr_sgn(a.lower()) > 0) return a.lower_double();
  if (mpfr_sgn(a.upper()) < 0) return -a.upper_double();
  return 0;
}
// Upper bound of |ln v|, v > 0.
Up log_magnitude(double v) { return Up(std::fabs(std::log(v))) * Up(1 + 0x1p-40) + Up(0x1p-40); }

BallNumber unbounded(BallNumber a, Limit why) {
  a.radius = kInfinity;
  a.limit = worst(a.limit, why);
  return a;
}

}  // namespace

Limit worst(Limit a, Limit b) {
  if (a == Limit::kOverflow || b == Limit::kOverflow) return Limit::kOverflow;
  return std::max(a, b);
}

BallNumber BallNumber::rounded(Up roundings, Up underflow) const {
  BallNumber r = *this;
  r.radius = radius + roundings * Up(format->u) * magnitude() + underflow;
  if (!(r.magnitude() < Up(format->max))) r.limit = worst(r.limit, Limit::kOverflow);
  if (r.limit == Limit::kNone && !(r.radius < Up(kInfinity))) r.limit = Limit::kPrecision;
  return r;
}

BallNumber operator+(const BallNumber& a, const BallNumber& b) {
  return BallNumber{a.centre + b.centre, a.radius + b.radius, worst(a.limit, b.limit), a.format}.rounded(1, a.format->eta_sum);
}

BallNumber operator-(const BallNumber& a, const BallNumber& b) {
  return BallNumber{a.centre - b.centre, a.radius + b.radius, worst(a.limit, b.limit), a.format}.rounded(1, a.format->eta_sum);
}

BallNumber operator*(const BallNumber& a, const BallNumber& b) {
  const Up e = a.exact_magnitude() * b.radius + b.exact_magnitude() * a.radius + a.radius * b.radius;
  return BallNumber{a.centre * b.centre, e, worst(a.limit, b.limit), a.format}.rounded(1, a.format->eta);
}

// |a'/b' - a/b| <= (e_a + |a/b| e_b) / (|b| - e_b).
BallNumber operator/(const BallNumber& a, const BallNumber& b) {
  BallNumber q{a.centre / b.centre, 0, worst(a.limit, b.limit), a.format};
  const double divisor = (magnitude_below(b.centre) - b.radius.value()) * (1 - 0x1p-51);
  if (!(divisor > 0)) return unbounded(q, Limit::kPrecision);
  q.radius = (a.radius + q.exact_magnitude() * b.radius) / Up(divisor);
  return q.rounded(Up(2 * a.format->div_ulps), a.format->eta);
}

BallNumber abs(const BallNumber& a) { return {abs(a.centre), a.radius, a.limit, a.format}; }

BallNumber max(const BallNumber& a, const BallNumber& b) {
  return {max(a.centre, b.centre), max(a.radius, b.radius), worst(a.limit, b.limit), a.format};
}

// sqrt(s) - sqrt(s - e) = e / (sqrt(s) + sqrt(s - e)) is the larger of the two sides; from zero, sqrt(s + e).
BallNumber sqrt(const BallNumber& s) {
  BallNumber r{sqrt(s.centre), 0, s.limit, s.format};
  const double low = std::max(0.0, s.centre.lower_double());
  const double denominator = (root_below(low) + root_below(low - s.radius.value())) * (1 - 0x1p-51);
  const Up from_zero = sqrt(Up(s.centre.upper_double()) + s.radius);
  r.radius = denominator > 0 ? min(s.radius / Up(denominator), from_zero) : from_zero;
  if (s.radius.value() == 0 && mpfr_sgn(s.centre.upper()) == 0) r.radius = 0;
  return r.rounded(Up(2 * s.format->sqrt_ulps), 0);
}

// As scale_radius in chains.cc, without an epsilon.
BallNumber inverse_root(const BallNumber& s) {
  BallNumber r{rsqrt(s.centre), 0, s.limit, s.format};
  const double low = s.centre.lower_double();
  if (!(low > 0)) return unbounded(r, Limit::kPrecision);
  const Up delta = s.radius / Up(low);
  if (!(delta.value() < 1)) return unbounded(r, Limit::kPrecision);
  const double q = std::sqrt((1 - delta.value()) * (1 - 0x1p-51)) * (1 - 0x1p-51);
  const Up root = Up(2 * s.format->root_ulps) * Up(s.format->u);
  const Up rise = delta / Up(q * (1 + q) * (1 - 0x1p-51));  // (1 - delta)^(-1/2) - 1, above delta/2 on the other side
  r.radius = r.exact_magnitude() * (root + rise + root * rise);
  return r.rounded(0, 0);
}

BallNumber pow(const BallNumber& base, const Interval& exponent, Up exponent_error) {
  BallNumber r{pow(base.centre, exponent), 0, base.limit, base.format};
  const Up high = Up(std::max(0.0, base.centre.upper_double())) + base.radius;
  const double low = std::max(0.0, (base.centre.lower_double() - base.radius.value()) * (1 - 0x1p-51));
  if (!(high < Up(kInfinity))) return unbounded(r, Limit::kPrecision);
  if (high.value() == 0) return r;  // 0^q = 0 exactly
  // The ends of the monotone function; of an exact base they are the enclosure itself.
  Interval above = r.centre;
  if (base.radius.value() > 0) {
    above = pow(Interval(high.value()), exponent);
    const Interval below = pow(Interval(low), exponent);
    r.radius = Up(std::max((above - r.centre).upper_double(), (r.centre - below).upper_double()));
  }
  // x^(q(1+d)) = x^q e^(q d ln x), and |e^t - 1| <= |t|(1 + |t|) for |t| <= 1. Toward zero x^q |ln x| stays below 1/(e q) < 0.37/q, which
  // with q(1 - d) for q gives at most 1/q for |d| <= 1/2.
  if (exponent_error.value() > 0) {
    const double q_high = exponent.upper_double(), q_low = exponent.lower_double();
    const Up log_high = log_magnitude(high.value());
    const Up log = low > 0 ? max(log_high, log_magnitude(low)) : log_high;
    const Up t = Up(q_high) * exponent_error * log;
    if (!(t.value() <= 1)) return unbounded(r, Limit::kPrecision);
    const Up size = Up(above.magnitude());
    const Up absolute = low > 0 ? size * t * (Up(1) + t) : max(size * t * (Up(1) + t), Up(q_high) * exponent_error / Up(q_low));
    r.radius += absolute;
  }
  // Among the subnormals an ulp is 2 eta.
  return r.rounded(Up(2 * base.format->pow_ulps), Up(2 * base.format->pow_ulps + 1) * Up(base.format->eta));
}

BallNumber either(const BallNumber& a, const BallNumber& b) {
  return {a.centre, max(a.radius, b.radius), worst(a.limit, b.limit), a.format};
}

void BallTotal::add(const BallNumber& term) {
  centre_ += term.centre;
  radii_ += term.radius;
  magnitudes_ += term.magnitude();
  limit_ = worst(limit_, term.limit);
  ++count_;
}

BallNumber BallTotal::total() const {
  BallNumber s{centre_, radii_, limit_, format_};
  if (count_ < 2) return s;
  const double n = static_cast<double>(count_);
  s.radius = radii_ + Up(n - 1) * (Up(format_->u) * magnitudes_ + Up(format_->eta_sum));
  if (!(magnitudes_ * (Up(1) + Up(n) * Up(format_->u)) < Up(format_->max))) s.limit = worst(s.limit, Limit::kOverflow);
  if (s.limit == Limit::kNone && !(s.radius < Up(kInfinity))) s.limit = Limit::kPrecision;
  return s;
}

}  // namespace normfuzz
