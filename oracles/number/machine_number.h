// Numbers of an accumulation format whose every operation rounds once, to nearest even: float and double are such numbers already; Narrow
// is the 16-bit formats, Flushed any of them with results below the smallest normal set to zero.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/dtype.h"

namespace normfuzz {

inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }
inline float root_of(float a) { return std::sqrt(a); }
inline double root_of(double a) { return std::sqrt(a); }

// Double arithmetic, rounded again to D, is D's own arithmetic: double has 53 >= 2p + 2 bits for +, -, *, / and sqrt (Figueroa, 1995), and
// no number of D comes near double's subnormals. An FMA is not safe that way.
template <DType D>
class Narrow {
 public:
  Narrow() = default;
  explicit Narrow(double v) : value_(value_from_bits(D, bits_from_value(D, v))) {}
  explicit operator double() const { return value_; }

  friend Narrow operator+(Narrow a, Narrow b) { return Narrow(a.value_ + b.value_); }
  friend Narrow operator-(Narrow a, Narrow b) { return Narrow(a.value_ - b.value_); }
  friend Narrow operator*(Narrow a, Narrow b) { return Narrow(a.value_ * b.value_); }
  friend Narrow operator/(Narrow a, Narrow b) { return Narrow(a.value_ / b.value_); }
  friend Narrow root_of(Narrow a) { return Narrow(std::sqrt(a.value_)); }
  // The product is exact in double; the sum is rounded to odd there, which a second rounding to fewer bits cannot see (Boldo and
  // Melquiond, 2008).
  friend Narrow fused(Narrow a, Narrow b, Narrow c) {
    const double p = a.value_ * b.value_, s = p + c.value_;
    if (!std::isfinite(s)) return Narrow(s);
    const double c_part = s - p, error = (p - (s - c_part)) + (c.value_ - c_part);  // two-sum: s + error is exact
    const bool odd = (std::bit_cast<std::uint64_t>(s) & 1) != 0;
    return Narrow(error == 0 || odd ? s : std::nextafter(s, error > 0 ? HUGE_VAL : -HUGE_VAL));
  }

 private:
  double value_ = 0;
};

template <class T>
struct NumberTraits;
template <>
struct NumberTraits<float> {
  static constexpr DType kFormat = DType::kF32;
};
template <>
struct NumberTraits<double> {
  static constexpr DType kFormat = DType::kF64;
};
template <DType D>
struct NumberTraits<Narrow<D>> {
  static constexpr DType kFormat = D;
};

template <class T>
class Flushed {
 public:
  Flushed() = default;
  explicit Flushed(double v) : value_(static_cast<T>(v)) {}  // a stored input: as it is
  explicit operator double() const { return static_cast<double>(value_); }

  friend Flushed operator+(Flushed a, Flushed b) { return flush(a.value_ + b.value_); }
  friend Flushed operator-(Flushed a, Flushed b) { return flush(a.value_ - b.value_); }
  friend Flushed operator*(Flushed a, Flushed b) { return flush(a.value_ * b.value_); }
  friend Flushed operator/(Flushed a, Flushed b) { return flush(a.value_ / b.value_); }
  friend Flushed root_of(Flushed a) { return flush(root_of(a.value_)); }
  friend Flushed fused(Flushed a, Flushed b, Flushed c) { return flush(fused(a.value_, b.value_, c.value_)); }

 private:
  static Flushed flush(T v) {
    const bool tiny = std::fabs(static_cast<double>(v)) < format_of(NumberTraits<T>::kFormat).smallest_normal;
    Flushed r;
    r.value_ = tiny ? T(0) : v;
    return r;
  }
  T value_{};
};

template <class T>
struct NumberTraits<Flushed<T>> : NumberTraits<T> {};

}  // namespace normfuzz
