// Machine arithmetic with every choice open: the formulas of oracles/ops run on it as kernels. What a contract allows is what these options
// span (oracles/kernels/kernel_options.h); the self-check searches them for an error beyond the contract's bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "oracles/kernels/kernel_options.h"
#include "oracles/number/machine_number.h"
#include "oracles/number/machine_sums.h"
#include "oracles/number/machine_welford.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

template <class T>
class RoundedArithmetic {
 public:
  // Statistics of a scaled kernel: mean = value 2^exponent, variance or mean square = value 4^exponent. Exponent 0 otherwise.
  struct Mean {
    T value;
    int exponent;
  };
  struct Statistic {
    T value;
    int exponent;
  };
  struct Moments {
    Mean mean;
    Statistic variance;
  };
  struct Scale {
    T factor, root;  // s and 1/s, of which the kernel uses one; times 2^-exponent and 2^exponent
    int exponent;
    bool divides = false;  // by the root
  };

  RoundedArithmetic(const KernelOptions& options, DType storage) : options_(options), storage_(storage) {}

  Moments moments(const RowInputs& row) const {
    std::vector<T> x = elements(row);
    const int exponent = options_.scaled ? scale_to_one(x) : 0;
    if (options_.moments == MomentsMethod::kTwoPass) {
      const T mean = mean_of(Terms<T>{x, false});
      for (T& e : x) e = e - mean;
      const int inner = options_.scaled ? scale_to_one(x) : 0;
      return {{mean, exponent}, {mean_of(Terms<T>{x, true}), exponent + inner}};
    }
    if (options_.moments == MomentsMethod::kOnePassClamped || options_.moments == MomentsMethod::kOnePassUnclamped) return one_pass(x);
    const WelfordState<T> w = welford(std::move(x), options_);
    return {{w.mean, 0}, {over_count(w.squares, row.n), 0}};
  }

  Moments given(const RowInputs& row) const { return {{stored(row.mean), 0}, {stored(row.variance), 0}}; }

  Statistic mean_square(const RowInputs& row) const {
    std::vector<T> x = elements(row);
    const int exponent = options_.scaled ? scale_to_one(x) : 0;
    return {mean_of(Terms<T>{x, true}), exponent};
  }

  Scale rsqrt(const Statistic& statistic, double epsilon) const {
    if (!options_.scaled) return root_scale(statistic.value + T(epsilon), 0);
    // The larger of statistic and epsilon decides the scale; what underflows in the other is below its last bit.
    const int of_epsilon = epsilon > 0 ? std::ilogb(epsilon) / 2 : statistic.exponent;
    const bool zero = static_cast<double>(statistic.value) == 0;
    const int exponent = zero ? of_epsilon : std::max(statistic.exponent, of_epsilon);
    return root_scale(times_two_to(statistic.value, 2 * (statistic.exponent - exponent)) + T(std::ldexp(epsilon, -2 * exponent)), exponent);
  }

  static T offset_weight(T weight, double offset) { return offset == 0 ? weight : T(offset) + weight; }

  T affine(T x, const Mean& mean, const Scale& scale, T weight, T bias) const {
    if (folded(options_.association)) return folded_affine(x, mean.value, scale, weight, bias);
    const T d = times_two_to(x, -mean.exponent) - mean.value;
    const T shifted = times_two_to(d, mean.exponent - scale.exponent);
    return options_.cast_before_weight ? affine_of_cast(times_scale(shifted, scale), weight, bias)
                                       : centred_affine(shifted, scale, weight, bias);
  }
  T scaled(T x, const Scale& scale, T weight, T bias) const {
    const T d = times_two_to(x, -scale.exponent);
    if (options_.cast_before_weight) return affine_of_cast(times_scale(d, scale), weight, bias);
    return centred_affine(d, scale, weight, bias);
  }

  template <class F>
  std::vector<T> map(const RowInputs& row, F f) const {
    std::vector<T> y;
    y.reserve(static_cast<std::size_t>(row.n));
    for (std::int64_t i = 0; i < row.n; ++i) y.push_back(f(stored(row.x[i]), stored(row.weight[i]), stored(row.bias[i])));
    return y;
  }

