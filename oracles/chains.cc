#include "oracles/chains.h"

#include <bit>
#include <cmath>
#include <limits>

namespace normfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// gamma_k = k u / (1 - k u); no bound when k u reaches 1.
Up gamma(double k, double u) {
  const double ku = k * u * (1 + 0x1p-50);
  return ku < 1 ? Up(ku) / Up((1 - ku) * (1 - 0x1p-50)) : Up(kInfinity);
}

bool power_of_two(std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }
// Natural and binary logarithms of n, not below the exact ones.
Up log_natural(std::int64_t n) { return std::log(static_cast<double>(n)) * (1 + 0x1p-40); }
double log2_ceiling(std::int64_t n) { return n <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(n - 1)); }

Up two_pass_mean(const RowStatistics& row, const RoundingProfile& p) {
  if (row.n == 1) return p.eta_input;
  const Up sum = Up(static_cast<double>(row.n - 1)) * p.u * (row.mean_abs + p.eta_input);
  return divided_by_count(row.mean, sum + p.eta_input + p.eta_sum, row.n, p);
}

// ERROR_MODEL 'Welford': K = (n-1) + 3(1+H) sequentially, 4h + 3(n-1) for a merge tree of height h, 7(n-1) when h is unknown.
double welford_operations(const RowStatistics& row, bool tree, int height) {
  const double n1 = static_cast<double>(row.n - 1);
  if (tree) return height > 0 ? std::min(4.0 * height + 3 * n1, 7 * n1) : 7 * n1;
  const double h = row.n >= 2 ? 1 + std::log(std::max(1.0, n1)) * (1 + 0x1p-40) : 0;
  return n1 + 3 * (1 + h);
}

Up welford_mean(const RowStatistics& row, double k, const RoundingProfile& p) {
  if (row.n == 1) return p.eta_input;
  const double n = static_cast<double>(row.n);
  return gamma(k, p.u) * (row.mean_abs + p.eta_input) + Up(n) * (p.eta + p.eta_sum) + p.eta_input;
}

// The chain of balls d = x - mu, d d, sum, / n with the mean's radius `mean_radius`, summed over the row in closed form.
Up two_pass_variance(const RowStatistics& row, Up mean_radius, const RoundingProfile& p) {
  if (row.n == 1) return 0;
  const Up u = p.u, a = mean_radius * (Up(1) + u) + p.eta_sum + p.eta_input, v = row.variance;
  const Up two_u = Up(2) * u + u * u;
  Up e = Up(2) * a * (Up(1) + u) * row.mean_abs_deviation + a * a + two_u * v;  // mean of 2|d|e_d + e_d^2, e_d = a + u|d|
  e = e + u * (v + e) + p.eta;                                                  // rounding of each square
  e = e + Up(static_cast<double>(row.n - 1)) * u * (v + e) + p.eta_sum;         // any summation tree
  return divided_by_count(v, e, row.n, p);
}

// ERROR_MODEL 'Variance, Welford': L + gamma_{n+7}(v + L) + 4 ceil(log2 n) f^2 + n eta with f = 3.5 u A (sequential) or 7 u A (trees).
Up welford_variance(const RowStatistics& row, bool tree, double k, Up mean_radius, const RoundingProfile& p) {
  if (row.n == 1) return 0;
  const double n = static_cast<double>(row.n);
  const Up u = p.u, v = row.variance, log2n = log2_ceiling(row.n);
  const Up sum_abs = row.mean_abs * Up(n);
  const Up f = Up(tree ? 7 : 3.5) * u * (Up(1) + Up(4 * k) * u) * sum_abs + Up(n) * (p.eta + p.eta_sum) + p.eta_input;
  const Up spread = min(log_natural(row.n) * row.mean_abs_deviation, sqrt(max(Up(1), log2n * Up(0.5)) * v));
  const Up lead = Up(4) * f * spread * (Up(1) + Up(8) * u);
  const Up direct =
      lead + gamma(n + 7, p.u) * (v + lead) + Up(4) * log2n * f * f + Up(n) * (p.eta + Up(2) * p.eta_sum * (row.max_abs + Up(1)));
  return max(two_pass_variance(row, mean_radius, p), direct);
}

