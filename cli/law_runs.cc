#include "cli/law_runs.h"

#include <algorithm>

#include "oracles/ops/geometry.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

Tensor dense_copy(const Tensor& t) {
  Tensor dense = Tensor::zeros(t.dtype, t.shape);
  dense.data = t.data;
  return dense;
}

Case with_x(const Case& c, Tensor x) {
  Case related = c;
  related.set_input("x", std::move(x));
  return related;
}

Tensor row_alone(const Tensor& x, std::int64_t first_axis, const RowView& rows, std::int64_t row) {
  std::vector<std::int64_t> shape = x.shape;
  std::fill(shape.begin(), shape.begin() + first_axis, 1);
  Tensor alone = Tensor::zeros(x.dtype, shape);
  for (std::int64_t i = 0; i < rows.cols(); ++i) alone.set_bits(i, x.bits(rows.index(row, i)));
  return alone;
}

// Every element one empty place from the next.
Tensor spaced(const Tensor& x) {
  Tensor t = dense_copy(x);
  for (std::int64_t& stride : t.strides) stride *= 2;
  return t;
}

Tensor shifted(const Tensor& x) {
  Tensor t = x;
  const int bytes = format_of(x.dtype).bytes;
  t.misalign = t.misalign == bytes ? 0 : bytes;
  return t;
}

bool same_bits(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
  return a.bits(i) == b.bits(j) || (is_nan_bits(a.dtype, a.bits(i)) && is_nan_bits(b.dtype, b.bits(j)));
}

}  // namespace

std::vector<LawRun> law_runs(const Case& c) {
  const Tensor& x = *c.input("x");
  const RowView rows = find_op(c.op)->rows(c);
  std::vector<LawRun> runs;
  if (rows.rows() > 1) {
    const std::int64_t last = rows.rows() - 1;
    runs.push_back({"batch_invariance", with_x(c, row_alone(x, geometry::first_normalized_axis(c), rows, last)), last});
  }
  runs.push_back({"layout", with_x(c, x.dense() ? spaced(x) : dense_copy(x)), 0});
  runs.push_back({"alignment", with_x(c, shifted(x)), 0});
  return runs;
}

void note_law_run(const LawRun& run, const Outcome& base, const Outcome& related, const RowView& rows, GradeNotes& notes) {
  if (base.kind != OutcomeKind::kOk || related.kind != OutcomeKind::kOk || base.outputs.empty() || related.outputs.empty()) return;
  const Tensor &whole = base.outputs[0].second, &part = related.outputs[0].second;
  const std::int64_t part_rows = part.size() / rows.cols();
  LawCounts& counts = notes.laws[run.law];
  for (std::int64_t r = 0; r < part_rows; ++r) {
    bool equal = true;
    for (std::int64_t i = 0; i < rows.cols(); ++i)
      equal = equal && same_bits(whole, rows.index(run.first_row + r, i), part, r * rows.cols() + i);
    ++(equal ? counts.held : counts.broken);
  }
}

}  // namespace normfuzz
