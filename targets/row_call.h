// layer_norm, rms_norm and their gradients, read from a call for a device: checked, laid out in a DeviceImage, dimensions merged.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "normfuzz/target_call.h"
#include "targets/device_image.h"
#include "targets/row_task.h"

namespace normfuzz {

inline ElementType element_type(const DLTensor& tensor, const char* name) {
  constexpr int kFloat = 2, kBfloat = 4;  // DLDataTypeCode
  const DLDataType& type = tensor.dtype;
  if (type.lanes == 1 && type.code == kFloat && type.bits == 64) return kFloat64;
  if (type.lanes == 1 && type.code == kFloat && type.bits == 32) return kFloat32;
  if (type.lanes == 1 && type.code == kFloat && type.bits == 16) return kFloat16;
  if (type.lanes == 1 && type.code == kBfloat && type.bits == 16) return kBfloat16;
  throw Unsupported(std::string(name) + ": no kernel for this element type, expected f64, f32, f16 or bf16");
}

class DeviceRowCall {
 public:
  // Throws Unsupported or Rejected, with the reason. Bytes [0, header) of the image are left for the caller.
  DeviceRowCall(const TargetCall& call, size_t header) : image(header) {
    rms = call.op() == "rms_norm" || call.op() == "rms_norm_backward";
    backward = call.op() == "layer_norm_backward" || call.op() == "rms_norm_backward";
    if (!rms && !backward && call.op() != "layer_norm") throw Unsupported("no kernel for this operator");
    if (backward)
      call.require_known({"x", "dy", "weight"}, {"dx", "dweight", "dbias"}, {"epsilon", "normalized_axis", "weight_offset"});
    else
      call.require_known({"x", "weight", "bias"}, {"y"}, {"epsilon", "normalized_axis", "weight_offset"});
    epsilon = call.number("epsilon", 1e-5);
    weight_offset = call.number("weight_offset", 0);
    if (weight_offset != 0 && !rms) throw Unsupported("layer_norm has no weight_offset");
    if (weight_offset != 0 && call.input("weight") == nullptr) throw Rejected("weight_offset without a weight");

    const DLTensor& x = call.required_input("x");
    if (x.ndim < 1) throw Rejected("x is a scalar, expected rank >= 1");
    type = element_type(x, "x");
    begin_ = call.normalized_begin(x.ndim);
    item_size_of_statistics = type == kFloat64 ? 8 : 4;
    add_rows(x, x, "x", task.x);
    if (backward) add_rows(call.required_input("dy"), x, "dy", task.dy);
    add_parameter(call.input("weight"), x, "weight", task.weight);
    add_parameter(call.input("bias"), x, "bias", task.bias);
    add_rows(call.required_output(backward ? "dx" : "y"), x, backward ? "dx" : "y", task.result);
    add_parameter(call.output("dweight"), x, "dweight", task.dweight);
    add_parameter(call.output("dbias"), x, "dbias", task.dbias);
    merge_dimensions(x);
    if (task.rows == 0 || task.cols == 0) throw Unsupported("an empty tensor");
    task.statistics_offset = image.add_scratch(static_cast<size_t>(2 * task.rows * item_size_of_statistics));
    image.close();
  }

  DeviceImage image;
  RowTask task{};
  ElementType type = kFloat32;  // of x, dy and the result
  bool rms = false, backward = false;
  double epsilon = 0, weight_offset = 0;
  int64_t item_size_of_statistics = 4;

 private:
  struct Operand {
    const DLTensor* tensor;
    int32_t first_dimension;  // of x's, that is the tensor's dimension 0
    TaskTensor* out;
  };

  // Of x's shape and type.
  void add_rows(const DLTensor& tensor, const DLTensor& x, const char* name, TaskTensor& out) {
    if (!same_dtype(tensor, x)) throw Unsupported(std::string(name) + " has another element type than x");
    add_operand(tensor, x, name, 0, out);
  }

  void add_operand(const DLTensor& tensor, const DLTensor& x, const char* name, int32_t first_dimension, TaskTensor& out) {
    bool same = tensor.ndim == x.ndim - first_dimension;
    for (int32_t i = 0; same && i < tensor.ndim; ++i) same = tensor.shape[i] == x.shape[first_dimension + i];
    if (!same) throw Rejected(std::string(name) + ": shape differs from x's, or from that of its rows");
    out.type = element_type(tensor, name);
    if (out.type == kFloat64 && type != kFloat64)
      throw Unsupported(std::string(name) + " is f64 and x is not: accumulation in f32 would round it");
    for (int32_t i = 0; i < tensor.ndim; ++i)
      if (tensor.shape[i] == 0) throw Unsupported("an empty tensor");
    out.offset = image.add(tensor, name);
    operands_.push_back({&tensor, first_dimension, &out});
  }

  void add_parameter(const DLTensor* tensor, const DLTensor& x, const char* name, TaskTensor& out) {
    out.offset = -1;
    out.type = type;
    if (tensor != nullptr) add_operand(*tensor, x, name, begin_, out);
  }

  static int64_t stride(const Operand& o, int32_t dimension) {
    return dimension < o.first_dimension ? 0 : o.tensor->strides[dimension - o.first_dimension];
  }

  // Dimensions [begin, end) of x: those of size 1 left out, neighbours merged where one stride reaches both in every tensor.
  int32_t merge(const DLTensor& x, int32_t begin, int32_t end, int64_t* shape, int64_t (TaskTensor::*strides)[kMaxTaskDims]) {
    int32_t rank = 0;
    for (int32_t i = begin; i < end; ++i) {
      if (x.shape[i] == 1) continue;
      bool mergeable = rank > 0;
      for (const Operand& o : operands_)
        if (mergeable) mergeable = (o.out->*strides)[rank - 1] == stride(o, i) * x.shape[i];
      if (!mergeable && rank == kMaxTaskDims) throw Unsupported("more than 4 dimensions that no common stride merges");
      if (!mergeable) shape[rank++] = 1;
      shape[rank - 1] *= x.shape[i];
      for (const Operand& o : operands_) (o.out->*strides)[rank - 1] = stride(o, i);
    }
    return rank;
  }

  void merge_dimensions(const DLTensor& x) {
    task.outer_rank = merge(x, 0, begin_, task.outer_shape, &TaskTensor::outer_stride);
    task.inner_rank = merge(x, begin_, x.ndim, task.inner_shape, &TaskTensor::inner_stride);
    task.rows = task.cols = 1;
    for (int32_t i = 0; i < task.outer_rank; ++i) task.rows *= task.outer_shape[i];
    for (int32_t i = 0; i < task.inner_rank; ++i) task.cols *= task.inner_shape[i];
    for (const Operand& o : operands_)
      o.out->contiguous = task.inner_rank == 0 || (task.inner_rank == 1 && o.out->inner_stride[0] == 1) ? 1 : 0;
  }

  int32_t begin_ = 0;  // first normalized dimension
  std::vector<Operand> operands_;
};

}  // namespace normfuzz
