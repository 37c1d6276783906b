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
          scale_radius(std::max(0.0, statistic.centre.lower_double()), statistic.centre.upper_double(), statistic.radius, epsilon, contract_, profile_)};
}

Ball BallArithmetic::affine(const Interval& x, const Mean& mean, const Scale& scale, const Interval& weight, const Interval& bias) const {
  const Interval d = x - mean.centre;
  return element({mean.centre.magnitude(), mean.radius, scale.radius, true, false}, x, d, weight, bias, d * scale.centre * weight + bias);
}

Ball BallArithmetic::scaled(const Interval& x, const Scale& scale, const Weight& weight, const Interval& bias) const {
  return element({0, 0, scale.radius, false, weight.offset}, x, x, weight.value, bias, x * scale.centre * weight.value + bias);
}

Ball BallArithmetic::element(const MapRow& row, const Interval& x, const Interval& d, const Interval& weight, const Interval& bias,
                             const Interval& y) const {
  Ball ball{y, 0, row.scale.limit, 0};
  const Up abs_x = x.magnitude(), abs_d = d.magnitude(), abs_g = weight.magnitude(), abs_b = bias.magnitude(), abs_y = y.magnitude();
  const MapRadius<Up> m = map_radius(row, contract_, profile_);
  const Up radius = m.radius(abs_x, abs_d, abs_g, abs_b, abs_y);
  ball.magnitude_before_cast = abs_y + radius;
  if (ball.limit == Limit::kNone && !contract_.robust_range) {
    // ERROR_MODEL 'Overflow': the products of every association order, and the result itself.
    const Up spread = abs_d + m.e_d + m.e_d_slope * abs_d, r = m.computed;
    Up largest = max(max(r * abs_g, spread * abs_g), max(spread * r, ball.magnitude_before_cast));
    if (contract_.folded_affine) largest = max(largest, (abs_x + row.mean + row.mean_radius) * r * max(abs_g, Up(1)));
    if (!(largest * (Up(1) + Up(8) * profile_.u) < Up(profile_.max))) ball.limit = Limit::kOverflow;
  }
  if (ball.limit == Limit::kNone && !(radius.value() < kInfinity)) ball.limit = Limit::kPrecision;
  ball.radius = ball.limit == Limit::kNone ? radius.value() : kInfinity;
  return ball;
}

}  // namespace normfuzz
