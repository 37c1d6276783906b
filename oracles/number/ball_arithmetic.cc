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

BallArithmetic::BallArithmetic(const Contract& contract, DType storage, std::int64_t n)
    : contract_(contract), profile_(contract, storage, n), row_length_(n) {
  const RoundingProfile p = statistics_profile(contract, profile_);
  format_ = {
      p.u,        p.eta, p.eta_sum, contract.robust_range ? kInfinity : p.max, contract.div_ulps, contract.sqrt_ulps, contract.pow_ulps,
      p.root_ulps};
}

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
  return {{exact.mean, r.mean}, {exact.variance, r, row.biased}};
}

// There is no statistic to scale here: also of a robust kernel x - mean and variance + epsilon may leave the range.
BallArithmetic::Moments BallArithmetic::given(const RowInputs& row) const {
  MomentsRadius r;
  r.mean = read_error(row.mean, contract_, profile_);
  r.variance = read_error(row.variance, contract_, profile_);
  if (leaves_range(row.variance, row.epsilon, profile_)) r.limit = Limit::kOverflow;
  return {{Interval(row.mean), r.mean, true}, {Interval(row.variance), r, row.biased}};
}

BallArithmetic::Statistic BallArithmetic::mean_square(const RowInputs& row) const {
  const Interval exact = IntervalArithmetic::mean_square(row);
  RowStatistics s = statistics_of(row);
  s.mean_square = exact.upper_double();
  return {exact, mean_square_radius(s, contract_, profile_), row.biased};
}

BallArithmetic::Scale BallArithmetic::rsqrt(const Statistic& statistic, double epsilon) const {
  return {IntervalArithmetic::rsqrt(statistic.centre, epsilon),
          scale_radius(std::max(0.0, statistic.centre.lower_double()), statistic.centre.upper_double(), statistic.radius, epsilon,
                       contract_, profile_),
          statistic.biased};
}

Ball BallArithmetic::affine(const Input& x, const Mean& mean, const Scale& scale, const Input& weight, const Input& bias) const {
  const Interval d = x.value - mean.centre;
  return element({mean.centre.magnitude(), mean.radius, scale.radius, true, false, scale.biased, mean.given},
                 {x.magnitude, d.magnitude(), weight.magnitude, bias.magnitude}, d * scale.centre * weight.value + bias.value,
                 contract_.robust_range && !mean.given);
}

Ball BallArithmetic::scaled(const Input& x, const Scale& scale, const Weight& weight, const Input& bias) const {
  return element({0, 0, scale.radius, false, weight.offset, scale.biased}, {x.magnitude, x.magnitude, weight.magnitude, bias.magnitude},
                 x.value * scale.centre * weight.value + bias.value, contract_.robust_range);
}

Ball BallArithmetic::element(const MapRow& row, const Magnitudes& of, const Interval& y, bool scaled) const {
  if (!map_) map_ = map_radius(row, contract_, profile_);
  const MapRadius& m = *map_;
  Ball ball{y, 0, row.scale.limit, 0};
  const Up abs_y = y.magnitude(), radius = m.radius(of.x, of.d, of.g, of.b, abs_y);
  ball.magnitude_before_cast = abs_y + radius;
  if (ball.limit == Limit::kNone && !scaled) {
    // ERROR_MODEL 'Overflow': the difference, the products of every association order, and the result itself. A row's own statistics bound
    // the difference; running statistics do not.
    const Up spread = of.d + m.e_d + m.e_d_slope * of.d, r = m.computed;
    Up largest = max(max(max(r * of.g, spread * of.g), spread), max(spread * r, ball.magnitude_before_cast));
    if (contract_.folded_affine) largest = max(largest, (of.x + row.mean + row.mean_radius) * r * max(of.g, Up(1)));
    if (!(largest * (Up(1) + Up(8) * profile_.u) < Up(profile_.max))) ball.limit = Limit::kOverflow;
  }
  // Where the products before the bias, or the result itself, leave the range, no scaling helps: not even `robust` forbids that.
  if (ball.limit == Limit::kNone && !((ball.magnitude_before_cast + of.b) * (Up(1) + Up(8) * profile_.u) < Up(profile_.max)))
    ball.limit = Limit::kOverflow;
  // A cast on the way overflows where what it rounds does; |product| <= |y| + |b|.
  if (ball.limit == Limit::kNone && casts_before_weight(row, contract_, profile_)) {
    const Up normalized = (of.d + m.e_d + m.e_d_slope * of.d) * m.computed * (Up(1) + Up(2) * profile_.u);
    const Up product = row.biased ? ball.magnitude_before_cast + of.b : Up(0);
    if (!(max(normalized, product) < Up(profile_.output_limit))) ball.limit = Limit::kOverflow;
  }
  if (ball.limit == Limit::kNone && !(radius.value() < kInfinity)) ball.limit = Limit::kPrecision;
  ball.radius = ball.limit == Limit::kNone ? radius.value() : kInfinity;
  return ball;
}

