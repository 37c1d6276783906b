#include "cli/law_runs.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "harness/shrink/edit.h"
#include "oracles/ops/geometry.h"

namespace normfuzz {
namespace {

// The same call with every row input changed.
Case with_row_inputs(const Case& c, Tensor (*change)(const Tensor&)) {
  Case related = c;
  for (auto& [name, t] : related.inputs)
    if (t && is_row_input(name)) t = change(*t);
  return related;
}

// The last index of every dimension that tells rows apart; of groups the channels of the last one.
Case last_row_alone(const Case& c) {
  const int first = row_axis(c), rank = main_input(c).rank();
  Case alone = c;
  for (int axis = 0; axis < rank; ++axis) {
    if (row_kind(c) == RowKind::kTrailing ? axis >= first : axis == first) continue;
    const std::int64_t last = main_input(c).shape[static_cast<std::size_t>(axis)] - 1;
    if (row_kind(c) == RowKind::kGroups && (axis > 0 || find_op(c.op)->rows == geometry::batch_rows)) continue;
    alone = select(alone, axis, std::span(&last, 1));
  }
  if (row_kind(c) == RowKind::kGroups) {
    const std::int64_t channels = main_input(c).shape[static_cast<std::size_t>(first)];
    std::vector<std::int64_t> last(static_cast<std::size_t>(channels / c.integer("groups", channels)));
    std::iota(last.begin(), last.end(), channels - static_cast<std::int64_t>(last.size()));
    alone = select(alone, first, last);
  }
  return with_row_inputs(alone, [](const Tensor& t) { return dense(t); });
}

// Every element one empty place from the next; what is not dense becomes so.
Tensor other_layout(const Tensor& x) {
  Tensor t = dense(x);
  if (x.dense())
    for (std::int64_t& stride : t.strides) stride *= 2;
  return t;
}

Tensor shifted(const Tensor& x) {
  Tensor t = x;
  const int bytes = format_of(x.dtype).bytes;
  t.misalign = t.misalign == bytes ? 0 : bytes;
  return t;
}

constexpr int kThreads = 4;  // of the process that a single-threaded one is compared with

}  // namespace

std::vector<LawRun> law_runs(const Case& c) {
  std::vector<LawRun> runs;
  const std::int64_t rows = shape_of(c).rows;
  if (rows > 1 && find_op(c.op)->shape != OutputShape::kUpdate) runs.push_back({"batch_invariance", last_row_alone(c), rows - 1});
  runs.push_back({"layout", with_row_inputs(c, other_layout), 0});
  runs.push_back({"alignment", with_row_inputs(c, shifted), 0});
  runs.push_back({"thread_count", c, 0});
  runs.back().related.threads = kThreads;
  return runs;
}

void note_law_run(const LawRun& run, const Outcome& base, const Outcome& related, const CaseRows& rows, GradeNotes& notes) {
  if (base.kind != OutcomeKind::kOk || related.kind != OutcomeKind::kOk || base.outputs.empty()) return;
  if (base.outputs.size() != related.outputs.size()) return;
  const CaseRows parts = CaseRows::borrowing(run.related);
  LawCounts& counts = notes.laws[run.law];
  for (std::int64_t s = 0; s < parts.slices(); ++s) {
    if (parts.is_sums(s) && parts.rows() != rows.rows()) continue;  // sums over fewer rows
    bool equal = true;
    for (std::int64_t i = 0; i < parts.slice_size(s); ++i) {
      // The rows of a second output, and what there is one of per weight, lie behind as many other rows as the whole has.
      const std::int64_t slice = s < parts.view().rows() ? run.first_row + s : rows.rows() - parts.rows() + s;
      const OutputElement whole = rows.element(slice, i), part = parts.element(s, i);
      const auto output = static_cast<std::size_t>(part.output);
      equal = equal && same_bits(base.outputs[output].second, whole.index, related.outputs[output].second, part.index);
    }
    ++(equal ? counts.held : counts.broken);
  }
}

}  // namespace normfuzz
