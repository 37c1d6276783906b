#include "oracles/number/ball_arithmetic.h"

#include <algorithm>
#include <limits>

namespace normfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RowStatistics statistics_of(const RowInputs& row) {
  RowStatistics s;
  s.n = row.n;
  Up total = 0, squares = 0;
  for (std::int64_t i = 0; i < row.n; ++i) {
    const Up a = std::fabs(row.x[i]);
    total += a;
    squares += a * a;
    s.max_abs = max(s.max_abs, a);
  }
  s.mean_abs = total / Up(static_cast<double>(row.n));
  s.mean_square = squares / Up(static_cast<double>(row.n));
  return s;
}

}  // namespace

BallArithmetic::Moments BallArithmetic::moments(const RowInputs& row) const {
  const auto exact = IntervalArithmetic::moments(row);
  RowStatistics s = statistics_of(row);
  s.mean = exact.mean.magnitude();
  s.variance_lower = exact.variance.lower_double();
  s.variance = exact.variance.upper_double();
  Up deviations = 0;
  for (std::int64_t i = 0; i < row.n; ++i) deviations += (Interval(row.x[i]) - exact.mean).magnitude();
  s.mean_abs_deviation = deviations / Up(static_cast<double>(row.n));
  const MomentsRadius r = moments_radius(s, contract_, profile_);
  return {{exact.mean, r.mean}, {exact.variance, r}};
}

BallArithmetic::Statistic BallArithmetic::mean_square(const RowInputs& row) const {
  const Interval exact = IntervalArithmetic::mean_square(row);
  RowStatistics s = statistics_of(row);
  s.mean_square = exact.upper_double();
  return {exact, mean_square_radius(s, contract_, profile_)};
}

BallArithmetic::Scale BallArithmetic::rsqrt(const Statistic& statistic, double epsilon) const {
  return {IntervalArithmetic::rsqrt(statistic.centre, epsilon),
          scale_radius(std::max(0.0, statistic.centre.lower_double()), statistic.centre.upper_double(), statistic.radius, epsilon,
                       contract_, profile_)};
}

Ball BallArithmetic::affine(const Input& x, const Mean& mean, const Scale& scale, const Input& weight, const Input& bias) const {
  const Interval d = x.value - mean.centre;
  return element({mean.centre.magnitude(), mean.radius, scale.radius, true, false},
                 {x.magnitude, d.magnitude(), weight.magnitude, bias.magnitude}, d * scale.centre * weight.value + bias.value);
}

Ball BallArithmetic::scaled(const Input& x, const Scale& scale, const Weight& weight, const Input& bias) const {
  return element({0, 0, scale.radius, false, weight.offset}, {x.magnitude, x.magnitude, weight.magnitude, bias.magnitude},
                 x.value * scale.centre * weight.value + bias.value);
}

Ball BallArithmetic::element(const MapRow& row, const Magnitudes& of, const Interval& y) const {
  if (!map_) map_ = map_radius(row, contract_, profile_);
  const MapRadius& m = *map_;
  Ball ball{y, 0, row.scale.limit, 0};
  const Up abs_y = y.magnitude(), radius = m.radius(of.x, of.d, of.g, of.b, abs_y);
  ball.magnitude_before_cast = abs_y + radius;
  if (ball.limit == Limit::kNone && !contract_.robust_range) {
    // ERROR_MODEL 'Overflow': the products of every association order, and the result itself.
    const Up spread = of.d + m.e_d + m.e_d_slope * of.d, r = m.computed;
    Up largest = max(max(r * of.g, spread * of.g), max(spread * r, ball.magnitude_before_cast));
    if (contract_.folded_affine) largest = max(largest, (of.x + row.mean + row.mean_radius) * r * max(of.g, Up(1)));
    if (!(largest * (Up(1) + Up(8) * profile_.u) < Up(profile_.max))) ball.limit = Limit::kOverflow;
  }
  // Where the products before the bias, or the result itself, leave the range, no scaling helps: not even `robust` forbids that.
  if (ball.limit == Limit::kNone && !((ball.magnitude_before_cast + of.b) * (Up(1) + Up(8) * profile_.u) < Up(profile_.max)))
    ball.limit = Limit::kOverflow;
  if (ball.limit == Limit::kNone && !(radius.value() < kInfinity)) ball.limit = Limit::kPrecision;
  ball.radius = ball.limit == Limit::kNone ? radius.value() : kInfinity;
  return ball;
}

}  // namespace normfuzz
