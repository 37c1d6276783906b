#include "oracles/ops/geometry.h"

#include <algorithm>
#include <cmath>

namespace normfuzz::geometry {
namespace {

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string s = "[";
  for (const auto e : shape) s += (s.size() > 1 ? "," : "") + std::to_string(e);
  return s + "]";
}

// Elements may not overlap: sorted by stride, each stride clears what the smaller ones span.
bool addresses_once(const Tensor& t) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, extent
  for (int i = 0; i < t.rank(); ++i)
    if (t.shape[static_cast<std::size_t>(i)] > 1)
      axes.emplace_back(t.strides[static_cast<std::size_t>(i)], t.shape[static_cast<std::size_t>(i)]);
  std::sort(axes.begin(), axes.end());
  std::int64_t span = 1;
  for (const auto& [stride, extent] : axes) {
    if (stride < span) return false;
    span = stride * (extent - 1) + span;
  }
  return true;
}

// The named input has the shape `expected`, and the dtype of `like` unless that is null.
Status same_shape(const Case& c, std::string_view name, const std::vector<std::int64_t>& expected, std::string_view what,
                  const Tensor* like = nullptr) {
  const Tensor* t = c.input(name);
  if (!t) return Unit{};
  const std::string field = "inputs." + std::string(name);
  if (t->shape != expected)
    return Error{field + ".shape: " + text_of(t->shape) + ", expected " + std::string(what) + " " + text_of(expected)};
  if (like && t->dtype != like->dtype)
    return Error{field + ".dtype: " + std::string(name_of(t->dtype)) + ", expected " + std::string(name_of(like->dtype))};
  return Unit{};
}

Status validate_axis_parameter(const Case& c, const char* name, int rank) {
  const std::int64_t axis = c.integer(name, -1);
  if (axis >= -rank && axis < rank) return Unit{};
  return Error{"params." + std::string(name) + ": " + std::to_string(axis) + ", expected " + std::to_string(-rank) + " to " +
               std::to_string(rank - 1)};
}

// Weight, bias and cotangent against the rows of x, the weight offset and the learning rate.
Status validate_affine(const Case& c, const std::vector<std::int64_t>& row_shape, std::string_view what) {
  const Tensor& x = *c.input("x");
  for (const char* name : {"weight", "bias"})
    if (auto status = same_shape(c, name, row_shape, what); !status) return status;
  for (const char* name : {"dy", "residual"})
    if (auto status = same_shape(c, name, x.shape, "the shape of x", &x); !status) return status;
  const double offset = c.number("weight_offset", 0);
  if (offset != 0 && offset != 1) return Error{"params.weight_offset: expected 0 or 1"};
  if (offset != 0 && !c.input("weight")) return Error{"inputs.weight: null, expected a tensor because params.weight_offset is 1"};
  if (!representable(DType::kF32, c.number("learning_rate", 0)))
    return Error{"params.learning_rate: expected a finite number that float32 represents exactly"};
  return Unit{};
}

// Dimensions first .. end - 1 are the row; the others, in order, tell rows apart.
RowView rows_along(const Tensor& x, int first, int end) {
  const auto strides = dense_strides(x.shape), parameters = dense_strides({x.shape.begin() + first, x.shape.begin() + end});
  std::vector<Axis> outer, inner;
  for (int i = 0; i < x.rank(); ++i) {
    const Axis axis{x.shape[static_cast<std::size_t>(i)], strides[static_cast<std::size_t>(i)]};
    if (i >= first && i < end)
      inner.push_back({axis.extent, axis.stride, parameters[static_cast<std::size_t>(i - first)]});
    else
      outer.push_back(axis);
  }
  return {std::move(outer), std::move(inner)};
}

// The channels of [N, C, ...] or [N, ..., C] in groups: those that share a row, one after another, and the groups. `batch_in_row`: a row
// goes over the batch too. Of nhwc the channels of a group lie last.
RowView grouped_rows(const Case& c, std::int64_t groups, bool batch_in_row) {
  const Tensor& x = *c.input("x");
  const auto strides = dense_strides(x.shape);
  const auto channel = static_cast<std::size_t>(image_channel_axis(c));
  const std::int64_t per_group = x.shape[channel] / groups;
  std::vector<Axis> outer, inner;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i == channel) {
      outer.push_back({groups, per_group * strides[i], per_group});
      inner.push_back({per_group, strides[i], 1});
    } else {
      (i == 0 && !batch_in_row ? outer : inner).push_back({x.shape[i], strides[i]});
    }
  }
  return {std::move(outer), std::move(inner)};
}

Tensor layout_like(const Tensor& x) {
  Tensor y = Tensor::zeros(x.dtype, x.shape);
  if (addresses_once(x)) {
    y.strides = x.strides;
    y.offset = x.offset;
    y.misalign = x.misalign;
  }
  return y;
}