  // The other operators. Orders, roots and associations as the options say; `variant` picks among the ways that a formula lists.
  using Number = T;
  struct Total {
    const RoundedArithmetic* arithmetic;
    std::vector<T> terms;
    void add(T term) { terms.push_back(term); }
    T total() const { return sum_of(Terms<T>(terms, false), arithmetic->options_); }
  };
  Total start() const { return {this, {}}; }
  T value(double v) const { return stored(v); }
  static T constant(double parameter) { return T(parameter); }
  T sum(std::int64_t n, auto&& term) const {
    const std::vector<T> terms = numbers(n, term);
    return sum_of(Terms<T>(terms, false), options_);
  }
  T dot(std::int64_t n, auto&& p, auto&& q) const {
    const std::vector<T> a = numbers(n, p), b = numbers(n, q);
    return sum_of(Terms<T>(a, b), options_);
  }
  T sum_of_squares(std::int64_t n, auto&& x) const {
    const std::vector<T> a = numbers(n, x);
    return sum_of(Terms<T>(a, true), options_);
  }
  static T largest(std::int64_t n, auto&& term) {
    T most = term(0);
    for (std::int64_t i = 1; i < n; ++i) most = larger(most, term(i));
    return most;
  }
  T over_count(T sum, std::int64_t n) const { return divide_by_count(sum, n, options_.reciprocal_count); }
  static T magnitude(T a) { return static_cast<double>(a) < 0 ? negated(a) : a; }
  static T larger(T a, T b) { return static_cast<double>(a) < static_cast<double>(b) ? b : a; }
  static T root(T a) { return root_of(a); }
  Scale inverse_root(T a) const { return root_scale(a, 0); }
  // A power that is root_steps neighbours off the nearest double's rounding: within the 4 ulps that a contract allows.
  T power(T a, double p) const { return stepped(std::pow(static_cast<double>(a), static_cast<double>(T(p)))); }
  T root_of_order(T a, double p) const { return stepped(std::pow(static_cast<double>(a), static_cast<double>(T(1) / T(p)))); }
  T either(auto&& first, auto&&... others) const {
    const std::size_t chosen = options_.variant % (1 + sizeof...(others));
    T result = chosen == 0 ? first() : T(0);
    std::size_t at = 0;
    ((++at == chosen ? void(result = others()) : void()), ...);
    return result;
  }
  friend T operator*(T v, const Scale& s) { return s.divides ? v / s.root : v * s.factor; }
  T normalized(T x, const Mean& mean, const Scale& scale) const {
    if (options_.folded_xhat) return add_scaled(x, scale, negated(times_scale(mean.value, scale)));
    return times_scale(times_two_to(times_two_to(x, -mean.exponent) - mean.value, mean.exponent - scale.exponent), scale);
  }
  T normalized(T x, const Scale& scale) const { return times_scale(times_two_to(x, -scale.exponent), scale); }
  struct PlainMoments {
    T mean, variance;
  };
  static PlainMoments numbers_of(const Moments& m) {
    return {times_two_to(m.mean.value, m.mean.exponent), times_two_to(m.variance.value, 2 * m.variance.exponent)};
  }
  // The population's times n/(n - 1), or times n over n - 1.
  T sample_variance(const Moments& m, std::int64_t n) const {
    const T v = numbers_of(m).variance, count(static_cast<double>(n)), fewer(static_cast<double>(n - 1));
    return options_.reciprocal_count ? v * (count / fewer) : v * count / fewer;
  }
  static T in_range(T a) { return a; }
  T normalized_sum(double x, double residual) const {
    const T sum = stored(x) + stored(residual);
    return options_.round_residual ? stored_between(sum) : sum;
  }
  T weighted(T x, const Scale& scale, T weight) const { return scaled(x, scale, weight, T(0)); }
  // Fully folded: dx = g r + (x b + c).
  struct GradientVariants {
    T b{}, c{};
    const RowInputs* row = nullptr;
  };
  GradientVariants gradient_variants(const RowInputs& row, const Mean* mean, const Scale& scale, const std::vector<T>& g) const {
    if (options_.backward != BackwardForm::kFolded) return {};
    const std::vector<T> x = elements(row);
    const T products = sum_of(Terms<T>(g, x), options_), total = mean ? sum_of(Terms<T>(g, false), options_) : T(0);
    const T centred = mean ? add_product(total, mean->value, negated(products)) : negated(products);
    const T b = over_count(centred * (scale.factor * scale.factor * scale.factor), row.n);
    const T c = mean ? negated(b) * mean->value - over_count(total * scale.factor, row.n) : T(0);
    return {b, c, &row};
  }
  T input_gradient(const Scale& scale, T g, T mean_g, T xhat, T mean_g_xhat, const GradientVariants& folded, std::int64_t i) const {
    if (folded.row) return add_product(g, scale.factor, add_product(stored(folded.row->x[i]), folded.b, folded.c));
    const T t = options_.backward == BackwardForm::kMeansFirst ? g - add_product(xhat, mean_g_xhat, mean_g)
                                                               : add_product(negated(xhat), mean_g_xhat, g - mean_g);
    return times_two_to(times_scale(t, scale), -scale.exponent);
  }
  static std::vector<T> numbers(std::int64_t n, auto&& f) {
    std::vector<T> out;
    out.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) out.push_back(f(i));
    return out;
  }
  static std::vector<T> results(std::int64_t n, auto&& f) { return numbers(n, f); }

  // The final rounding to the storage type.
  double cast(double v) const {
    const double rounded = value_from_bits(storage_, bits_from_value(storage_, v));
    return options_.flush_to_zero && std::fabs(rounded) < format_of(storage_).smallest_normal ? 0 : rounded;
  }

 private:
  T stored(double v) const { return T(options_.denormals_are_zero && std::fabs(v) < format_of(storage_).smallest_normal ? 0 : v); }
  std::vector<T> elements(const RowInputs& row) const {
    std::vector<T> x;
    x.reserve(static_cast<std::size_t>(row.n));
    for (std::int64_t i = 0; i < row.n; ++i) x.push_back(stored(row.x[i]));
    return x;
  }

  static T times_two_to(T v, int exponent) { return exponent == 0 ? v : T(std::ldexp(static_cast<double>(v), exponent)); }
  // Multiplies by the power of two that brings the largest magnitude into [1, 2); returns the exponent taken out.
  static int scale_to_one(std::vector<T>& x) {
    double largest = 0;
    for (const T& e : x) largest = std::max(largest, std::fabs(static_cast<double>(e)));
    const int exponent = largest == 0 ? 0 : std::ilogb(largest);
    for (T& e : x) e = times_two_to(e, -exponent);
    return exponent;
  }

  T mean_of(const Terms<T>& terms) const { return over_count(sum_of(terms, options_), terms.size()); }

  Moments one_pass(const std::vector<T>& x) const {
    const T mean = mean_of(Terms<T>{x, false}), square = mean_of(Terms<T>{x, true});
    const T variance = options_.fma ? fused(negated(mean), mean, square) : square - mean * mean;
    const bool clamp = options_.moments == MomentsMethod::kOnePassClamped && static_cast<double>(variance) < 0;
    return {{mean, 0}, {clamp ? T(0) : variance, 0}};
  }

  Scale root_scale(T w, int exponent) const {
    const T root = root_of(w);
    if (options_.root != Root::kRsqrt) return {T(1) / root, root, exponent, options_.root == Root::kDivide};
    return {stepped(static_cast<double>(1 / std::sqrt(static_cast<long double>(static_cast<double>(w))))), root, exponent};
  }
  // The number of T nearest to v, `root_steps` neighbours on.
  T stepped(double v) const {
    const double nearest = static_cast<double>(T(v));
    if (!std::isfinite(nearest) || nearest == 0) return T(nearest);
    constexpr DType kFormat = NumberTraits<T>::kFormat;
    const auto bits = static_cast<std::int64_t>(bits_from_value(kFormat, nearest));  // of a positive number
    return T(value_from_bits(kFormat, static_cast<std::uint64_t>(std::max<std::int64_t>(0, bits + options_.root_steps))));
  }

  static T negated(T v) { return T(-static_cast<double>(v)); }
  T times_scale(T v, const Scale& s) const { return options_.root == Root::kDivide ? v / s.root : v * s.factor; }
  T add_product(T a, T b, T c) const { return options_.fma ? fused(a, b, c) : a * b + c; }
  T add_scaled(T v, const Scale& s, T c) const { return options_.root == Root::kDivide ? v / s.root + c : add_product(v, s.factor, c); }

  T stored_between(T v) const { return T(cast(static_cast<double>(v))); }
  T affine_of_cast(T normalized, T weight, T bias) const {
    const T h = stored_between(normalized);
    return options_.cast_before_bias ? stored_between(h * weight) + bias : add_product(h, weight, bias);
  }
  T centred_affine(T d, const Scale& s, T weight, T bias) const {
    switch (options_.association) {
      case Association::kWeightIntoScale:
        return add_product(d, times_scale(weight, s), bias);
      case Association::kWeightFirst:
        return add_scaled(d * weight, s, bias);
      default:
        return add_product(times_scale(d, s), weight, bias);
    }
  }
  T folded_affine(T x, T mean, const Scale& s, T weight, T bias) const {
    if (options_.association == Association::kFoldedIntoBias) {
      const T t = times_scale(weight, s);
      return add_product(x, t, add_product(negated(mean), t, bias));
    }
    const T m = negated(times_scale(mean, s));
    if (options_.association == Association::kFoldedMean) return add_product(add_scaled(x, s, m), weight, bias);
    return add_product(times_scale(x, s), weight, m * weight) + bias;
  }

  const KernelOptions& options_;
  DType storage_;
};

}  // namespace normfuzz
