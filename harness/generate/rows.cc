#include "harness/generate/rows.h"

#include "harness/generate/layout.h"
#include "harness/generate/store.h"

namespace normfuzz {

void store_row(Tensor& t, const RowView& rows, std::int64_t row, std::span<const double> values) {
  if (rows.contiguous()) return store_values(t, rows.index(row, 0), values);
  for (std::size_t i = 0; i < values.size(); ++i) t.set_value(rows.index(row, static_cast<std::int64_t>(i)), values[i]);
}

void read_row(const Tensor& t, const RowView& rows, std::int64_t row, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = t.value(rows.index(row, static_cast<std::int64_t>(i)));
}

void draw_row_layout(Stream s, Tensor& t, const Geometry& g, bool may_broadcast) {
  if (g.memory_order.empty()) {
    draw_layout(s, t, g.leading, may_broadcast);
    return make_consistent(t);
  }
  std::int64_t stride = 1;
  for (const std::size_t axis : g.memory_order) {
    t.strides[axis] = stride;
    stride *= t.shape[axis];
  }
}

Tensor draw_rows(const Stream& s, const RowSetting& setting) {
  const auto& [dtype, g, regime, epsilon] = setting;
  Tensor t = Tensor::zeros(dtype, g.shape);
  // Some cases say one row several times: equal rows must give equal outputs whatever their place.
  const bool repeat = !regime.rows_related && s.sub("repeat").chance(4);
  std::vector<double> values(static_cast<std::size_t>(g.rows.cols()));
  const Stream rows = s.sub("rows"), shared = s.sub("shared");
  for (std::int64_t r = 0; r < g.rows.rows(); ++r) {
    if (r == 0 || !repeat) {
      RowDraw draw{rows.sub(static_cast<std::uint64_t>(r)), shared, dtype, epsilon, r, g.rows.rows()};
      regime.fill(draw, values);
    }
    store_row(t, g.rows, r, values);
  }
  draw_row_layout(s.sub("layout"), t, g, !regime.rows_related);
  return t;
}

}  // namespace normfuzz