std::vector<std::int64_t> parameter_shape(const Case& c) {
  const Tensor& x = *c.input("x");
  const auto rows = find_op(c.op)->rows;
  if (rows == channel_rows) return {x.shape[static_cast<std::size_t>(channel_axis(c))]};
  if (rows == group_rows || rows == instance_rows || rows == batch_rows) return {x.shape[static_cast<std::size_t>(image_channel_axis(c))]};
  return {x.shape.begin() + first_normalized_axis(c), x.shape.end()};
}

// A parameter's gradient or update, dense.
Tensor like_weight(const Case& c) {
  const Tensor* weight = c.input("weight");
  return Tensor::zeros(weight ? weight->dtype : c.dtype(), parameter_shape(c));
}

}  // namespace

const char* first_input_name(const Case& c) { return c.input("x") ? "x" : c.input("q") ? "q" : "a"; }

const Tensor& first_input(const Case& c) { return *c.input(first_input_name(c)); }

int channel_axis(const Case& c) {
  const int rank = c.input("x")->rank();
  return c.text("layout", "nchw") == "nhwc" ? rank - 1 : rank == 3 ? 0 : 1;
}

int image_channel_axis(const Case& c) { return c.text("layout", "nchw") == "nhwc" ? c.input("x")->rank() - 1 : 1; }

int reduced_axis(const Case& c) {
  const auto axis = static_cast<int>(c.integer("axis", -1));
  return axis < 0 ? axis + first_input(c).rank() : axis;
}

int first_normalized_axis(const Case& c) {
  const auto axis = static_cast<int>(c.integer("normalized_axis", -1));
  return axis < 0 ? axis + c.input("x")->rank() : axis;
}

Status validate_trailing(const Case& c) {
  const Tensor& x = *c.input("x");
  if (x.rank() < 1) return Error{"inputs.x: a scalar, expected rank >= 1"};
  if (auto status = validate_axis_parameter(c, "normalized_axis", x.rank()); !status) return status;
  return validate_affine(c, {x.shape.begin() + first_normalized_axis(c), x.shape.end()}, "the normalized shape");
}

RowView trailing_rows(const Case& c) { return rows_along(*c.input("x"), first_normalized_axis(c), c.input("x")->rank()); }

Status validate_channels(const Case& c) {
  const Tensor& x = *c.input("x");
  if (x.rank() < 2 || x.rank() > 5)
    return Error{"inputs.x.shape: rank " + std::to_string(x.rank()) + ", expected 2 to 5 (" + c.text("layout", "nchw") + ")"};
  return validate_affine(c, {x.shape[static_cast<std::size_t>(channel_axis(c))]}, "the number of channels");
}

RowView channel_rows(const Case& c) { return rows_along(*c.input("x"), channel_axis(c), channel_axis(c) + 1); }

namespace {

Status validate_images(const Case& c, int least_rank) {
  const Tensor& x = *c.input("x");
  if (x.rank() < least_rank || x.rank() > 5)
    return Error{"inputs.x.shape: rank " + std::to_string(x.rank()) + ", expected " + std::to_string(least_rank) + " to 5 (" +
                 (c.text("layout", "nchw") == "nhwc" ? "batch, positions, channels)" : "batch, channels, positions)")};
  return validate_affine(c, {x.shape[static_cast<std::size_t>(image_channel_axis(c))]}, "the number of channels");
}

}  // namespace

Status validate_groups(const Case& c) {
  if (auto status = validate_images(c, 2); !status) return status;
  const std::int64_t channels = c.input("x")->shape[static_cast<std::size_t>(image_channel_axis(c))], groups = c.integer("groups", 0);
  if (groups >= 1 && channels % groups == 0) return Unit{};
  return Error{"params.groups: " + (c.params.count("groups") ? std::to_string(groups) : "missing") + ", expected a divisor of the " +
               std::to_string(channels) + " channels"};
}

RowView group_rows(const Case& c) { return grouped_rows(c, c.integer("groups", 1), false); }

Status validate_instances(const Case& c) { return validate_images(c, 3); }

RowView instance_rows(const Case& c) {
  return grouped_rows(c, c.input("x")->shape[static_cast<std::size_t>(image_channel_axis(c))], false);
}

namespace {

Status validate_running_statistics(const Case& c) {
  const Tensor *mean = c.input("running_mean"), *variance = c.input("running_var");
  const std::vector<std::int64_t> channels = {c.input("x")->shape[static_cast<std::size_t>(image_channel_axis(c))]};
  const bool training = c.integer("training", 0) == 1;
  if (!mean != !variance)
    return Error{std::string("inputs.") + (mean ? "running_var" : "running_mean") + ": null, expected both or neither"};
  if (!mean) return training ? Status(Unit{}) : Error{"inputs.running_mean: null, expected a tensor because params.training is 0"};
  if (auto status = same_shape(c, "running_mean", channels, "the number of channels"); !status) return status;
  if (auto status = same_shape(c, "running_var", channels, "the number of channels", mean); !status) return status;
  for (std::int64_t i = 0; i < variance->size(); ++i)
    if (variance->value(i) < 0) return Error{"inputs.running_var: a negative number, expected none below 0"};
  if (!training) return Unit{};
  if (!c.params.count("momentum") || !representable(DType::kF32, c.number("momentum", 0)))
    return Error{"params.momentum: expected a number from 0 to 1 that float32 represents exactly, the weight of the new statistics"};
  if (c.text("variance", "population") == "sample" && batch_rows(c).cols() < 2)
    return Error{"params.variance: sample of less than two numbers per channel"};
  return Unit{};
}

}  // namespace

