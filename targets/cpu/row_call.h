// A call of an operator as kernels want it: rows gathered into dense buffers of exact doubles, results scattered through the outputs'
// strides. Shared by the in-tree targets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "normfuzz/target_call.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

inline DType dtype_of(const DLTensor& t, const std::string& name) {
  constexpr int kFloat = 2, kBfloat = 4;  // DLDataTypeCode
  if (t.dtype.lanes == 1 && t.dtype.code == kFloat) {
    if (t.dtype.bits == 64) return DType::kF64;
    if (t.dtype.bits == 32) return DType::kF32;
    if (t.dtype.bits == 16) return DType::kF16;
  }
  if (t.dtype.lanes == 1 && t.dtype.code == kBfloat && t.dtype.bits == 16) return DType::kBF16;
  throw Unsupported(name + ": no kernel for this element type, expected f64, f32, f16 or bf16");
}

// A dimension of a tensor, or the part of it that tells groups or their members apart: `extent` coordinates, `step` apart. The weight of an
// element lies parameter_step further per coordinate.
struct RowAxis {
  std::int32_t dimension;
  std::int64_t extent, step = 1, parameter_step = 0;
};

// Sums over the axes of coordinate times stride_of(axis), in row-major order.
template <class StrideOf>
std::vector<std::int64_t> offsets_of(const std::vector<RowAxis>& axes, StrideOf stride_of) {
  std::vector<std::int64_t> offsets{0};
  for (const RowAxis& axis : axes) {
    std::vector<std::int64_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(axis.extent));
    for (const std::int64_t base : offsets)
      for (std::int64_t i = 0; i < axis.extent; ++i) next.push_back(base + i * stride_of(axis));
    offsets = std::move(next);
  }
  return offsets;
}
inline std::vector<std::int64_t> offsets_of(const DLTensor& t, const std::vector<RowAxis>& axes) {
  return offsets_of(axes, [&](const RowAxis& axis) { return axis.step * t.strides[axis.dimension]; });
}

// Calls visit(load, store) with the accessors of one element of type `d` at an address.
template <class Visit>
void with_element_access(DType d, Visit visit) {
  switch (d) {
    case DType::kF64:
      return visit(
          [](const char* p) {
            double v;
            std::memcpy(&v, p, 8);
            return v;
          },
          [](char* p, double v) { std::memcpy(p, &v, 8); });
    case DType::kF32:
      return visit(
          [](const char* p) {
            float v;
            std::memcpy(&v, p, 4);
            return static_cast<double>(v);
          },
          [](char* p, double v) {
            const auto f = static_cast<float>(v);
            std::memcpy(p, &f, 4);
          });
    default:
      return visit([d](const char* p) { return load_value(d, p); }, [d](char* p, double v) { store_bits(d, p, bits_from_value(d, v)); });
  }
}

// The operators that have in-tree kernels, with every input, output and parameter that one of them knows. Throws Unsupported.
inline void require_row_op(const TargetCall& call) {
  static constexpr std::string_view kOps[] = {"layer_norm",
                                              "rms_norm",
                                              "channel_layer_norm",
                                              "layer_norm_backward",
                                              "rms_norm_backward",
                                              "channel_layer_norm_backward",
                                              "layer_norm_sgd",
                                              "rms_norm_sgd",
                                              "channel_layer_norm_sgd",
                                              "lp_norm",
                                              "rms",
                                              "distance",
                                              "cosine",
                                              "lp_normalize",
                                              "group_norm",
                                              "instance_norm",
                                              "batch_norm",
                                              "add_rms_norm",
                                              "qk_norm",
                                              "group_norm_backward",
                                              "instance_norm_backward",
                                              "batch_norm_backward",
                                              "layer_norm_graph"};
  if (std::find(std::begin(kOps), std::end(kOps), call.op()) == std::end(kOps)) throw Unsupported("no kernel for this operator");
  call.require_known(
      {"x", "weight", "bias", "dy", "a", "b", "residual", "running_mean", "running_var", "q", "k", "q_weight", "k_weight"},
      {"y", "dx", "dweight", "dbias", "weight_new", "bias_new", "residual_new", "running_mean_new", "running_var_new", "q_out", "k_out"},
      {"epsilon", "normalized_axis", "weight_offset", "layout", "axis", "p", "epsilon_mode", "learning_rate", "groups", "training",
       "momentum", "variance", "pattern"});
  if (!call.op().starts_with("rms_norm") && call.op() != "add_rms_norm" && call.number("weight_offset", 0) != 0)
    throw Unsupported(std::string(call.op()) + " has no weight_offset");
}