// ERROR_MODEL 'one_pass': v = q - p with q = mean x^2 and p = mu mu.
Up one_pass_variance(const RowStatistics& row, const RoundingProfile& p) {
  const double n = static_cast<double>(row.n);
  const Up u = p.u, mean_error = gamma(n + 1, p.u) * row.mean_abs + p.eta + p.eta_input + p.eta_sum;
  Up e_p = Up(2) * row.mean * mean_error + mean_error * mean_error;
  e_p = e_p + u * (row.mean * row.mean + e_p) + p.eta;
  const Up e_q = gamma(n + 3, p.u) * row.mean_square + Up(3) * p.eta + p.eta_sum + Up(2) * p.eta_input * row.max_abs;
  const Up e = e_p + e_q + p.eta_sum;
  return e + u * (row.variance + e);
}

// ERROR_MODEL 'Overflow': partial sums of |x|, of the squares, and (2 max|x|)^2 n inside a Welford merge.
bool statistics_overflow(const RowStatistics& row, const Contract& c, const MomentsRadius& r, const RoundingProfile& p) {
  const Up n = static_cast<double>(row.n), growth = Up(1) + n * p.u;
  const Up sum = row.mean_abs * n * growth, squares = (row.variance + r.variance) * n * growth;
  const Up twice = Up(2) * row.max_abs;
  bool overflow = !(sum < Up(p.max)) || !(squares < Up(p.max)) || !(twice < Up(p.max));
  if (c.moments & (kWelfordSequential | kWelfordTree)) overflow |= row.n > 1 && !(twice * twice * n * growth < Up(p.max));
  if (c.moments & (kOnePassClamped | kOnePassUnclamped)) overflow |= !(row.mean_square * n * growth < Up(p.max));
  return overflow;
}

}  // namespace

// Division by n, or multiplication by a rounded 1/n: k = 2 roundings, none for a power of two; one more when n itself is rounded.
// ERROR_MODEL 'Mean, two_pass'.
Up read_error(double stored, const Contract& contract, const RoundingProfile& profile) {
  const double rounded = value_from_bits(contract.accumulate, bits_from_value(contract.accumulate, stored));
  const double flushed = std::fabs(stored) < profile.eta_input ? std::fabs(stored) : 0;
  return Up(std::fabs(rounded - stored) * (1 + 0x1p-52)) + Up(flushed);
}

Up divided_by_count(Up magnitude, Up radius, std::int64_t n, const RoundingProfile& p) {
  if (n == 1) return radius;
  const double k = (power_of_two(n) ? 0 : 2) + (p.representable_count ? 0 : 1);
  const Up ku = k * p.u;
  return radius + ku * (Up(1) + ku) * (magnitude + radius) + p.eta;
}

// A robust kernel scales: no absolute error from underflow in its statistics.
RoundingProfile statistics_profile(const Contract& contract, RoundingProfile p) {
  if (contract.robust_range) p.eta = p.eta_sum = 0;
  return p;
}

RoundingProfile::RoundingProfile(const Contract& c, DType storage, std::int64_t n) {
  const FloatFormat& a = format_of(c.accumulate);
  const FloatFormat& s = format_of(storage);
  u = a.unit_roundoff;
  eta = c.flush_to_zero ? a.smallest_normal : a.half_subnormal;
  eta_sum = c.flush_to_zero ? a.smallest_normal : 0;
  eta_input = c.denormals_are_zero ? s.smallest_normal : 0;
  max = a.max_finite;
  root_ulps = std::max(c.rsqrt_ulps, c.sqrt_ulps + c.div_ulps + 2 * u * c.sqrt_ulps * c.div_ulps);
  output_max = s.max_finite;
  // A double cannot hold max + ulp/2 of f64: there the limit is the maximum itself.
  output_limit = storage == DType::kF64 ? s.max_finite : s.max_finite + std::ldexp(s.unit_roundoff, s.max_exponent);
  if (a.precision > s.precision) {
    output_u = s.unit_roundoff;
    output_eta = c.flush_to_zero ? s.smallest_normal : s.half_subnormal;
  }
  representable_count = static_cast<double>(n) <= std::ldexp(1.0, a.precision) || representable(c.accumulate, static_cast<double>(n));
}

