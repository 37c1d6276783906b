// The verdict's arithmetic. Ball {centre, radius}: the exact value lies in `centre` (an MPFR enclosure); whatever a kernel that keeps the
// contract computed for it is at most `radius` away (ERROR_MODEL.md, 'Balls' and 'Chains').
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "oracles/chains.h"
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
  BallArithmetic(const Contract& contract, DType storage, std::int64_t n) : contract_(contract), profile_(contract, storage, n) {}

  struct Statistic {
    Interval centre;
    MomentsRadius radius;
  };
  struct Mean {
    Interval centre;
    Up radius;
  };
  struct Moments {
    Mean mean;
    Statistic variance;
  };
  struct Scale {
    Interval centre;
    ScaleRadius radius;
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
  Statistic mean_square(const RowInputs& row) const;
  Scale rsqrt(const Statistic& statistic, double epsilon) const;
  static Weight offset_weight(const Input& weight, double offset) {
    const Interval value = weight.value + Interval(offset);
    return {value, value.magnitude(), offset != 0};
  }
  Ball affine(const Input& x, const Mean& mean, const Scale& scale, const Input& weight, const Input& bias) const;
  Ball scaled(const Input& x, const Scale& scale, const Weight& weight, const Input& bias) const;

  template <class F>
  std::vector<Ball> map(const RowInputs& row, F f) const {
    std::vector<Ball> out;
    out.reserve(static_cast<std::size_t>(row.n));
    for (std::int64_t i = 0; i < row.n; ++i) out.push_back(f(Input(row.x[i]), Input(row.weight[i]), Input(row.bias[i])));
    return out;
  }

 private:
  struct Magnitudes {
    Up x, d, g, b;
  };
  Ball element(const MapRow& row, const Magnitudes& m, const Interval& y) const;

  const Contract& contract_;
  RoundingProfile profile_;
  mutable std::optional<MapRadius> map_;  // of the one row this object serves
};

}  // namespace normfuzz
