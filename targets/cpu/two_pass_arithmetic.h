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
  T mean_square(const RowInputs& row) const {
    return mean_of(row, [](T x) { return x * x; });
  }
  static T rsqrt(T statistic, double epsilon) { return 1 / std::sqrt(statistic + static_cast<T>(epsilon)); }
  static T offset_weight(T weight, double offset) { return static_cast<T>(offset) + weight; }
  static T affine(T x, T mean, T scale, T weight, T bias) { return (x - mean) * scale * weight + bias; }
  static T scaled(T x, T scale, T weight, T bias) { return x * scale * weight + bias; }

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
