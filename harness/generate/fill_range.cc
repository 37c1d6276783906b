#include <limits>

#include "harness/generate/fills.h"
#include "harness/generate/magnitude.h"

namespace normfuzz {

// The largest magnitude is at least 2^((emax+1)/2), whose square is 2^(emax+1) or more: beyond the type (f16: 256, f32 and bf16: 2^64, f64:
// 2^512).
void fill_overflow_of_squares(RowDraw& d, Row row) {
  const Exponents range{(d.format().max_exponent + 1) / 2, d.format().max_exponent};
  const double common = draw_magnitude(d.own, d.dtype, range);
  const std::uint64_t kind = d.own.below(4);
  for (double& x : row) {
    switch (kind) {
      case 0:
        x = d.own.flip(common);
        break;  // one magnitude, signs at random
      case 1:
        x = d.own.flip(draw_magnitude(d.own, d.dtype, range));
        break;  // any magnitude of the range
      case 2:
        x = d.own.flip(common * (0.5 + 0.5 * d.own.uniform()));
        break;  // one octave
      default:
        x = d.own.gaussian();  // one huge element below
    }
  }
  const std::uint64_t at = d.own.below(row.size());
  row[at] = d.own.flip(common);
  if (kind == 0 && row.size() == 2 && d.own.chance(50)) row[1] = -row[0];
}

// Every magnitude is below 2^(emin/2): its square is below the smallest normal number.
void fill_underflow_of_squares(RowDraw& d, Row row) {
  const Exponents range{all_exponents(d.dtype).lo, d.format().min_exponent / 2 - 1};
  const double common = draw_magnitude(d.own, d.dtype, range);
  const bool one_octave = d.own.chance(60);
  for (double& x : row) x = d.own.flip(one_octave ? common * (0.5 + 0.5 * d.own.uniform()) : draw_magnitude(d.own, d.dtype, range));
}

// Multiples of the smallest subnormal below the smallest normal number; a third of the rows takes the smallest ones only.
void fill_subnormals(RowDraw& d, Row row) {
  const std::uint64_t normal = std::uint64_t{1} << (d.format().precision - 1);
  const std::uint64_t count = d.own.chance(33) ? 4 : normal;
  for (double& x : row) x = d.own.flip(static_cast<double>(d.own.below(count)) * d.format().smallest_subnormal);
  const std::uint64_t at = d.own.below(row.size());
  row[at] = static_cast<double>(d.own.between(1, static_cast<std::int64_t>(normal) - 1)) * d.format().smallest_subnormal;
}

// Within two octaves of the largest finite number, which itself occurs; a third of the rows keeps one sign, so that plain sums overflow
// too.
void fill_near_max(RowDraw& d, Row row) {
  const Exponents range{d.format().max_exponent - 1, d.format().max_exponent};
  const bool one_sign = d.own.chance(33);
  for (double& x : row) {
    const double a = d.own.chance(20) ? d.format().max_finite : draw_magnitude(d.own, d.dtype, range);
    x = one_sign ? a : d.own.flip(a);
  }
}

// One chosen row gets special values in one place, two places or everywhere; all other rows are ordinary and must not notice.
void fill_special_values(RowDraw& d, Row row) {
  const auto chosen = static_cast<std::int64_t>(d.shared.below(static_cast<std::uint64_t>(d.rows)));
  fill_gaussian(d, row);
  if (d.row != chosen) return;
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t kind = d.own.below(5);
  const auto special = [&] {
    switch (kind) {
      case 0:
        return kNan;
      case 1:
        return kInfinity;
      case 2:
        return -kInfinity;
      case 3:
        return -0.0;
      default:
        return d.own.pick({kNan, kInfinity, -kInfinity, -0.0, d.format().max_finite});
    }
  };
  const std::uint64_t places = d.own.below(4);
  if (places == 3) {
    for (double& x : row) x = special();
  } else {
    for (std::uint64_t i = 0; i < places; ++i) {
      const std::uint64_t place = d.own.below(row.size());
      row[place] = special();
    }
  }
  const std::uint64_t at = d.own.below(row.size());
  row[at] = kind == 4 ? kNan : special();
}

}  // namespace normfuzz