BallNumber BallArithmetic::value(double stored) const {
  // Denormals-are-zero reads a stored number below the smallest normal as 0.
  const double lost = std::fabs(stored) < profile_.eta_input ? std::fabs(stored) : 0;
  return {Interval(stored), lost, Limit::kNone, &format_};
}

BallNumber BallArithmetic::constant(double parameter) const {
  const double rounded = value_from_bits(contract_.accumulate, bits_from_value(contract_.accumulate, parameter));
  return {Interval(parameter), std::fabs(rounded - parameter) * (1 + 0x1p-52), Limit::kNone, &format_};
}

BallNumber BallArithmetic::stored_between(BallNumber a) const {
  if (!(profile_.output_u > 0)) return a;
  if (!(a.magnitude() < Up(profile_.output_limit))) a.limit = worst(a.limit, Limit::kOverflow);
  a.radius += Up(profile_.output_u) * a.magnitude() + Up(profile_.output_eta);
  return a.rounded(0, 0);
}

BallArithmetic::PlainMoments BallArithmetic::numbers_of(const Moments& m) const {
  const Limit limit = m.variance.radius.limit;
  return {BallNumber{m.mean.centre, m.mean.radius, limit, &format_}.rounded(0, 0),
          BallNumber{m.variance.centre, m.variance.radius.variance, limit, &format_}.rounded(0, 0)};
}

// ERROR_MODEL 'Batch statistics': the population's variance times n/(n - 1), or the sum of squares over n - 1.
BallNumber BallArithmetic::sample_variance(const Moments& m, std::int64_t n) const {
  const Up u = profile_.u, growth = Up(static_cast<double>(n)) / Up(static_cast<double>(n - 1)),
           mean = m.mean.centre.magnitude() + m.mean.radius;
  BallNumber v = numbers_of(m).variance;
  v.centre = v.centre * Interval(static_cast<double>(n)) / static_cast<unsigned long>(n - 1);
  v.radius = v.radius * growth;
  if (contract_.moments & (kOnePassClamped | kOnePassUnclamped)) v.radius += Up(2) * u * (Up(1) + u) * mean * mean * growth;
  return v.rounded(profile_.representable_count ? 4 : 6, Up(4) * format_.eta);
}

// Sums of two such numbers, with their roundings, stay below 4 times the larger.
BallNumber BallArithmetic::in_range(BallNumber a) const {
  if (contract_.robust_range && !(Up(4) * a.magnitude() < Up(profile_.max))) a.limit = worst(a.limit, Limit::kOverflow);
  return a;
}

BallNumber BallArithmetic::normalized_sum(double x, double residual) const {
  const BallNumber sum = value(x) + value(residual);
  return contract_.residual == ResidualSum::kUnrounded ? sum : stored_between(sum);
}

