#include <cmath>
#include <limits>
#include <vector>

#include "harness/generate/layout.h"
#include "harness/generate/magnitude.h"
#include "harness/generate/rows.h"

namespace normfuzz {
namespace {

struct Moments {
  double mean = 0, variance = 1;
};

// Rounded, of a finite row; 0 and 1 of any other.
Moments moments_of(const std::vector<double>& row) {
  const auto n = static_cast<double>(row.size());
  double mean = 0, variance = 0;
  for (const double v : row) mean += v / n;
  for (const double v : row) variance += (v - mean) * (v - mean) / n;
  return std::isfinite(mean) && std::isfinite(variance) ? Moments{mean, variance} : Moments{};
}

}  // namespace

std::optional<Tensor> draw_running_statistic(const Stream& root, const RowSetting& setting, const Tensor& x, DType dtype, bool variance,
                                             bool training) {
  Stream s = root.sub("running");
  if (training && s.chance(25)) return std::nullopt;
  const RowView& rows = setting.geometry.rows;
  Tensor t = Tensor::zeros(dtype, {rows.rows()});
  const std::uint64_t common = s.below(100);
  std::vector<double> row(static_cast<std::size_t>(rows.cols()));
  for (std::int64_t r = 0; r < rows.rows(); ++r) {
    read_row(x, rows, r, row);
    const Moments own = moments_of(row);
    const double near = 1 + 0.1 * s.gaussian(), bell = s.gaussian(), spread = std::sqrt(own.variance),
                 wide = s.flip(draw_magnitude(s, dtype, {-14, 14}));
    const std::uint64_t kind = common < 80 ? common : s.below(80);  // one way for all channels, mostly
    double v = 0;
    if (kind < 20)
      v = variance ? own.variance : own.mean;
    else if (kind < 45)
      v = variance ? own.variance * std::fabs(near) : own.mean + 0.1 * spread * bell;
    else if (kind < 55)
      v = variance ? 1 : 0;
    else if (kind < 70)
      v = bell;
    else
      v = wide;
    t.set_value(r, nearest_finite(dtype, variance ? std::fabs(v) : v));
  }
  draw_parameter_layout(root.sub(variance ? "running variance layout" : "running mean layout"), t, false);
  return t;
}

}  // namespace normfuzz