Status validate_batch(const Case& c) {
  if (auto status = validate_images(c, 2); !status) return status;
  return validate_running_statistics(c);
}

Status validate_batch_gradient(const Case& c) { return validate_images(c, 2); }

RowView batch_rows(const Case& c) { return grouped_rows(c, c.input("x")->shape[static_cast<std::size_t>(image_channel_axis(c))], true); }

bool normalizes_by_running_statistics(const Case& c) {
  return find_op(c.op)->rows == batch_rows && !c.input("dy") && c.integer("training", 0) == 0;
}

Status validate_heads(const Case& c) {
  const Tensor &q = *c.input("q"), &k = *c.input("k");
  for (const auto& [name, t] : {std::pair{"q", &q}, {"k", &k}})
    if (t->rank() != 4)
      return Error{std::string("inputs.") + name + ".shape: rank " + std::to_string(t->rank()) +
                   ", expected 4 (batch, position, head, feature)"};
  std::vector<std::int64_t> like_q = q.shape;
  like_q[2] = k.shape[2];
  if (auto status = same_shape(c, "k", like_q, "q's shape but for the heads,", &q); !status) return status;
  for (const char* name : {"q_weight", "k_weight"})
    if (auto status = same_shape(c, name, {q.shape[3]}, "the features of a head"); !status) return status;
  return Unit{};
}

RowView query_rows(const Case& c) { return rows_along(*c.input("q"), 3, 4); }
RowView key_rows(const Case& c) { return rows_along(*c.input("k"), 3, 4); }

Status validate_axis(const Case& c) {
  const Tensor& x = first_input(c);
  if (x.rank() < 1) return Error{"inputs: a scalar, expected rank >= 1"};
  if (auto status = validate_axis_parameter(c, "axis", x.rank()); !status) return status;
  if (auto status = same_shape(c, "b", x.shape, "the shape of a", &x); !status) return status;
  const std::string mode = c.text("epsilon_mode", "none");
  if (mode == "none" && c.epsilon() != 0 && find_op(c.op)->formula != Formula::kRms)
    return Error{"params.epsilon: not 0 although params.epsilon_mode is none"};
  if (c.op == "cosine" && mode != "none" && mode != "max_norm")
    return Error{"params.epsilon_mode: " + mode + ", expected none or max_norm for cosine"};
  if ((mode == "add_inside" || mode == "max_square") && c.number("p", 2) != 2)
    return Error{"params.p: expected 2 because params.epsilon_mode is " + mode};
  return Unit{};
}

RowView axis_rows(const Case& c) { return rows_along(first_input(c), reduced_axis(c), reduced_axis(c) + 1); }

NamedTensors elements_like_input(const Case& c) {
  NamedTensors outputs;
  outputs.emplace_back("y", layout_like(first_input(c)));
  return outputs;
}

NamedTensors with_running_statistics(const Case& c) {
  NamedTensors outputs = elements_like_input(c);
  if (c.integer("training", 0) == 1 && c.input("running_mean"))
    for (const auto& [name, before] : {std::pair{"running_mean_new", "running_mean"}, {"running_var_new", "running_var"}})
      outputs.emplace_back(name, Tensor::zeros(c.input(before)->dtype, c.input(before)->shape));
  return outputs;
}

NamedTensors with_residual(const Case& c) {
  NamedTensors outputs = elements_like_input(c);
  outputs.emplace_back("residual_new", layout_like(*c.input("residual")));
  return outputs;
}

NamedTensors heads(const Case& c) {
  NamedTensors outputs;
  outputs.emplace_back("q_out", layout_like(*c.input("q")));
  outputs.emplace_back("k_out", layout_like(*c.input("k")));
  return outputs;
}

NamedTensors one_per_row(const Case& c) {
  const Tensor& x = first_input(c);
  std::vector<std::int64_t> shape = x.shape;
  shape.erase(shape.begin() + reduced_axis(c));
  NamedTensors outputs;
  outputs.emplace_back("y", Tensor::zeros(x.dtype, std::move(shape)));
  return outputs;
}

NamedTensors gradients(const Case& c) {
  NamedTensors outputs;
  outputs.emplace_back("dx", layout_like(*c.input("x")));
  for (const std::string_view name : find_op(c.op)->outputs)
    if (name != "dx" && c.input("weight")) outputs.emplace_back(name, like_weight(c));
  return outputs;
}

NamedTensors updated_parameters(const Case& c) {
  NamedTensors outputs;
  outputs.emplace_back("weight_new", like_weight(c));
  if (c.input("bias")) outputs.emplace_back("bias_new", like_weight(c));
  return outputs;
}

}  // namespace normfuzz::geometry
