// The verdict's arithmetic. Ball {centre, radius}: the exact value lies in `centre` (an MPFR enclosure); whatever a kernel that keeps the
// contract computed for it is at most `radius` away (ERROR_MODEL.md, 'Balls' and 'Chains').
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "oracles/chains.h"
#include "oracles/number/ball_number.h"
#include "oracles/number/interval_arithmetic.h"

namespace normfuzz {

struct Ball {
  Interval centre;
  double radius = 0;  // of the stored result; +inf where `limit` says why
  Limit limit = Limit::kNone;
  Up magnitude_before_cast;  // |centre| + radius: what the final cast overflows on
};

// Serves one row.
class BallArithmetic {
 public:
  BallArithmetic(const Contract& contract, DType storage, std::int64_t n);
  BallArithmetic(const BallArithmetic&) = delete;  // numbers point at its format
  BallArithmetic& operator=(const BallArithmetic&) = delete;

  struct Statistic {
    Interval centre;
    MomentsRadius radius;
    bool biased = false;  // the row has a bias
  };
  struct Mean {
    Interval centre;
    Up radius;
    bool given = false;
  };
  struct Moments {
    Mean mean;
    Statistic variance;
  };
  struct Scale {
    Interval centre;
    ScaleRadius radius;
    bool biased = false;
  };
  struct Input {  // a stored number and its absolute value
    explicit Input(double v) : value(v), magnitude(std::fabs(v)) {}
    Interval value;
    Up magnitude;
  };
  struct Weight {
    Interval value;
    Up magnitude;
    bool offset;
  };

  Moments moments(const RowInputs& row) const;
  Moments given(const RowInputs& row) const;  // the row's running statistics as stored
  Statistic mean_square(const RowInputs& row) const;
  Scale rsqrt(const Statistic& statistic, double epsilon) const;
  static Weight offset_weight(const Input& weight, double offset) {
    const Interval value = weight.value + Interval(offset);
    return {value, value.magnitude(), offset != 0};
  }
  Ball affine(const Input& x, const Mean& mean, const Scale& scale, const Input& weight, const Input& bias) const;
  Ball scaled(const Input& x, const Scale& scale, const Weight& weight, const Input& bias) const;

  // Primitives of the other operators.
  using Number = BallNumber;
  using Total = BallTotal;
  Total start() const { return Total(&format_); }
  Number value(double stored) const;
  Number constant(double parameter) const;  // rounded to the accumulation type
  Number sum(std::int64_t n, auto&& term) const {
    BallTotal total(&format_);
    for (std::int64_t i = 0; i < n; ++i) total.add(term(i));
    return total.total();
  }
  Number dot(std::int64_t n, auto&& p, auto&& q) const {
    return sum(n, [&](std::int64_t i) { return p(i) * q(i); });
  }
  Number sum_of_squares(std::int64_t n, auto&& x) const {
    return sum(n, [&](std::int64_t i) {
      const Number e = x(i);
      Number squared = e * e;
      squared.centre = square(e.centre);
      return squared;
    });
  }
  Number largest(std::int64_t n, auto&& term) const {
    Number most = term(0);
    for (std::int64_t i = 1; i < n; ++i) most = max(most, term(i));
    return most;
  }
  Number over_count(const Number& total, std::int64_t n) const;
  static Number magnitude(const Number& a) { return abs(a); }
  static Number larger(const Number& a, const Number& b) { return max(a, b); }
  static Number root(const Number& a) { return sqrt(a); }
  static Number inverse_root(const Number& a) { return normfuzz::inverse_root(a); }
  Number power(const Number& a, double p) const;
  Number root_of_order(const Number& a, double p) const;
  // The same number computed in several ways.
  static Number either(auto&& first, auto&&... others) {
    Number worst_of_all = first();
    ((worst_of_all = normfuzz::either(worst_of_all, others())), ...);
    return worst_of_all;
  }
  Number normalized(const Number& x, const Mean& mean, const Scale& scale) const;
  Number normalized(const Number& x, const Scale& scale) const;
  struct PlainMoments {
    Number mean, variance;
  };
  PlainMoments numbers_of(const Moments& m) const;
  Number sample_variance(const Moments& m, std::int64_t n) const;
  // The contract allows dweight in the factored form.
  bool factors_gradients() const { return contract_.folded_backward; }
  // A number that leaves the type's range is none, however a robust kernel came to it: neither are its sums and products here.
  Number in_range(Number a) const;
  // x + residual as the norm of add_rms_norm sees it, by the contract.
  Number normalized_sum(double x, double residual) const;
  // x scale weight in any association, with a cast before the weight where the contract allows it.
  Number weighted(const Number& x, const Number& scale, const Number& weight) const;
  // What the fully folded backward dx = a g + b x + c adds: radius of element i. Empty where the contract does not allow it.
  struct GradientVariants {
    std::vector<Up> radius;
    Limit limit = Limit::kNone;
  };
  GradientVariants gradient_variants(const RowInputs& row, const Mean* mean, const Scale& scale, const std::vector<Number>& g) const;
  Number input_gradient(const Scale& scale, const Number& g, const Number& mean_g, const Number& xhat, const Number& mean_g_xhat,
                        const GradientVariants& variants, std::int64_t i) const;
  static std::vector<Number> numbers(std::int64_t n, auto&& f) {
    std::vector<Number> out;
    out.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) out.push_back(f(i));
    return out;
  }
  std::vector<Ball> results(std::int64_t n, auto&& f) const {
    std::vector<Ball> out;
    out.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) out.push_back(result(f(i)));
    return out;
  }
  // Cast to the storage type.
  Ball result(const Number& y) const;

  template <class F>
  std::vector<Ball> map(const RowInputs& row, F f) const {
    std::vector<Ball> out;
    out.reserve(static_cast<std::size_t>(row.n));
    for (std::int64_t i = 0; i < row.n; ++i) out.push_back(f(Input(row.x[i]), Input(row.weight[i]), Input(row.bias[i])));
    return out;
  }

 private:
  // After a rounding to the storage type in between.
  Number stored_between(Number a) const;
  struct Magnitudes {
    Up x, d, g, b;
  };
  // `scaled`: a robust contract's kernel scales the row so that no product leaves the range.
  Ball element(const MapRow& row, const Magnitudes& m, const Interval& y, bool scaled) const;

  const Contract& contract_;
  RoundingProfile profile_;
  BallFormat format_{};
  std::int64_t row_length_;
  mutable std::optional<MapRadius> map_;  // of the one row this object serves
};

}  // namespace normfuzz
