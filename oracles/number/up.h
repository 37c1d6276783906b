// Non-negative magnitudes with every operation rounded upward: radii and the absolute values that enter them.
// Rounding to nearest loses at most a factor 1 - 2^-53 per operation; the factor 1 + 2^-51 pays for that and for its own rounding. Products
// and quotients may also underflow, by at most half of 2^-1074.
#pragma once

#include <algorithm>
#include <cmath>

namespace normfuzz {

class Up {
 public:
  constexpr Up(double v = 0) : v_(v) {}
  constexpr double value() const { return v_; }

  friend Up operator+(Up a, Up b) { return (a.v_ + b.v_) * kPad; }
  friend Up operator*(Up a, Up b) { return a.v_ == 0 || b.v_ == 0 ? Up(0) : Up(a.v_ * b.v_ * kPad + kTiny); }
  friend Up operator/(Up a, Up b) { return a.v_ == 0 ? Up(0) : Up(a.v_ / b.v_ * kPad + kTiny); }
  Up& operator+=(Up b) { return *this = *this + b; }
  friend Up sqrt(Up a) { return std::sqrt(a.v_) * kPad; }
  friend Up max(Up a, Up b) { return std::max(a.v_, b.v_); }
  friend Up min(Up a, Up b) { return std::min(a.v_, b.v_); }
  friend bool operator<(Up a, Up b) { return a.v_ < b.v_; }

 private:
  static constexpr double kPad = 1 + 0x1p-51;
  static constexpr double kTiny = 0x1p-1074;
  double v_;
};

}  // namespace normfuzz