inline bool has_groups(std::string_view op) {
  return op.starts_with("group_norm") || op.starts_with("instance_norm") || op.starts_with("batch_norm");
}

// What of the first input forms a row, and what tells rows apart, both in order; and the dimensions that weight and bias have.
struct RowAxes {
  std::vector<RowAxis> outer, inner;
  std::vector<std::int32_t> parameters;

  RowAxes() = default;
  RowAxes(const TargetCall& call, const DLTensor& t) {
    const std::string_view op = call.op();
    const std::int32_t rank = t.ndim;
    if (has_groups(op)) {
      split_channels(call, t);
      return;
    }
    std::int32_t first = 0, end = rank;
    if (op.starts_with("channel_")) {
      first = call.text("layout", "nchw") == "nhwc" ? rank - 1 : rank == 3 ? 0 : 1;
      end = first + 1;
    } else if (op.starts_with("layer_norm") || op.starts_with("rms_norm") || op == "add_rms_norm" || op == "qk_norm") {
      first = call.normalized_begin(rank);
    } else {
      const std::int64_t axis = call.integer("axis", -1);
      first = static_cast<std::int32_t>(axis < 0 ? axis + rank : axis);
      end = first + 1;
    }
    if (first < 0 || end > rank) throw Rejected("the axis is no dimension of a tensor of rank " + std::to_string(rank));
    std::int64_t parameter_step = 1;
    for (std::int32_t i = end; i-- > first; parameter_step *= t.shape[i]) inner.insert(inner.begin(), {i, t.shape[i], 1, parameter_step});
    for (std::int32_t i = 0; i < rank; ++i) {
      if (i >= first && i < end)
        parameters.push_back(i);
      else
        outer.push_back({i, t.shape[i]});
    }
  }

 private:
  // Rows of a batch of images: consecutive channels with their positions.
  void split_channels(const TargetCall& call, const DLTensor& t) {
    if (t.ndim < 2) throw Rejected("x has no channels, expected rank >= 2");
    const std::int32_t channel = call.text("layout", "nchw") == "nhwc" ? t.ndim - 1 : 1;
    const std::int64_t channels = t.shape[channel], groups = call.op().starts_with("group_norm") ? call.integer("groups", 0) : channels;
    if (groups < 1 || channels % groups != 0) throw Rejected("groups is no divisor of the channels");
    const std::int64_t members = channels / groups;
    outer = {{channel, groups, members, members}};
    inner = {{channel, members, 1, 1}};
    std::vector<RowAxis>& with_batch = call.op().starts_with("batch_norm") ? inner : outer;
    with_batch.insert(with_batch.begin(), {0, t.shape[0]});
    for (std::int32_t i = 1; i < t.ndim; ++i)
      if (i != channel) inner.push_back({i, t.shape[i]});
    parameters = {channel};
  }
};

// A strided tensor read or written row by row.
class Rows {
 public:
  Rows(const DLTensor& t, const std::string& name, const RowAxes& axes)
      : tensor_(&t), dtype_(dtype_of(t, name)), rows_(offsets_of(t, axes.outer)), cols_(offsets_of(t, axes.inner)) {}
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t cols() const { return static_cast<std::int64_t>(cols_.size()); }
  DType dtype() const { return dtype_; }

