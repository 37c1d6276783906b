#include "harness/shrink/edit.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "harness/generate/layout.h"
#include "oracles/ops/geometry.h"

namespace normfuzz {
namespace {

Tensor select(const Tensor& t, int axis, std::span<const std::int64_t> keep) {
  Tensor out = t;
  const auto a = static_cast<std::size_t>(axis);
  const bool was_dense = t.dense();
  out.shape[a] = static_cast<std::int64_t>(keep.size());
  out.data.resize(static_cast<std::size_t>(out.size()) * t.element_bytes());
  std::int64_t inner = 1, outer = 1;
  for (std::size_t i = 0; i < t.shape.size(); ++i) (i < a ? outer : inner) *= i == a ? 1 : t.shape[i];
  const auto block = static_cast<std::size_t>(inner) * t.element_bytes();
  std::byte* to = out.data.data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (const std::int64_t k : keep) {
      std::memcpy(to, &t.data[static_cast<std::size_t>(o * t.shape[a] + k) * block], block);
      to += block;
    }
  if (was_dense) out.strides = dense_strides(out.shape);
  return out;
}

// Of the kept channels: their groups.
std::int64_t groups_of(const Case& c, std::span<const std::int64_t> keep) {
  const std::int64_t members = main_input(c).shape[static_cast<std::size_t>(geometry::image_channel_axis(c))] / c.integer("groups", 1);
  std::set<std::int64_t> groups;
  for (const std::int64_t k : keep) groups.insert(k / members);
  const auto count = static_cast<std::int64_t>(groups.size());
  return count > 0 && static_cast<std::int64_t>(keep.size()) % count == 0 ? count : 1;
}

void erase_axis(Tensor& t, std::size_t axis) {
  t.shape.erase(t.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  t.strides.erase(t.strides.begin() + static_cast<std::ptrdiff_t>(axis));
}

}  // namespace

RowView view_of(const Case& c) { return find_op(c.op)->rows(c); }

Shape2 shape_of(const Case& c) {
  const RowView view = view_of(c);
  return {view.rows(), view.cols()};
}

RowView view_of(const Case& c, std::string_view row_input) { return row_input == "k" ? geometry::key_rows(c) : view_of(c); }

std::string main_name(const Case& c) { return geometry::first_input_name(c); }
const Tensor& main_input(const Case& c) { return geometry::first_input(c); }
bool is_row_input(std::string_view name) {
  return name == "x" || name == "residual" || name == "dy" || name == "a" || name == "b" || name == "q" || name == "k";
}

RowKind row_kind(const Case& c) {
  const auto rows = find_op(c.op)->rows;
  if (rows == geometry::group_rows || rows == geometry::instance_rows || rows == geometry::batch_rows) return RowKind::kGroups;
  if (rows == geometry::query_rows) return RowKind::kHeads;
  return rows == geometry::trailing_rows ? RowKind::kTrailing : rows == geometry::channel_rows ? RowKind::kChannels : RowKind::kAxis;
}

int row_axis(const Case& c) {
  switch (row_kind(c)) {
    case RowKind::kTrailing:
      return geometry::first_normalized_axis(c);
    case RowKind::kChannels:
      return geometry::channel_axis(c);
    case RowKind::kGroups:
      return geometry::image_channel_axis(c);
    case RowKind::kHeads:
      return 3;
    case RowKind::kAxis:
      break;
  }
  return geometry::reduced_axis(c);
}

Place place_of(const Case& c, std::string_view output, std::int64_t index) {
  const OpInfo& op = *find_op(c.op);
  if (op.shape == OutputShape::kRows) return {index, 0};
  if (op.shape == OutputShape::kUpdate || (op.shape == OutputShape::kGradients && output != "dx")) return {0, index};
  if (op.shape == OutputShape::kStatistics && output != "y") return {index, 0};
  const bool second = op.second_rows && output == op.outputs[1];
  const RowView view = second ? op.second_rows(c) : op.rows(c);
  const std::int64_t first = second ? op.rows(c).rows() : 0;
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i)
      if (view.index(r, i) == index) return {first + r, i};
  return {};
}

Case select(const Case& c, int axis, std::span<const std::int64_t> keep) {
  Case out = c;
  const RowKind kind = row_kind(c);
  const int first = row_axis(c);
  if (c.params.count("groups") && axis == first) out.params["groups"] = groups_of(c, keep);
  for (auto& [name, t] : out.inputs) {
    if (!t) continue;
    if (name == "k" && axis == 2) continue;
    if (is_row_input(name))
      t = select(*t, axis, keep);
    else if (kind == RowKind::kTrailing ? axis >= first : axis == first)
      t = select(*t, axis - first, keep);
  }
  return out;
}

Case select_key_heads(const Case& c, std::span<const std::int64_t> keep) { return with_input(c, "k", select(*c.input("k"), 2, keep)); }

std::vector<Form> forms_of(const Case& c) {
  if (row_kind(c) == RowKind::kAxis) return {Form::kRows, Form::kColumns};
  if (row_kind(c) != RowKind::kChannels) return {Form::kRows};
  return {Form::kRows, Form::kColumns, Form::kChannelsLast};
}

Form form_of(const Case& c) {
  if (row_kind(c) == RowKind::kTrailing || row_kind(c) == RowKind::kHeads) return Form::kRows;
  if (row_kind(c) == RowKind::kAxis) return row_axis(c) == main_input(c).rank() - 1 ? Form::kRows : Form::kColumns;
  if (row_kind(c) == RowKind::kGroups) return c.text("layout", "nchw") == "nhwc" ? Form::kChannelsLast : Form::kRows;
  if (main_input(c).rank() == 2) return Form::kRows;
  return c.text("layout", "nchw") == "nhwc" ? Form::kChannelsLast : Form::kColumns;
}

namespace {

// The plain form of groups; only parameters of the rows that are kept stay.
Case arranged_groups(const Case& c, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) {
  const RowView from = view_of(c);
  const auto r = static_cast<std::int64_t>(rows.size()), n = static_cast<std::int64_t>(cols.size());
  const bool groups = takes(c, "groups"), batch = find_op(c.op)->rows == geometry::batch_rows;
  Case out = c;
  out.params.erase("layout");
  if (groups) out.params["groups"] = r;
  for (auto& [name, t] : out.inputs) {
    if (!t) continue;
    const bool row_input = is_row_input(name), by_element = row_input || groups;
    std::vector<std::int64_t> shape = {by_element ? r * n : r};
    if (row_input && groups) shape = {1, r * n};
    if (row_input && !groups) shape = batch ? std::vector<std::int64_t>{n, r} : std::vector<std::int64_t>{1, r, n};
    Tensor fresh = Tensor::zeros(t->dtype, shape);
    for (std::int64_t i = 0; i < r; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t row = rows[static_cast<std::size_t>(i)], col = cols[static_cast<std::size_t>(j)];
        fresh.set_bits(!by_element ? i
                       : batch     ? j * r + i
                                   : i * n + j,
                       t->bits(row_input ? from.index(row, col) : from.parameter(row, col)));
      }
    t = std::move(fresh);
  }
  return out;
}

}  // namespace

// Rows of q as heads at one position; all of k beside them.
Case arranged_heads(const Case& c, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) {
  Case out = c;
  for (auto& [name, t] : out.inputs) {
    if (!t) continue;
    std::vector<std::int64_t> from(rows.begin(), rows.end());
    if (name == "k") {
      from.resize(static_cast<std::size_t>(view_of(c, name).rows()));
      std::iota(from.begin(), from.end(), 0);
    }
    if (!is_row_input(name)) from = {0};
    const auto r = static_cast<std::int64_t>(from.size()), n = static_cast<std::int64_t>(cols.size());
    Tensor fresh = Tensor::zeros(t->dtype, is_row_input(name) ? std::vector<std::int64_t>{1, 1, r, n} : std::vector<std::int64_t>{n});
    const RowView view = view_of(c, name);
    for (std::int64_t i = 0; i < r; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t col = cols[static_cast<std::size_t>(j)];
        fresh.set_bits(i * n + j, t->bits(is_row_input(name) ? view.index(from[static_cast<std::size_t>(i)], col) : col));
      }
    t = std::move(fresh);
  }
  return out;
}

Case arranged(const Case& c, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols, Form form) {
  if (row_kind(c) == RowKind::kHeads) return arranged_heads(c, rows, cols);
  if (row_kind(c) == RowKind::kGroups) return arranged_groups(c, rows, cols);
  const RowView from = view_of(c);
  const bool channels = row_kind(c) == RowKind::kChannels;
  const auto r = static_cast<std::int64_t>(rows.size()), n = static_cast<std::int64_t>(cols.size());
  std::vector<std::int64_t> shape = {r, n};
  if (form == Form::kColumns) shape = channels ? std::vector<std::int64_t>{1, n, 1, r} : std::vector<std::int64_t>{n, r};
  if (form == Form::kChannelsLast) shape = {1, 1, r, n};
  Case out = c;
  for (const char* name : {"normalized_axis", "axis", "layout"}) out.params.erase(name);
  if (form == Form::kChannelsLast) out.params["layout"] = std::string("nhwc");
  if (form == Form::kColumns && !channels) out.params["axis"] = std::int64_t{0};
  for (auto& [name, t] : out.inputs) {
    if (!t) continue;
    Tensor fresh = Tensor::zeros(t->dtype, is_row_input(name) ? shape : std::vector<std::int64_t>{n});
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t col = cols[static_cast<std::size_t>(j)];
      if (!is_row_input(name)) fresh.set_bits(j, t->bits(col));
      for (std::int64_t i = 0; is_row_input(name) && i < r; ++i)
        fresh.set_bits(form == Form::kColumns ? j * r + i : i * n + j, t->bits(from.index(rows[static_cast<std::size_t>(i)], col)));
    }
    t = std::move(fresh);
  }
  return out;
}

