// One number of a computation that keeps a contract: the exact value lies in `centre`, the computed one is at most `radius` away from it.
// The operators are the rows of ERROR_MODEL.md, 'Balls'. A radius is infinite only where `limit` says why.
#pragma once

#include "oracles/chains.h"
#include "oracles/number/interval.h"

namespace normfuzz {

// The arithmetic that the operators round in.
struct BallFormat {
  double u, eta, eta_sum, max;  // as in RoundingProfile; max is infinite where no overflow is allowed
  double div_ulps, sqrt_ulps, pow_ulps, root_ulps;
};

struct BallNumber {
  Interval centre;
  Up radius;
  Limit limit = Limit::kNone;
  const BallFormat* format = nullptr;

  Up exact_magnitude() const { return centre.magnitude(); }
  Up magnitude() const { return exact_magnitude() + radius; }
  // The same number after `roundings` to nearest, and `underflow` absolutely; notes an overflow.
  BallNumber rounded(Up roundings, Up underflow) const;
};

BallNumber operator+(const BallNumber& a, const BallNumber& b);
BallNumber operator-(const BallNumber& a, const BallNumber& b);
BallNumber operator*(const BallNumber& a, const BallNumber& b);
BallNumber operator/(const BallNumber& a, const BallNumber& b);
BallNumber abs(const BallNumber& a);
BallNumber max(const BallNumber& a, const BallNumber& b);
BallNumber sqrt(const BallNumber& s);          // of a computed sum of squares, which is never negative
BallNumber inverse_root(const BallNumber& s);  // 1/sqrt(s) by any of rsqrt, 1/sqrt, or a later division by sqrt(s)
// base^exponent, base >= 0, exponent > 0 known exactly as an enclosure; a kernel uses one that is off by at most `exponent_error`
// relatively.
BallNumber pow(const BallNumber& base, const Interval& exponent, Up exponent_error);
// Two ways to compute one number: the larger radius.
BallNumber either(const BallNumber& a, const BallNumber& b);

Limit worst(Limit a, Limit b);

// A sum in any order, FMA or not: sum of radii + (n-1) u sum of magnitudes; overflows where the magnitudes do.
class BallTotal {
 public:
  explicit BallTotal(const BallFormat* format) : format_(format) {}
  void add(const BallNumber& term);
  BallNumber total() const;

 private:
  const BallFormat* format_;
  Interval centre_;
  Up radii_, magnitudes_;
  std::int64_t count_ = 0;
  Limit limit_ = Limit::kNone;
};

}  // namespace normfuzz
