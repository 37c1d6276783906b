// The oracle's arithmetic: every primitive of the formulas as an enclosure of its exact value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "oracles/number/interval.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

struct IntervalArithmetic {
  struct Moments {
    Interval mean, variance;
  };

  static Interval sum_over(const RowInputs& row, auto&& term) {
    Interval total;
    for (std::int64_t i = 0; i < row.n; ++i) total += term(Interval(row.x[i]));
    return total / static_cast<unsigned long>(row.n);
  }
  static Moments moments(const RowInputs& row) {
    Moments m;
    m.mean = sum_over(row, [](const Interval& x) { return x; });
    m.variance = sum_over(row, [&](const Interval& x) { return square(x - m.mean); });
    return m;
  }
  static Moments given(const RowInputs& row) { return {Interval(row.mean), Interval(row.variance)}; }
  static Interval mean_square(const RowInputs& row) {
    return sum_over(row, [](const Interval& x) { return square(x); });
  }
  static Interval rsqrt(const Interval& statistic, double epsilon) { return normfuzz::rsqrt(statistic + Interval(epsilon)); }
  static Interval offset_weight(const Interval& weight, double offset) { return weight + Interval(offset); }
  static Interval affine(const Interval& x, const Interval& mean, const Interval& scale, const Interval& weight, const Interval& bias) {
    return (x - mean) * scale * weight + bias;
  }
  static Interval scaled(const Interval& x, const Interval& scale, const Interval& weight, const Interval& bias) {
    return x * scale * weight + bias;
  }

  // Primitives of the other operators: numbers of a row one at a time, their sums, roots and quotients.
  using Number = Interval;
  struct Total {
    Interval sum;
    void add(const Interval& term) { sum += term; }
    Interval total() const { return sum; }
  };
  static Total start() { return {}; }
  static Interval value(double stored) { return Interval(stored); }
  static Interval constant(double parameter) { return Interval(parameter); }
  static Interval sum(std::int64_t n, auto&& term) {
    Interval total;
    for (std::int64_t i = 0; i < n; ++i) total += term(i);
    return total;
  }
  static Interval dot(std::int64_t n, auto&& p, auto&& q) {
    return sum(n, [&](std::int64_t i) { return p(i) * q(i); });
  }
  static Interval sum_of_squares(std::int64_t n, auto&& x) {
    return sum(n, [&](std::int64_t i) { return square(x(i)); });
  }
  static Interval largest(std::int64_t n, auto&& term) {
    Interval most = term(0);
    for (std::int64_t i = 1; i < n; ++i) most = max(most, term(i));
    return most;
  }
  static Interval over_count(const Interval& total, std::int64_t n) { return total / static_cast<unsigned long>(n); }
  static Interval magnitude(const Interval& a) { return abs(a); }
  static Interval larger(const Interval& a, const Interval& b) { return max(a, b); }
  static Interval root(const Interval& a) { return sqrt(a); }
  static Interval inverse_root(const Interval& a) { return normfuzz::rsqrt(a); }
  static Interval power(const Interval& a, double p) { return pow(a, Interval(p)); }
  static Interval root_of_order(const Interval& a, double p) { return pow(a, Interval(1) / Interval(p)); }
  static Interval either(auto&& first, auto&&...) { return first(); }
  static Interval normalized(const Interval& x, const Interval& mean, const Interval& scale) { return (x - mean) * scale; }
  static Interval normalized(const Interval& x, const Interval& scale) { return x * scale; }
  static const Moments& numbers_of(const Moments& m) { return m; }
  static Interval sample_variance(const Moments& m, std::int64_t n) {
    return m.variance * Interval(static_cast<double>(n)) / static_cast<unsigned long>(n - 1);
  }
  static bool factors_gradients() { return false; }
  static const Interval& in_range(const Interval& a) { return a; }
  static Interval normalized_sum(double x, double residual) { return Interval(x) + Interval(residual); }
  static Interval weighted(const Interval& x, const Interval& scale, const Interval& weight) { return x * scale * weight; }
  struct NoVariants {};
  static NoVariants gradient_variants(auto&&...) { return {}; }
  static Interval input_gradient(const Interval& scale, const Interval& g, const Interval& mean_g, const Interval& xhat,
                                 const Interval& mean_g_xhat, const NoVariants&, std::int64_t) {
    return scale * (g - mean_g - xhat * mean_g_xhat);
  }
  static std::vector<Interval> numbers(std::int64_t n, auto&& f) {
    std::vector<Interval> out;
    out.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) out.push_back(f(i));
    return out;
  }
  static std::vector<Interval> results(std::int64_t n, auto&& f) { return numbers(n, f); }

  template <class F>
  static std::vector<Interval> map(const RowInputs& row, F f) {
    std::vector<Interval> out;
    out.reserve(static_cast<std::size_t>(row.n));
    for (std::int64_t i = 0; i < row.n; ++i) out.push_back(f(Interval(row.x[i]), Interval(row.weight[i]), Interval(row.bias[i])));
    return out;
  }
};

}  // namespace normfuzz