  void gather(std::int64_t row, double* out) const {
    const char* base = address(row);
    with_element_access(dtype_, [&](auto load, auto) {
      for (const std::int64_t offset : cols_) *out++ = load(base + offset * item());
    });
  }
  // `values` as computed; the rounding to the storage type happens here.
  template <class T>
  void scatter(std::int64_t row, const T* values) const {
    char* base = address(row);
    with_element_access(dtype_, [&](auto, auto store) {
      for (const std::int64_t offset : cols_) store(base + offset * item(), static_cast<double>(*values++));
    });
  }

 private:
  std::int64_t item() const { return format_of(dtype_).bytes; }
  char* address(std::int64_t row) const {
    return static_cast<char*>(tensor_data(*tensor_)) + rows_[static_cast<std::size_t>(row)] * item();
  }

  const DLTensor* tensor_;
  DType dtype_;
  std::vector<std::int64_t> rows_, cols_;
};

inline std::vector<std::int32_t> all_axes(const DLTensor& t) {
  std::vector<std::int32_t> axes;
  for (std::int32_t i = 0; i < t.ndim; ++i) axes.push_back(i);
  return axes;
}

// A dense or strided tensor as one row: a parameter, or the numbers that an op computes one per row.
inline Rows as_one_row(const DLTensor& t, const std::string& name) {
  RowAxes axes = {};
  for (const std::int32_t i : all_axes(t)) axes.inner.push_back({i, t.shape[i]});
  return {t, name, axes};
}

class RowCall {
 public:
  // Throws Unsupported or Rejected, with the reason.
  explicit RowCall(const TargetCall& call) : RowCall(call, call.input("x") ? "x" : "a", "weight") {}
  RowCall(const TargetCall& call, const char* input, const char* weight_name)
      : first_(call.required_input(input)), axes_(call, first_), x_(first_, input, axes_) {
    if (first_.ndim < 1) throw Rejected("x is a scalar, expected rank >= 1");
    const auto parameter_step = [](const RowAxis& axis) { return axis.parameter_step; };
    first_parameter_ = offsets_of(axes_.outer, parameter_step);
    parameter_ = offsets_of(axes_.inner, parameter_step);
    storage = x_.dtype();
    epsilon = call.number("epsilon", 0);
    weight_offset = call.number("weight_offset", 0);
    p = call.number("p", 2);
    learning_rate = call.number("learning_rate", 0);
    pattern = graph_pattern_from_name(call.text("pattern", "exact"));
    epsilon_mode = epsilon_mode_from_name(call.text("epsilon_mode", "none"));
    for (const char* name : {"dy", "b", "residual"})
      if (const DLTensor* t = call.input(name)) {
        require_shape(*t, name, all_axes(first_));
        other_.emplace(*t, name, axes_);
      }
    weight = parameter(call, weight_name, 1);
    bias = parameter(call, "bias", 0);
    if (!parameters_by_column())
      for (auto* v : {&weight_row_, &bias_row_}) v->resize(static_cast<std::size_t>(cols()));
    given_moments = call.op() == "batch_norm" && call.integer("training", 0) == 0;
    if (given_moments || call.input("running_mean") != nullptr) {
      if (call.input("running_mean") == nullptr || call.input("running_var") == nullptr) throw Rejected("running statistics are missing");
      running_mean = parameter(call, "running_mean", 0);
      running_variance = parameter(call, "running_var", 1);
      momentum = call.number("momentum", 0);
      sample_variance = call.text("variance", "population") == "sample";
    }
    if (weight_offset != 0 && call.input("weight") == nullptr) throw Rejected("weight_offset without a weight");
  }

  std::int64_t rows() const { return x_.rows(); }
  std::int64_t cols() const { return x_.cols(); }
  bool has_other() const { return other_.has_value(); }

