// Edits of a case that keep it valid, whatever its op: what the shrinker's passes and the explainer's ablations are made of.
// Row inputs (x, residual, dy, a, b) have the same shape and are edited alike; weight and bias have the shape of a row, or one element per
// channel. Of q and k, which may have different numbers of heads, q is the one whose rows are counted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "core/row_view.h"

namespace normfuzz {

// Rows that share a statistic and elements per row, of the row inputs.
struct Shape2 {
  std::int64_t rows, cols;
};
Shape2 shape_of(const Case& c);
RowView view_of(const Case& c);

// "x", or "a" of distance and cosine: the input whose statistics are taken.
std::string main_name(const Case& c);
const Tensor& main_input(const Case& c);
bool is_row_input(std::string_view name);
// The rows of a row input: those of k are its own.
RowView view_of(const Case& c, std::string_view row_input);

// What the elements of a row are: trailing dimensions, the channels, one axis; channels of a batch of images with their positions
// (batch_norm: of the whole batch); one head of queries.
enum class RowKind : std::uint8_t { kTrailing, kChannels, kAxis, kGroups, kHeads };
RowKind row_kind(const Case& c);
// The dimension that a row lies along; of kTrailing the first of them; of kGroups that of the channels.
int row_axis(const Case& c);

// An element of an output by row and column; of a sum over all rows: row 0.
struct Place {
  std::int64_t row = 0, col = 0;
};
Place place_of(const Case& c, std::string_view output, std::int64_t index);

// Keeps the given indices of one dimension of the row inputs, in every input that has it; strides and offsets stay. Of channels in groups,
// as many groups stay as the kept ones come from, if they still divide them.
Case select(const Case& c, int axis, std::span<const std::int64_t> keep);

// How a few rows lie in a tensor. Of kRows: [rows, cols]. Of kColumns: one axis as [cols, rows] along axis 0, channels as
// [1, cols, 1, rows] in nchw. Of kChannelsLast: channels as [1, 1, rows, cols] in nhwc. Groups have one plain form, kRows: one sample whose
// groups are the rows, of one position (instance_norm: whose channels are; batch_norm: the channels of as many samples as there are
// columns). Heads: [1, 1, rows, cols], with all of k.
enum class Form : std::uint8_t { kRows, kColumns, kChannelsLast };
std::vector<Form> forms_of(const Case& c);  // that its op has
Form form_of(const Case& c);                // nearest to the case's own

// A new call, all inputs dense: row i is row rows[i] of this case, column j column cols[j].
Case arranged(const Case& c, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols, Form form);
Case arranged(const Case& c, Form form);  // all of them
// One row with these values of the main input; the other inputs are those of row `row`, cut or repeated.
Case with_row(const Case& c, std::int64_t row, const std::vector<double>& values, Form form);

// Keeps the given heads of k.
Case select_key_heads(const Case& c, std::span<const std::int64_t> keep);

// Without one dimension of the row inputs; empty if that would be another row, or its extent is not 1.
std::optional<Case> without_axis(const Case& c, int axis);

Tensor cast(const Tensor& t, DType d);

// Values replaced from `first` on; elements that share a place in memory (stride 0) stay equal.
void set_values(Tensor& t, std::int64_t first, std::span<const double> values);
// Every value replaced.
template <class F>
Tensor mapped(Tensor t, F f) {
  std::vector<double> v = t.values();
  for (double& e : v) e = f(e);
  set_values(t, 0, v);
  return t;
}
// Every row of a row input changed in place: change(values, cols).
template <class F>
Case with_each_row(const Case& c, const std::string& name, F change) {
  const RowView view = view_of(c, name);
  Case out = c;
  Tensor& t = *out.input(name);
  std::vector<double> v(static_cast<std::size_t>(view.cols()));
  for (std::int64_t r = 0; r < view.rows(); ++r) {
    for (std::int64_t i = 0; i < view.cols(); ++i) v[static_cast<std::size_t>(i)] = t.value(view.index(r, i));
    change(v.data(), view.cols());
    for (std::int64_t i = 0; i < view.cols(); ++i) t.set_value(view.index(r, i), v[static_cast<std::size_t>(i)]);
  }
  set_values(t, 0, {});
  return out;
}
// The elements of a row input, row by row.
std::vector<double> values_by_row(const Case& c, std::string_view name);
// x, or both a and b, times a factor.
Case scaled(const Case& c, double factor);

Case with_input(Case c, std::string_view name, std::optional<Tensor> t);
Case with_epsilon(Case c, double epsilon);
Case without_param(Case c, const std::string& name);
// True if the op of the case takes the parameter.
bool takes(const Case& c, std::string_view param);

}  // namespace normfuzz
