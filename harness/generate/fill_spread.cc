#include <algorithm>
#include <cmath>

#include "harness/generate/fills.h"
#include "harness/generate/magnitude.h"

namespace normfuzz {

void fill_gaussian(RowDraw& d, Row row) {
  const double scale = draw_scale(d.own, d.dtype);
  for (double& x : row) x = scale * d.own.gaussian();
}

// Half of the rows on [-scale, scale), half on [0, scale).
void fill_uniform(RowDraw& d, Row row) {
  const double scale = draw_scale(d.own, d.dtype);
  const bool symmetric = d.own.chance(50);
  for (double& x : row) x = scale * (symmetric ? 2 * d.own.uniform() - 1 : d.own.uniform());
}

void fill_wide_exponents(RowDraw& d, Row row) {
  const Exponents range = d.own.chance(50) ? ordinary_exponents(d.dtype) : safe_exponents(d.dtype);
  for (double& x : row) x = d.own.flip(draw_magnitude(d.own, d.dtype, range));
}

// center (1 + g 2^-k), k = 4 .. precision: mean/std up to the last bit of the type, and |x - center| <= 8.11/16 |center| keeps one sign.
void fill_large_mean(RowDraw& d, Row row) {
  // 2^14 * 2 * (1 + 8.11/16) = 49,400 < 65,504 keeps f16 finite.
  const Exponents everyday = d.dtype == DType::kF16 ? Exponents{-4, 13} : Exponents{-4, 17};
  Exponents range = d.own.chance(75) ? everyday : safe_exponents(d.dtype);
  range.hi = d.dtype == DType::kF16 ? std::min(range.hi, 13) : range.hi;
  const double center = d.own.flip(draw_magnitude(d.own, d.dtype, range));
  const double spread = center * power_of_two(-static_cast<int>(d.own.between(4, d.format().precision)));
  for (double& x : row) x = center + spread * d.own.gaussian();
}

// A unit row of magnitudes 1/4 .. 2 scaled to a root mean square of sqrt(epsilon) 2^k, k = -7 .. 7; one more factor of two is left for the
// rounding of the row in its dtype, which changes no element by more than 1/8 of the smallest RMS (4 subnormals) kept here.
void fill_eps_dominated(RowDraw& d, Row row) {
  double sum = 0;
  for (double& x : row) {
    x = d.own.flip(d.own.log_uniform(-2, 0, 53));
    sum += x * x;
  }
  const double root = std::sqrt(d.epsilon > 0 ? d.epsilon : 0x1p-40);
  const double rms = std::sqrt(sum / static_cast<double>(row.size()));
  const double target = std::max(root * power_of_two(static_cast<int>(d.own.between(-7, 7))), 4 * d.format().smallest_subnormal);
  const double scale = target / rms;
  for (double& x : row) x *= scale;
}

// One sign throughout, so that the mean is far from 0 and lanes past the end (read as 0, or not read) change every statistic; half of the
// rows carry their weight in the last one to three elements, where a dropped tail loses it.
void fill_width_tail(RowDraw& d, Row row) {
  const double scale = d.own.flip(draw_scale(d.own, d.dtype));
  const double mean = static_cast<double>(d.own.between(1, 6));
  for (double& x : row) x = scale * (mean + d.own.gaussian() * 0.0625);  // 8.11/16 < 1: the sign stays
  if (d.own.chance(50)) return;
  const auto tail = std::min<std::size_t>(row.size(), d.own.below(3) + 1);
  const double boost = power_of_two(static_cast<int>(d.own.between(1, 3)));  // f16: 2^10 * 6.51 * 8 = 53,300 < 65,504
  for (double& x : row.last(tail)) x *= boost;
}

}  // namespace normfuzz
