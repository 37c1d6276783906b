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

  template <class F>
  static std::vector<Interval> map(const RowInputs& row, F f) {
    std::vector<Interval> out;
    out.reserve(static_cast<std::size_t>(row.n));
    for (std::int64_t i = 0; i < row.n; ++i) out.push_back(f(Interval(row.x[i]), Interval(row.weight[i]), Interval(row.bias[i])));
    return out;
  }
};

}  // namespace normfuzz
