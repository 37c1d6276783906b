// A call of a row-wise normalization (layer_norm, rms_norm) as kernels want it: rows gathered into a dense buffer of exact doubles, results
// scattered through y's strides. Shared by the in-tree targets.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "normfuzz/target_call.h"

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

// Element offsets, in row-major order, of dimensions begin..end of a tensor.
inline std::vector<std::int64_t> offsets_of(const DLTensor& t, std::int32_t begin, std::int32_t end) {
  std::vector<std::int64_t> offsets{0};
  for (std::int32_t axis = begin; axis < end; ++axis) {
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

class RowCall {
 public:
  // Throws Unsupported or Rejected, with the reason.
  explicit RowCall(const TargetCall& call) : x_(call.required_input("x")), y_(call.required_output("y")) {
    call.require_known({"x", "weight", "bias"}, {"y"}, {"epsilon", "normalized_axis", "weight_offset"});
    storage = dtype_of(x_, "x");
    if (!same_dtype(x_, y_)) throw Unsupported("y has another element type than x");
    if (x_.ndim < 1) throw Rejected("x is a scalar, expected rank >= 1");
    require_shape(y_, "y", x_, 0);
    epsilon = call.number("epsilon", 0);
    weight_offset = call.number("weight_offset", 0);
    const std::int32_t axis = call.normalized_begin(x_.ndim);
    x_rows_ = offsets_of(x_, 0, axis);
    x_cols_ = offsets_of(x_, axis, x_.ndim);
    y_rows_ = offsets_of(y_, 0, axis);
    y_cols_ = offsets_of(y_, axis, y_.ndim);
    weight = parameter(call, "weight", axis, 1);
    bias = parameter(call, "bias", axis, 0);
    if (weight_offset != 0 && call.input("weight") == nullptr) throw Rejected("weight_offset without a weight");
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(x_rows_.size()); }
  std::int64_t cols() const { return static_cast<std::int64_t>(x_cols_.size()); }

  void gather(std::int64_t row, double* out) const {
    const char* base = static_cast<const char*>(tensor_data(x_)) + x_rows_[static_cast<std::size_t>(row)] * item();
    with_element_access(storage, [&](auto load, auto) {
      for (const std::int64_t offset : x_cols_) *out++ = load(base + offset * item());
    });
  }
  // `values` as computed; the rounding to the storage type happens here.
  template <class T>
  void scatter(std::int64_t row, const T* values) const {
    char* base = static_cast<char*>(tensor_data(y_)) + y_rows_[static_cast<std::size_t>(row)] * item();
    with_element_access(storage, [&](auto, auto store) {
      for (const std::int64_t offset : y_cols_) store(base + offset * item(), static_cast<double>(*values++));
    });
  }

  DType storage = DType::kF32;
  double epsilon = 0, weight_offset = 0;
  std::vector<double> weight, bias;  // one per column; ones and zeros when absent

 private:
  std::int64_t item() const { return format_of(storage).bytes; }

  static void require_shape(const DLTensor& t, const std::string& name, const DLTensor& x, std::int32_t first) {
    bool same = t.ndim == x.ndim - first;
    for (std::int32_t i = 0; same && i < t.ndim; ++i) same = t.shape[i] == x.shape[first + i];
    if (!same) throw Rejected(name + ": shape differs from " + (first == 0 ? "that of x" : "the normalized dimensions of x"));
  }

  std::vector<double> parameter(const TargetCall& call, const std::string& name, std::int32_t axis, double absent) const {
    const DLTensor* t = call.input(name);
    if (t == nullptr) return std::vector<double>(x_cols_.size(), absent);
    require_shape(*t, name, x_, axis);
    const DType d = dtype_of(*t, name);
    if (d == DType::kF64 && storage != DType::kF64) throw Unsupported(name + " is f64 and x is not: accumulation in f32 would round it");
    std::vector<double> values;
    const char* base = static_cast<const char*>(tensor_data(*t));
    with_element_access(d, [&](auto load, auto) {
      for (const std::int64_t offset : offsets_of(*t, 0, t->ndim)) values.push_back(load(base + offset * format_of(d).bytes));
    });
    return values;
  }

  const DLTensor& x_;
  DLTensor& y_;
  std::vector<std::int64_t> x_rows_, x_cols_, y_rows_, y_cols_;
};

}  // namespace normfuzz