// ERROR_MODEL 'Residual and heads'. A robust kernel's statistics do not underflow; these products do.
BallNumber BallArithmetic::weighted(const BallNumber& x, const BallNumber& scale, const BallNumber& weight) const {
  const BallNumber product = x * scale;
  const BallNumber scale_first = (contract_.cast_before_weight ? stored_between(product) : product) * weight;
  BallNumber y = normfuzz::either(normfuzz::either(scale_first, x * (weight * scale)), (x * weight) * scale);
  if (contract_.robust_range)
    y.radius += Up(profile_.eta) * (Up(1) + Up(4 * profile_.u)) * (x.magnitude() + scale.magnitude() + weight.magnitude() + Up(1));
  return y.rounded(0, 0);
}

BallNumber BallArithmetic::over_count(const BallNumber& total, std::int64_t n) const {
  BallNumber mean{total.centre / static_cast<unsigned long>(n), total.radius / Up(static_cast<double>(n)), total.limit, &format_};
  mean.radius = divided_by_count(mean.exact_magnitude(), mean.radius, n, statistics_profile(contract_, profile_));
  return mean.rounded(0, 0);
}

// An exponent that is no number of the accumulation type is rounded to it.
BallNumber BallArithmetic::power(const BallNumber& a, double p) const {
  const bool exact = value_from_bits(contract_.accumulate, bits_from_value(contract_.accumulate, p)) == p;
  return pow(a, Interval(p), exact ? 0 : profile_.u);
}

// 1/p is rounded once more.
BallNumber BallArithmetic::root_of_order(const BallNumber& a, double p) const {
  return pow(a, Interval(1) / Interval(p), Up(2 * profile_.u) * (Up(1) + Up(2 * profile_.u)));
}

BallNumber BallArithmetic::normalized(const BallNumber& x, const Mean& mean, const Scale& scale) const {
  const BallNumber m{mean.centre, mean.radius, Limit::kNone, &format_};
  BallNumber h = normalized(x - m, scale);
  if (contract_.folded_xhat) {  // ERROR_MODEL 'Backward', xhat folded
    const Up u = profile_.u;
    h.radius += u * (Up(1) + Up(8) * u) * scale.radius.computed * (x.magnitude() + m.magnitude()) + Up(3 * format_.eta);
    h = h.rounded(0, 0);
  }
  return h;
}

BallNumber BallArithmetic::normalized(const BallNumber& x, const Scale& scale) const {
  return x * BallNumber{scale.centre, scale.radius.radius, scale.radius.limit, &format_};
}

// ERROR_MODEL 'Backward', the opt-in form dx = r g + B (x - mean) - S1 r/n with B = (S1 mean - sum g x) r^3 / n and S1 = sum g; without a
// mean S1 = 0 (the derivative of r as autograd composes it).
BallArithmetic::GradientVariants BallArithmetic::gradient_variants(const RowInputs& row, const Mean* mean, const Scale& scale,
                                                                   const std::vector<BallNumber>& g) const {
  GradientVariants variants;
  if (!contract_.folded_backward) return variants;
  const Up u = profile_.u, eta = format_.eta, n = static_cast<double>(row.n), r_high = scale.radius.computed;
  const auto x = [&](std::int64_t i) { return value(row.x[i]); };
  const auto g_at = [&](std::int64_t i) { return g[static_cast<std::size_t>(i)]; };
  const BallNumber zero{Interval(0), 0, Limit::kNone, &format_}, products = dot(row.n, g_at, x);
  const BallNumber m = mean ? BallNumber{mean->centre, mean->radius, Limit::kNone, &format_} : zero;
  const BallNumber total = mean ? sum(row.n, g_at) : zero;
  const BallNumber difference = mean ? total * m - products : products;
  const BallNumber r{scale.centre, scale.radius.radius, scale.radius.limit, &format_};
  BallNumber b = difference * (r * r * r);
  b.centre = b.centre / static_cast<unsigned long>(row.n);
  b.radius = b.radius / n;
  b = b.rounded(5, eta * (Up(2) + r_high + r_high * r_high));
  variants.limit = worst(b.limit, total.limit);
  for (std::int64_t i = 0; i < row.n; ++i) {
    const BallNumber& g_i = g[static_cast<std::size_t>(i)];
    const BallNumber d = x(i) - m;
    const Up terms = r_high * g_i.magnitude() + b.magnitude() * (x(i).magnitude() + m.magnitude()) + total.magnitude() * r_high / n;
    variants.radius.push_back(d.exact_magnitude() * b.radius + b.magnitude() * d.radius + r_high * g_i.radius +
                              r.radius * g_i.exact_magnitude() + (total.radius * r_high + total.exact_magnitude() * r.radius) / n +
                              Up(5) * u * (Up(1) + Up(8) * u) * terms + eta * (Up(4) + r_high));
    if (!(terms < Up(format_.max))) variants.limit = worst(variants.limit, Limit::kOverflow);
  }
  return variants;
}