MomentsRadius moments_radius(const RowStatistics& row, const Contract& c, const RoundingProfile& profile) {
  const RoundingProfile p = statistics_profile(c, profile);
  MomentsRadius r;
  const auto include = [&](Up mean, Up variance) {
    r.mean = max(r.mean, mean);
    r.variance = max(r.variance, variance);
  };
  if (c.moments & kTwoPass) {
    const Up mean = two_pass_mean(row, p);
    include(mean, two_pass_variance(row, mean, p));
  }
  for (const bool tree : {false, true}) {
    if (!(c.moments & (tree ? kWelfordTree : kWelfordSequential))) continue;
    const double k = welford_operations(row, tree, c.welford_tree_height);
    const Up mean = welford_mean(row, k, p);
    include(mean, welford_variance(row, tree, k, mean, p));
  }
  if (c.moments & (kOnePassClamped | kOnePassUnclamped)) include(two_pass_mean(row, p), one_pass_variance(row, p));
  r.clipped_at_zero = !(c.moments & kOnePassUnclamped);
  if (!c.robust_range && statistics_overflow(row, c, r, p)) r.limit = Limit::kOverflow;
  return r;
}

MomentsRadius mean_square_radius(const RowStatistics& row, const Contract& c, const RoundingProfile& profile) {
  const RoundingProfile p = statistics_profile(c, profile);
  const Up u = p.u, m = row.mean_square, n = static_cast<double>(row.n);
  MomentsRadius r;
  Up e = Up(2) * p.eta_input * row.mean_abs + Up(p.eta_input) * p.eta_input;
  e = e + u * (m + e) + p.eta;
  e = e + Up(static_cast<double>(row.n - 1)) * u * (m + e) + p.eta_sum;
  r.variance = divided_by_count(m, e, row.n, p);
  if (!c.robust_range && !((m + r.variance) * n * (Up(1) + n * u) < Up(p.max))) r.limit = Limit::kOverflow;
  return r;
}

ScaleRadius scale_radius(double statistic_lower, Up statistic, const MomentsRadius& r, double epsilon, const Contract& c,
                         const RoundingProfile& p) {
  ScaleRadius s;
  s.limit = r.limit;
  const double w_lower = (statistic_lower + epsilon) * (1 - 0x1p-52);
  if (!(w_lower > 0)) {  // the enclosure does not exclude zero
    s.exact = s.radius = s.computed = kInfinity;
    if (s.limit == Limit::kNone) s.limit = Limit::kPrecision;
    return s;
  }
  // The sum with epsilon leaves the range too: an epsilon of 65,440 in a float16 accumulation.
  if (s.limit == Limit::kNone && !c.robust_range && !((statistic + r.variance + epsilon) * (Up(1) + Up(2) * p.u) < Up(p.max)))
    s.limit = Limit::kOverflow;
  s.exact = Up(1) / Up(std::sqrt(w_lower) * (1 - 0x1p-51));
  // Relative perturbations of w: down by delta_low (a computed sum of squares is >= 0), up by delta_high. In a 16-bit accumulation
  // epsilon itself is rounded ('The ladder in fields').
  const double rounded_epsilon = value_from_bits(c.accumulate, bits_from_value(c.accumulate, epsilon));
  const Up w = w_lower, shift = Up(std::fabs(rounded_epsilon - epsilon)) + Up(p.eta_sum);
  const Up delta_high = (r.variance + shift) / w * (Up(1) + p.u) + p.u;
  const Up fall = r.clipped_at_zero ? min(r.variance, statistic) : r.variance;
  const Up delta_low = (fall + shift) / w + p.u;
  const Up root = Up(2 * p.root_ulps) * p.u;
  if (!(delta_low.value() < 1)) {
    s.radius = s.computed = kInfinity;
    if (s.limit == Limit::kNone) s.limit = Limit::kPrecision;
    return s;
  }
  // (1 - delta)^(-1/2) - 1 = delta / (q (1 + q)), q = sqrt(1 - delta); the other side is at most root + delta_high / 2.
  const double q = std::sqrt((1 - delta_low.value()) * (1 - 0x1p-51)) * (1 - 0x1p-51);
  const Up rise = delta_low / Up(q * (1 + q) * (1 - 0x1p-51));
  const Up above = root + rise + root * rise, below = root + delta_high * Up(0.5);
  s.radius = s.exact * max(above, min(below, Up(1)));
  s.computed = s.exact * (Up(1) + above);
  if (s.limit == Limit::kNone && !c.robust_range && !(s.computed < Up(p.max))) s.limit = Limit::kOverflow;
  return s;
}

