// Machine numbers in the plainest order: sums from left to right, two-pass moments, 1/sqrt, no FMA, (x - mean) * scale * weight + bias.
// Each operation rounds once to T. Reuses its buffers: one object per call.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "oracles/ops/row_inputs.h"

namespace normfuzz {

template <class T>
class TwoPassArithmetic {
 public:
  struct Moments {
    T mean, variance;
  };

  explicit TwoPassArithmetic(std::int64_t cols) : out_(static_cast<std::size_t>(cols)) {}

  Moments moments(const RowInputs& row) const {
    const T mean = mean_of(row, [](T x) { return x; });
    return {mean, mean_of(row, [mean](T x) { return (x - mean) * (x - mean); })};
  }
  static Moments given(const RowInputs& row) { return {static_cast<T>(row.mean), static_cast<T>(row.variance)}; }
  T mean_square(const RowInputs& row) const {
    return mean_of(row, [](T x) { return x * x; });
  }
  static T rsqrt(T statistic, double epsilon) { return 1 / std::sqrt(statistic + static_cast<T>(epsilon)); }
  static T offset_weight(T weight, double offset) { return static_cast<T>(offset) + weight; }
  static T affine(T x, T mean, T scale, T weight, T bias) { return (x - mean) * scale * weight + bias; }
  static T scaled(T x, T scale, T weight, T bias) { return x * scale * weight + bias; }

  // The other operators.
  using Number = T;
  struct Total {
    T sum = 0;
    void add(T term) { sum += term; }
    T total() const { return sum; }
  };
  static Total start() { return {}; }
  static T value(double stored) { return static_cast<T>(stored); }
  static T constant(double parameter) { return static_cast<T>(parameter); }
  static T sum(std::int64_t n, auto&& term) {
    T total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += term(i);
    return total;
  }
  static T dot(std::int64_t n, auto&& p, auto&& q) {
    return sum(n, [&](std::int64_t i) { return p(i) * q(i); });
  }
  static T sum_of_squares(std::int64_t n, auto&& x) { return dot(n, x, x); }
  static T largest(std::int64_t n, auto&& term) {
    T most = term(0);
    for (std::int64_t i = 1; i < n; ++i) most = larger(most, term(i));
    return most;
  }
  static T over_count(T total, std::int64_t n) { return total / static_cast<T>(n); }
  static T magnitude(T a) { return std::fabs(a); }
  static T larger(T a, T b) { return a > b || a != a ? a : b; }  // NaN stays, whichever of the two it is
  static T root(T a) { return std::sqrt(a); }
  static T inverse_root(T a) { return 1 / std::sqrt(a); }
  static T power(T a, double p) { return std::pow(a, static_cast<T>(p)); }
  static T root_of_order(T a, double p) { return std::pow(a, 1 / static_cast<T>(p)); }
  static T either(auto&& first, auto&&...) { return first(); }
  static T normalized(T x, T mean, T scale) { return (x - mean) * scale; }
  static T normalized(T x, T scale) { return x * scale; }
  static const Moments& numbers_of(const Moments& m) { return m; }
  static T sample_variance(const Moments& m, std::int64_t n) { return m.variance * (static_cast<T>(n) / static_cast<T>(n - 1)); }
  static T in_range(T a) { return a; }
  static T normalized_sum(double x, double residual) { return static_cast<T>(x) + static_cast<T>(residual); }
  static T weighted(T x, T scale, T weight) { return x * scale * weight; }
  struct NoVariants {};
  static NoVariants gradient_variants(auto&&...) { return {}; }
  static T input_gradient(T scale, T g, T mean_g, T xhat, T mean_g_xhat, const NoVariants&, std::int64_t) {
    return scale * (g - mean_g - xhat * mean_g_xhat);
  }
  static std::vector<T> numbers(std::int64_t n, auto&& f) {
    std::vector<T> out;
    out.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) out.push_back(f(i));
    return out;
  }
  const T* results(std::int64_t n, auto&& f) const {
    for (std::int64_t i = 0; i < n; ++i) out_[static_cast<std::size_t>(i)] = f(i);
    return out_.data();
  }

  // row.n results, valid until the next call.
  template <class F>
  const T* map(const RowInputs& row, F f) const {
    for (std::int64_t i = 0; i < row.n; ++i)
      out_[static_cast<std::size_t>(i)] = f(static_cast<T>(row.x[i]), static_cast<T>(row.weight[i]), static_cast<T>(row.bias[i]));
    return out_.data();
  }

 private:
  template <class Term>
  static T mean_of(const RowInputs& row, Term term) {
    T sum = 0;
    for (std::int64_t i = 0; i < row.n; ++i) sum += term(static_cast<T>(row.x[i]));
    return sum / static_cast<T>(row.n);
  }

  mutable std::vector<T> out_;
};

}  // namespace normfuzz