  void gather(std::int64_t row, double* out) const { x_.gather(row, out); }
  void gather_other(std::int64_t row, double* out) const { other_->gather(row, out); }
  // An output of the first input's shape.
  Rows elements(const TargetCall& call, const std::string& name) const {
    const DLTensor& t = call.required_output(name);
    require_shape(t, name, all_axes(first_));
    if (!same_dtype(first_, t)) throw Unsupported(name + " has another element type than the input");
    return {t, name, axes_};
  }
  // The weight and bias of an element of a row.
  std::int64_t parameter(std::int64_t row, std::int64_t col) const {
    return first_parameter_[static_cast<std::size_t>(row)] + parameter_[static_cast<std::size_t>(col)];
  }
  // Weight and bias of a row are valid until the next call.
  RowInputs row(std::int64_t r, const double* x, const double* other) const {
    for (std::size_t i = 0; i < weight_row_.size(); ++i) {
      const auto at = static_cast<std::size_t>(parameter(r, static_cast<std::int64_t>(i)));
      weight_row_[i] = weight[at];
      bias_row_[i] = bias[at];
    }
    const auto of_row = [&](const std::vector<double>& all, const std::vector<double>& own) {
      return own.empty() ? all.data() : own.data();
    };
    RowInputs row{cols(),       x, of_row(weight, weight_row_), of_row(bias, bias_row_), epsilon, weight_offset, other, p, epsilon_mode,
                  learning_rate};
    row.pattern = pattern;
    row.given_moments = given_moments;
    row.sample_variance = sample_variance;
    row.momentum = momentum;
    if (!running_mean.empty()) {
      row.mean = running_mean[static_cast<std::size_t>(parameter(r, 0))];
      row.variance = running_variance[static_cast<std::size_t>(parameter(r, 0))];
    }
    return row;
  }

  DType storage = DType::kF32;
  double epsilon = 0, weight_offset = 0, p = 2, learning_rate = 0;
  EpsilonMode epsilon_mode = EpsilonMode::kNone;
  GraphPattern pattern = GraphPattern::kExact;
  bool given_moments = false, sample_variance = false;  // of batch_norm
  double momentum = 0;
  std::vector<double> running_mean, running_variance;  // by parameter(); empty when absent
  std::vector<double> weight, bias;                    // by parameter(); ones and zeros when absent

 private:
  // Every row takes the weights 0, 1, .. in this order.
  bool parameters_by_column() const {
    for (std::size_t i = 0; i < parameter_.size(); ++i)
      if (parameter_[i] != static_cast<std::int64_t>(i)) return false;
    return std::all_of(first_parameter_.begin(), first_parameter_.end(), [](std::int64_t first) { return first == 0; });
  }
  void require_shape(const DLTensor& t, const std::string& name, const std::vector<std::int32_t>& axes) const {
    bool same = t.ndim == static_cast<std::int32_t>(axes.size());
    for (std::int32_t i = 0; same && i < t.ndim; ++i) same = t.shape[i] == first_.shape[axes[static_cast<std::size_t>(i)]];
    if (!same) throw Rejected(name + ": shape differs from the input's, or from that of its rows");
  }

  std::vector<double> parameter(const TargetCall& call, const std::string& name, double absent) const {
    const DLTensor* t = call.input(name);
    std::int64_t count = 1;
    for (const std::int32_t i : axes_.parameters) count *= first_.shape[i];
    if (t == nullptr) return std::vector<double>(static_cast<std::size_t>(count), absent);
    require_shape(*t, name, axes_.parameters);
    const Rows values = as_one_row(*t, name);
    if (values.dtype() == DType::kF64 && storage != DType::kF64)
      throw Unsupported(name + " is f64 and x is not: accumulation in f32 would round it");
    std::vector<double> out(static_cast<std::size_t>(count));
    values.gather(0, out.data());
    return out;
  }

  const DLTensor& first_;
  RowAxes axes_;
  Rows x_;
  std::optional<Rows> other_;
  std::vector<std::int64_t> first_parameter_, parameter_;  // of a row, and of an element in it
  mutable std::vector<double> weight_row_, bias_row_;      // of the row handed out last; empty where every row takes `weight` itself
};

}  // namespace normfuzz
