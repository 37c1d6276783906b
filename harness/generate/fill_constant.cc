#include "harness/generate/fills.h"
#include "harness/generate/magnitude.h"

namespace normfuzz {
namespace {

// A positive constant: a small integer, an everyday number, any number whose squares stay in range, or any number of the type.
double draw_constant(Stream& s, DType d, int whole_range_percent) {
  if (s.chance(whole_range_percent)) return rounded(d, draw_magnitude(s, d, all_exponents(d)));
  switch (s.below(4)) {
    case 0:
      return static_cast<double>(s.between(1, 100));
    case 1:
      return draw_magnitude(s, d, safe_exponents(d));
    default:
      return draw_magnitude(s, d, {-4, d == DType::kF16 ? 14 : 17});
  }
}

}  // namespace

void fill_constant_row(RowDraw& d, Row row) {
  const double value = d.own.flip(draw_constant(d.own, d.dtype, 8));
  for (double& x : row) x = value;
}

// At most three units in the last place between the smallest and the largest element; never constant for two or more elements.
void fill_nearly_constant_row(RowDraw& d, Row row) {
  const double sign = d.own.flip(1), value = draw_constant(d.own, d.dtype, 0);
  double level[4];
  for (std::uint64_t i = 0; i < 4; ++i) level[i] = sign * ulps_above(d.dtype, value, i);
  const std::uint64_t levels = d.own.chance(75) ? 2 : 4;
  const bool single = d.own.chance(33);
  for (double& x : row) x = level[single ? 0 : d.own.below(levels)];
  if (row.size() < 2) return;
  const std::uint64_t odd = d.own.below(row.size());
  row[odd] = level[1];
  row[(odd + 1) % row.size()] = level[0];
}

void fill_one_feature(RowDraw& d, Row row) {
  for (double& x : row) x = d.own.flip(draw_constant(d.own, d.dtype, 40));
}

// Two elements decide everything about a row: opposite, neighbours, unrelated, one zero, or a fixed ratio.
void fill_two_features(RowDraw& d, Row row) {
  const double a = draw_constant(d.own, d.dtype, 0), sign = d.own.flip(1);
  const std::uint64_t kind = d.own.below(5);
  for (std::size_t i = 0; i < row.size(); ++i) {
    double x = a;
    if (i % 2 == 1) {
      switch (kind) {
        case 0:
          x = -a;
          break;
        case 1:
          x = ulps_above(d.dtype, a, d.own.between(1, 8));
          break;
        case 2:
          x = d.own.flip(draw_constant(d.own, d.dtype, 0));
          break;
        case 3:
          x = 0;
          break;
        default:
          x = d.own.flip(a * power_of_two(-static_cast<int>(d.own.between(1, d.format().precision))));
      }
    }
    row[i] = sign * x;
  }
}

// One chosen row is zero throughout, and every other one with probability 1/2; a quarter of the zero rows mixes both signs of zero.
void fill_zero_row(RowDraw& d, Row row) {
  const auto chosen = static_cast<std::int64_t>(d.shared.below(static_cast<std::uint64_t>(d.rows)));
  if (d.row != chosen && d.own.chance(50)) return fill_gaussian(d, row);
  const bool signs = d.own.chance(25);
  for (double& x : row) x = signs && d.own.chance(50) ? -0.0 : 0.0;
}

}  // namespace normfuzz
