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

// Element offsets, in row-major order, of the given dimensions of a tensor.
inline std::vector<std::int64_t> offsets_of(const DLTensor& t, const std::vector<std::int32_t>& axes) {
  std::vector<std::int64_t> offsets{0};
  for (const std::int32_t axis : axes) {
    std::vector<std::int64_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(t.shape[axis]));
    for (const std::int64_t base : offsets)
      for (std::int64_t i = 0; i < t.shape[axis]; ++i) next.push_back(base + i * t.strides[axis]);
    offsets = std::move(next);
  }
  return offsets;
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
                                              "layer_norm_graph"};
  if (std::find(std::begin(kOps), std::end(kOps), call.op()) == std::end(kOps)) throw Unsupported("no kernel for this operator");
  call.require_known({"x", "weight", "bias", "dy", "a", "b"}, {"y", "dx", "dweight", "dbias", "weight_new", "bias_new"},
                     {"epsilon", "normalized_axis", "weight_offset", "layout", "axis", "p", "epsilon_mode", "learning_rate", "pattern"});
  if (!call.op().starts_with("rms_norm") && call.number("weight_offset", 0) != 0)
    throw Unsupported(std::string(call.op()) + " has no weight_offset");
}

// The dimensions of the first input that form a row, and those that tell rows apart, both in order.
struct RowAxes {
  std::vector<std::int32_t> outer, inner;

  RowAxes() = default;
  RowAxes(const TargetCall& call, std::int32_t rank) {
    const std::string_view op = call.op();
    std::int32_t first = 0, end = rank;
    if (op.starts_with("channel_")) {
      first = call.text("layout", "nchw") == "nhwc" ? rank - 1 : rank == 3 ? 0 : 1;
      end = first + 1;
    } else if (op.starts_with("layer_norm") || op.starts_with("rms_norm")) {
      first = call.normalized_begin(rank);
    } else {
      const std::int64_t axis = call.integer("axis", -1);
      first = static_cast<std::int32_t>(axis < 0 ? axis + rank : axis);
      end = first + 1;
    }
    if (first < 0 || end > rank) throw Rejected("the axis is no dimension of a tensor of rank " + std::to_string(rank));
    for (std::int32_t i = 0; i < rank; ++i) (i >= first && i < end ? inner : outer).push_back(i);
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
  axes.inner = all_axes(t);
  return {t, name, axes};
}

class RowCall {
 public:
  // Throws Unsupported or Rejected, with the reason.
  explicit RowCall(const TargetCall& call)
      : first_(call.input("x") ? call.required_input("x") : call.required_input("a")), axes_(call, first_.ndim), x_(first_, "x", axes_) {
    if (first_.ndim < 1) throw Rejected("x is a scalar, expected rank >= 1");
    storage = x_.dtype();
    epsilon = call.number("epsilon", 0);
    weight_offset = call.number("weight_offset", 0);
    p = call.number("p", 2);
    learning_rate = call.number("learning_rate", 0);
    pattern = graph_pattern_from_name(call.text("pattern", "exact"));
    epsilon_mode = epsilon_mode_from_name(call.text("epsilon_mode", "none"));
    for (const char* name : {"dy", "b"})
      if (const DLTensor* t = call.input(name)) {
        require_shape(*t, name, all_axes(first_));
        other_.emplace(*t, name, axes_);
      }
    weight = parameter(call, "weight", 1);
    bias = parameter(call, "bias", 0);
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
  RowInputs row(const double* x, const double* other) const {
    return {cols(), x, weight.data(), bias.data(), epsilon, weight_offset, other, p, epsilon_mode, learning_rate, pattern};
  }

  DType storage = DType::kF32;
  double epsilon = 0, weight_offset = 0, p = 2, learning_rate = 0;
  EpsilonMode epsilon_mode = EpsilonMode::kNone;
  GraphPattern pattern = GraphPattern::kExact;
  std::vector<double> weight, bias;  // one per column; ones and zeros when absent

 private:
  void require_shape(const DLTensor& t, const std::string& name, const std::vector<std::int32_t>& axes) const {
    bool same = t.ndim == static_cast<std::int32_t>(axes.size());
    for (std::int32_t i = 0; same && i < t.ndim; ++i) same = t.shape[i] == first_.shape[axes[static_cast<std::size_t>(i)]];
    if (!same) throw Rejected(name + ": shape differs from the input's, or from that of its rows");
  }

  std::vector<double> parameter(const TargetCall& call, const std::string& name, double absent) const {
    const DLTensor* t = call.input(name);
    if (t == nullptr) return std::vector<double>(static_cast<std::size_t>(cols()), absent);
    require_shape(*t, name, axes_.inner);
    const Rows values = as_one_row(*t, name);
    if (values.dtype() == DType::kF64 && storage != DType::kF64)
      throw Unsupported(name + " is f64 and x is not: accumulation in f32 would round it");
    std::vector<double> out(static_cast<std::size_t>(cols()));
    values.gather(0, out.data());
    return out;
  }

  const DLTensor& first_;
  RowAxes axes_;
  Rows x_;
  std::optional<Rows> other_;
};

}  // namespace normfuzz