Case arranged(const Case& c, Form form) {
  const auto [rows, cols] = shape_of(c);
  std::vector<std::int64_t> every_row(static_cast<std::size_t>(rows)), every_col(static_cast<std::size_t>(cols));
  std::iota(every_row.begin(), every_row.end(), 0);
  std::iota(every_col.begin(), every_col.end(), 0);
  return arranged(c, every_row, every_col, form);
}

Case with_row(const Case& c, std::int64_t row, const std::vector<double>& values, Form form) {
  const std::int64_t have = shape_of(c).cols;
  std::vector<std::int64_t> cols(values.size());
  for (std::size_t i = 0; i < cols.size(); ++i) cols[i] = static_cast<std::int64_t>(i) % have;
  Case out = arranged(c, std::span(&row, 1), cols, form);
  set_values(*out.input(main_name(c)), 0, values);
  return out;
}

std::optional<Case> without_axis(const Case& c, int axis) {
  const Tensor& x = main_input(c);
  const RowKind kind = row_kind(c);
  const int first = row_axis(c), rank = x.rank();
  if (rank < 2 || x.shape[static_cast<std::size_t>(axis)] != 1) return std::nullopt;
  if (kind != RowKind::kTrailing && axis == first) return std::nullopt;
  if (kind == RowKind::kTrailing && axis == first && axis == rank - 1) return std::nullopt;
  // nchw of rank 5 loses a dimension of space, of rank 4 the batch; of rank 3 none.
  const int least_rank = find_op(c.op)->rows == geometry::instance_rows ? 3 : 2;
  if (kind == RowKind::kHeads || (kind == RowKind::kGroups && (axis == 0 || rank == least_rank))) return std::nullopt;
  const bool nchw = kind == RowKind::kChannels && first != rank - 1;
  if (nchw && (rank == 5 ? axis < first : rank == 4 ? axis > 0 : true)) return std::nullopt;
  Case out = c;
  for (auto& [name, t] : out.inputs) {
    if (!t) continue;
    if (is_row_input(name))
      erase_axis(*t, static_cast<std::size_t>(axis));
    else if (kind == RowKind::kTrailing && axis >= first)
      erase_axis(*t, static_cast<std::size_t>(axis - first));
  }
  if (kind == RowKind::kChannels || kind == RowKind::kGroups) return out;
  const char* parameter = kind == RowKind::kTrailing ? "normalized_axis" : "axis";
  const std::int64_t begin = axis < first ? first - 1 : first;
  if (begin == rank - 2)
    out.params.erase(parameter);
  else
    out.params[parameter] = begin - (rank - 1);
  return out;
}

