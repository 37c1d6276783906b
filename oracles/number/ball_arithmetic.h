// The verdict's arithmetic. Ball {centre, radius}: the exact value lies in `centre` (an MPFR enclosure); whatever a kernel that keeps the
// contract computed for it is at most `radius` away (ERROR_MODEL.md, 'Balls' and 'Chains').
#pragma once

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
  struct Weight {
    Interval value;
    bool offset;
  };

  Moments moments(const RowInputs& row) const;
  Statistic mean_square(const RowInputs& row) const;
  Scale rsqrt(const Statistic& statistic, double epsilon) const;
  static Weight offset_weight(const Interval& weight, double offset) { return {weight + Interval(offset), offset != 0}; }
  Ball affine(const Interval& x, const Mean& mean, const Scale& scale, const Interval& weight, const Interval& bias) const;
  Ball scaled(const Interval& x, const Scale& scale, const Weight& weight, const Interval& bias) const;

  template <class F>
  std::vector<Ball> map(const RowInputs& row, F f) const {
    std::vector<Ball> out;
    out.reserve(static_cast<std::size_t>(row.n));
    for (std::int64_t i = 0; i < row.n; ++i) out.push_back(f(Interval(row.x[i]), Interval(row.weight[i]), Interval(row.bias[i])));
    return out;
  }

 private:
  Ball element(const MapRow& row, const Interval& x, const Interval& d, const Interval& weight, const Interval& bias, const Interval& y) const;

  const Contract& contract_;
  RoundingProfile profile_;
};

}  // namespace normfuzz
