#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/generate/fills.h"
#include "harness/generate/magnitude.h"
#include "harness/generate/rows.h"

namespace normfuzz {
namespace {

enum class Cotangent : std::uint8_t {
  kGaussian,
  kOnes,
  kConstant,    // dx of layer_norm vanishes for equal weights; dbias counts the rows
  kOneHot,      // one element of the tensor: what a gradient check asks for
  kOneHotRows,  // one element of each row
  kCancelRow,   // mean(g) vanishes
  kCancelRows,  // rows in pairs of opposite sign: dbias vanishes, and dweight for equal rows
  kWide,
  kFewBits,
  kAlongInput,  // dy along xhat: dx vanishes but for epsilon
  kAsInput,     // filled by the regime itself
  kZero,
};

Cotangent draw_kind(Stream& s) {
  const std::uint64_t p = s.below(100);
  if (p < 24) return Cotangent::kGaussian;
  if (p < 28) return Cotangent::kOnes;
  if (p < 34) return Cotangent::kConstant;
  if (p < 41) return Cotangent::kOneHot;
  if (p < 46) return Cotangent::kOneHotRows;
  if (p < 53) return Cotangent::kCancelRow;
  if (p < 60) return Cotangent::kCancelRows;
  if (p < 71) return Cotangent::kWide;
  if (p < 81) return Cotangent::kFewBits;
  if (p < 89) return Cotangent::kAlongInput;
  if (p < 98) return Cotangent::kAsInput;
  return Cotangent::kZero;
}

// (x - mean) over its largest magnitude, in plain double arithmetic from left to right; bell-shaped where there is none.
void along_input(RowDraw& d, std::span<const double> x, Row row) {
  double mean = 0, largest = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) largest = std::max(largest, std::fabs(v - mean));
  if (!(largest > 0) || !std::isfinite(largest) || !std::isfinite(mean)) return fill_gaussian(d, row);
  const double scale = draw_scale(d.own, d.dtype);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = scale * ((x[i] - mean) / largest);
}

void cancel_within(RowDraw& d, Row row) {
  fill_gaussian(d, row);
  const std::size_t n = row.size();
  if (n % 2 == 1) row[n - 1] = 0;
  for (std::size_t i = 0; i < n / 2; ++i) row[n / 2 + i] = -row[i];
}

void fill_cotangent(Cotangent kind, RowDraw& d, const Regime& regime, std::span<const double> x, Row row) {
  switch (kind) {
    case Cotangent::kOnes:
      return std::fill(row.begin(), row.end(), 1.0);
    case Cotangent::kConstant: {
      Stream common = d.shared;
      const double value = common.flip(draw_magnitude(common, d.dtype, {-6, 6}));
      return std::fill(row.begin(), row.end(), value);
    }
    case Cotangent::kOneHot:
    case Cotangent::kOneHotRows: {
      std::fill(row.begin(), row.end(), 0.0);
      Stream& s = kind == Cotangent::kOneHot ? d.shared : d.own;
      const std::uint64_t at = s.below(row.size());
      const auto chosen = static_cast<std::int64_t>(s.below(static_cast<std::uint64_t>(d.rows)));
      const double value = s.chance(60) ? 1 : s.flip(draw_magnitude(s, d.dtype, ordinary_exponents(d.dtype)));
      if (kind == Cotangent::kOneHotRows || d.row == chosen) row[at] = value;
      return;
    }
    case Cotangent::kCancelRow:
      return cancel_within(d, row);
    case Cotangent::kWide:
      return fill_wide_exponents(d, row);
    case Cotangent::kFewBits:
      return fill_few_bits(d, row);
    case Cotangent::kAlongInput:
      return along_input(d, x, row);
    case Cotangent::kAsInput:
      return regime.fill(d, row);
    case Cotangent::kZero:
      return std::fill(row.begin(), row.end(), 0.0);
    default:
      return fill_gaussian(d, row);
  }
}

}  // namespace

Tensor draw_cotangents(const Stream& s, const RowSetting& setting, const Tensor& x) {
  const auto& [dtype, g, regime, epsilon] = setting;
  Tensor t = Tensor::zeros(dtype, g.shape);
  const std::int64_t count = g.rows.rows();
  std::vector<double> input(static_cast<std::size_t>(g.rows.cols())), values(input.size());
  Stream choice = s.sub("kind"), special = s.sub("special");
  const Cotangent kind = draw_kind(choice);
  const std::int64_t poisoned = regime.info.name == "special_values" && kind != Cotangent::kAsInput && special.chance(35)
                                    ? static_cast<std::int64_t>(special.below(static_cast<std::uint64_t>(count)))
                                    : -1;
  const Stream rows = s.sub("rows"), shared = s.sub("shared");
  for (std::int64_t r = 0; r < count; ++r) {
    if (kind == Cotangent::kCancelRows && r % 2 == 1) {
      for (double& v : values) v = -v;
    } else {
      read_row(x, g.rows, r, input);
      RowDraw draw{rows.sub(static_cast<std::uint64_t>(r)), shared, dtype, epsilon, r, count};
      fill_cotangent(kind, draw, regime, input, values);
    }
    if (r == poisoned) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
      const std::uint64_t at = special.below(values.size());
      values[at] = special.pick({kNan, kInfinity, -kInfinity});
    }
    store_row(t, g.rows, r, values);
    if (r == poisoned) std::fill(values.begin(), values.end(), 1.0);  // its negative stands in no other row
  }
  // Rows in pairs, chosen rows: a broadcast would undo them.
  const bool related = kind == Cotangent::kCancelRows || kind == Cotangent::kOneHot || regime.rows_related;
  draw_row_layout(s.sub("layout"), t, g, !related);
  return t;
}

}  // namespace normfuzz
