#include <cmath>
#include <limits>

#include "harness/generate/magnitude.h"
#include "harness/generate/rows.h"

namespace normfuzz {
namespace {

enum class Relation : std::uint8_t { kUnrelated, kNear, kEqual, kScaled, kNegated, kOrthogonal, kNearlyNegated };

Relation draw_relation(Stream& s) {
  const std::uint64_t p = s.below(100);
  if (p < 36) return Relation::kUnrelated;
  if (p < 53) return Relation::kNear;
  if (p < 60) return Relation::kEqual;
  if (p < 75) return Relation::kScaled;
  if (p < 82) return Relation::kNegated;
  if (p < 94) return Relation::kOrthogonal;
  return Relation::kNearlyNegated;
}

// v moved by `steps` units in the last place, kept finite; NaN and infinities stay.
double beside(DType d, double v, std::int64_t steps) {
  if (!std::isfinite(v)) return v;
  const auto largest = static_cast<std::int64_t>(bits_from_value(d, format_of(d).max_finite));
  const std::int64_t at = static_cast<std::int64_t>(bits_from_value(d, std::fabs(v))) + steps;
  if (at > largest) return v;
  const double moved = value_from_bits(d, static_cast<std::uint64_t>(at < 0 ? -at : at));
  return std::signbit(v) != (at < 0) ? -moved : moved;
}

// Turns a row of a into one of b. `unrelated` holds what the regime itself would put there.
void relate(Stream& s, DType d, Relation relation, std::span<const double> a, std::span<double> b) {
  const std::size_t n = a.size();
  switch (relation) {
    case Relation::kUnrelated:
      return;
    case Relation::kNear:
    case Relation::kNearlyNegated: {
      const std::int64_t reach = s.pick<std::int64_t>({1, 1, 3, 16});
      const bool one_place = s.chance(25);
      const std::size_t place = s.below(n);
      for (std::size_t i = 0; i < n; ++i) b[i] = one_place && i != place ? a[i] : beside(d, a[i], s.between(-reach, reach));
      if (relation == Relation::kNearlyNegated)
        for (double& v : b) v = -v;
      return;
    }
    case Relation::kScaled: {
      const double power = power_of_two(static_cast<int>(s.between(-6, 6))), any = s.log_uniform(-6, 5, format_of(d).precision);
      const double factor = s.flip(s.chance(50) ? power : any);
      for (std::size_t i = 0; i < n; ++i) {
        const double scaled = rounded(d, a[i] * factor);
        b[i] = std::isfinite(scaled) || !std::isfinite(a[i]) ? scaled : a[i];
      }
      return;
    }
    case Relation::kOrthogonal:  // pairs (u, v) against (-v, u): equal products of opposite sign
      for (std::size_t i = 0; i + 1 < n; i += 2) {
        b[i] = -a[i + 1];
        b[i + 1] = a[i];
      }
      if (n % 2 == 1) b[n - 1] = 0;
      return;
    default:
      for (std::size_t i = 0; i < n; ++i) b[i] = relation == Relation::kNegated ? -a[i] : a[i];
  }
}

}  // namespace

Tensor draw_second_rows(const Stream& s, const RowSetting& setting, const Tensor& a) {
  const auto& [dtype, g, regime, epsilon] = setting;
  Tensor t = Tensor::zeros(dtype, g.shape);
  std::vector<double> first(static_cast<std::size_t>(g.rows.cols())), second(first.size());
  const Stream rows = s.sub("rows"), shared = s.sub("shared"), relations = s.sub("relations");
  Stream common = s.sub("relation");
  const bool one_relation = common.chance(50);
  const Relation relation = draw_relation(common);
  for (std::int64_t r = 0; r < g.rows.rows(); ++r) {
    const auto number = static_cast<std::uint64_t>(r);
    read_row(a, g.rows, r, first);
    RowDraw draw{rows.sub(number), shared, dtype, epsilon, r, g.rows.rows()};
    regime.fill(draw, second);
    Stream own = relations.sub(number);
    const Relation drawn = draw_relation(own);
    relate(own, dtype, one_relation ? relation : drawn, first, second);
    for (double& v : second)  // a case stores one NaN
      if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
    store_row(t, g.rows, r, second);
  }
  draw_row_layout(s.sub("layout"), t, g, !regime.rows_related);
  return t;
}

}  // namespace normfuzz