std::vector<double> values_by_row(const Case& c, std::string_view name) {
  const RowView view = view_of(c, name);
  const Tensor& t = *c.input(name);
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(t.size()));
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i) out.push_back(t.value(view.index(r, i)));
  return out;
}

Case scaled(const Case& c, double factor) {
  Case out = c;
  for (const char* name : {"x", "a", "b", "residual", "q", "k"})
    if (Tensor* t = out.input(name)) *t = mapped(std::move(*t), [&](double v) { return v * factor; });
  return out;
}

Tensor cast(const Tensor& t, DType d) {
  Tensor out = Tensor::zeros(d, t.shape);
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) out.set_value(i, t.value(i));
  out.strides = t.strides;
  out.offset = t.offset;
  return out;
}

void set_values(Tensor& t, std::int64_t first, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) t.set_value(first + static_cast<std::int64_t>(i), values[i]);
  for (const std::int64_t s : t.strides)
    if (s == 0) return make_consistent(t);
}

Case with_input(Case c, std::string_view name, std::optional<Tensor> t) {
  c.set_input(name, std::move(t));
  return c;
}
Case with_epsilon(Case c, double epsilon) {
  c.params["epsilon"] = epsilon;
  return c;
}
Case without_param(Case c, const std::string& name) {
  c.params.erase(name);
  return c;
}

bool takes(const Case& c, std::string_view param) {
  const auto& params = find_op(c.op)->params;
  return std::find(params.begin(), params.end(), param) != params.end();
}

}  // namespace normfuzz