MapRadius map_radius(const MapRow& row, const Contract& c, const RoundingProfile& p) {
  const Up u = p.u, one = 1, r = row.scale.computed;
  const int products = row.weight_offset ? 3 : 2;
  Up factor = one;
  for (int i = 0; i < products; ++i) factor = factor * (one + u);                                   // (1+u)^products
  const Up rounding = (products == 3 ? Up(3) * u + Up(3) * u * u + u * u * u : Up(2) * u + u * u);  // ... - 1
  MapRadius m;
  m.computed = r;
  m.e_d = row.centred_on_mean ? row.mean_radius * (one + u) + p.eta_sum + p.eta_input : Up(p.eta_input);
  m.e_d_slope = row.centred_on_mean ? u : Up(0);
  m.g = m.e_d * r * factor;
  m.gd = (m.e_d_slope * r + row.scale.radius) * factor + rounding * row.scale.exact;
  m.eta = Up(p.eta) * (one + u) * (row.weight_offset ? one + u : one);
  m.constant = m.eta + p.eta_sum + p.eta_input;
  m.eta_d = (Up(p.eta_input) + (row.weight_offset ? p.eta_sum : 0)) * r * factor;  // of a weight read as, or flushed to, zero
  if (row.centred_on_mean && c.folded_affine) {
    const Up fold = Up(2) * u * (one + Up(8) * u) * r;
    m.g += fold * (row.mean + row.mean_radius);
    m.gx += fold;
    m.b += u;
    m.eta_g += Up(2) * p.eta;
    m.eta_d += Up(p.eta) * (one + m.e_d_slope);
    m.constant += Up(p.eta) * (Up(4) + m.e_d);
  }
  if (casts_before_weight(row, c, p)) {
    const Up u_out = p.output_u, eta_out = p.output_eta;
    const auto cast = [&](Up scale, Up eta) {  // of a number of at most |d as computed| scale + eta, times the weight
      m.gd += u_out * (one + m.e_d_slope) * scale * factor;
      m.g += u_out * (m.e_d * scale + eta) * factor;
    };
    cast(r * (one + u), 0);
    m.g += eta_out * factor;
    if (row.biased) {
      cast(r * (one + u) * (one + u_out), eta_out);
      m.constant += eta_out;
    }
  }
  // + b: E + u (|y| + E); then the cast: E + u_out (|y| + E) + eta_out.
  Up grow = one + u, of_y = u;
  if (p.output_u > 0) {
    of_y = of_y * (one + p.output_u) + p.output_u;
    grow = grow * (one + p.output_u);
  }
  for (Up* coefficient : {&m.g, &m.gd, &m.gx, &m.b, &m.eta, &m.eta_g, &m.eta_d, &m.constant}) *coefficient = *coefficient * grow;
  m.y = of_y;
  m.constant += p.output_eta;
  return m;
}

}  // namespace normfuzz
