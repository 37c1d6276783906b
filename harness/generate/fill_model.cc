#include <algorithm>
#include <array>
#include <cmath>

#include "harness/generate/activations.h"
#include "harness/generate/fills.h"
#include "harness/generate/magnitude.h"

namespace normfuzz {
namespace {

// L2 length of the residual stream of GPT-2 small: the shortest token embedding (2.45), after the embedding (6), then after each of 11
// layers up to 245; the lengths between are 6 (245/6)^(layer/11).
constexpr std::array kResidualLengths = {2.45, 6.0, 8.406, 11.778, 16.501, 23.119, 32.391, 45.382, 63.583, 89.084, 124.811, 174.868, 245.0};

}  // namespace

// One element towers over a gaussian row by 2^8 and more (8.11 < 2^4 leaves at least a factor 2^4), as massive activations do.
void fill_single_spike(RowDraw& d, Row row) {
  const bool half = d.dtype == DType::kF16;
  const double scale = half ? 0.25 : draw_scale(d.own, d.dtype);
  for (double& x : row) x = scale * d.own.gaussian();
  const std::uint64_t at = d.own.below(row.size());
  row[at] = d.own.flip(scale * d.own.log_uniform(8, half ? 16 : 20, d.format().precision));
}

// Row r of R has the length of layer 12 r / (R - 1) (a single row: of any layer); half of the rows concentrate in one outlier channel.
void fill_residual_growth(RowDraw& d, Row row) {
  const std::int64_t last = static_cast<std::int64_t>(kResidualLengths.size()) - 1;
  const std::int64_t layer = d.rows > 1 ? d.row * last / (d.rows - 1) : d.own.between(0, last);
  const double outlier = d.own.chance(50) ? power_of_two(static_cast<int>(d.own.between(2, 6))) : 1;
  for (double& x : row) x = d.own.gaussian();
  row[d.shared.below(row.size())] *= outlier;
  double sum = 0;
  for (const double x : row) sum += x * x;
  if (sum == 0) sum = row[0] = 1;
  const double scale = kResidualLengths[static_cast<std::size_t>(layer)] / std::sqrt(sum);
  for (double& x : row) x *= scale;
}

void fill_real_activations(RowDraw& d, Row row) {
  const std::span<const float> source = activation_row(static_cast<int>(d.own.below(kActivationRows)));
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = source[i % source.size()];
}

}  // namespace normfuzz