// ERROR_MODEL 'Backward': t = g - mean g - xhat mean(g xhat) in any association, or n g - S1 - xhat S2 with r/n.
BallNumber BallArithmetic::input_gradient(const Scale& scale, const BallNumber& g, const BallNumber& mean_g, const BallNumber& xhat,
                                          const BallNumber& mean_g_xhat, const GradientVariants& variants, std::int64_t i) const {
  const Up u = profile_.u, n = static_cast<double>(row_length_);
  const BallNumber r{scale.centre, scale.radius.radius, scale.radius.limit, &format_};
  const BallNumber q = xhat * mean_g_xhat;
  const Up terms = g.magnitude() + mean_g.magnitude() + q.magnitude();
  const double roundings = profile_.representable_count ? 3 : 4;
  BallNumber t{g.centre - mean_g.centre - q.centre, 0, worst(worst(g.limit, mean_g.limit), q.limit), &format_};
  t.radius = g.radius + mean_g.radius + q.radius + Up(roundings) * u * (Up(1) + Up(4) * u) * terms + Up(3 * format_.eta_sum);
  BallNumber dx{r.centre * t.centre, t.exact_magnitude() * r.radius + r.magnitude() * t.radius, worst(r.limit, t.limit), &format_};
  const Up factor = (Up(1) + u) * (Up(1) + u);
  dx = dx.rounded(Up(3) * factor, Up(format_.eta) * factor * (Up(1) + r.magnitude() + n * t.magnitude()));
  if (!(terms * n * max(Up(1), r.magnitude()) < Up(format_.max))) dx.limit = worst(dx.limit, Limit::kOverflow);
  if (!variants.radius.empty()) {
    dx.radius = max(dx.radius, variants.radius[static_cast<std::size_t>(i)]);
    dx.limit = worst(dx.limit, variants.limit);
    dx = dx.rounded(0, 0);
  }
  return dx;
}

// A robust kernel has no underflow in its statistics; its last operations and the result keep theirs.
Ball BallArithmetic::result(const BallNumber& y) const {
  Ball ball{y.centre, 0, y.limit, y.magnitude()};
  Up radius = y.radius;
  if (contract_.robust_range) radius += Up(4 * profile_.eta);
  ball.magnitude_before_cast = y.exact_magnitude() + radius;
  if (profile_.output_u > 0) radius = radius + Up(profile_.output_u) * ball.magnitude_before_cast + Up(profile_.output_eta);
  if (ball.limit == Limit::kNone && !(ball.magnitude_before_cast * (Up(1) + Up(8 * profile_.u)) < Up(profile_.max)))
    ball.limit = Limit::kOverflow;
  if (ball.limit == Limit::kNone && !(radius.value() < kInfinity)) ball.limit = Limit::kPrecision;
  ball.radius = ball.limit == Limit::kNone ? radius.value() : kInfinity;
  return ball;
}

}  // namespace normfuzz
