// What both families of primitives need: the library itself, and tensors as memories.
#pragma once

#include <sched.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "normfuzz/target_call.h"

namespace normfuzz {

using dnnl::memory;
using dnnl::normalization_flags;
using DataType = memory::data_type;

// ---- the library: one engine and one stream for the life of the process ----

// TBB and the OpenCL CPU driver size their thread pools by the affinity mask they find when they start, and the wheel carries no TBB
// headers for global_control: so the first engine is made, and the first primitive run, on one processor. The mask is restored after.
class OneProcessor {
 public:
  OneProcessor() {
    if (sched_getaffinity(0, sizeof(saved_), &saved_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    narrowed_ = sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  ~OneProcessor() {
    if (narrowed_) sched_setaffinity(0, sizeof(saved_), &saved_);
  }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t saved_;
  bool narrowed_ = false;
};

struct Library {
  dnnl::engine engine;
  dnnl::stream stream;
};

// Runs one small primitive, so that whatever starts lazily starts while the mask is narrow.
inline void run_once(Library& library) {
  const memory::desc desc({1, 2}, DataType::f32, memory::format_tag::ab);
  const dnnl::layer_normalization_forward::primitive_desc primitive(library.engine, dnnl::prop_kind::forward_inference, desc, desc, 1.0f,
                                                                    normalization_flags::none);
  float x[2] = {1, -1}, y[2];
  dnnl::layer_normalization_forward(primitive).execute(
      library.stream, {{DNNL_ARG_SRC, memory(desc, library.engine, x)}, {DNNL_ARG_DST, memory(desc, library.engine, y)}});
  library.stream.wait();
}

inline Library make_library() {
  // The wheel is built for the SYCL runtime, which finds its OpenCL CPU driver by this variable ('could not create an engine' without).
  setenv("OCL_ICD_FILENAMES", NORMFUZZ_ONEDNN_OPENCL_DRIVER, 0);
  const OneProcessor one_processor;
  Library library;
  library.engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
  library.stream = dnnl::stream(library.engine);
  run_once(library);
  return library;
}

inline Library& library() {
  try {
    static Library instance = make_library();
    return instance;
  } catch (const dnnl::error& error) {
    throw Unsupported(std::string("no CPU engine: ") + error.what());
  }
}

// ---- tensors as the primitive sees them ----

inline DataType data_type(const DLTensor& tensor) {
  if (tensor.dtype.lanes == 1 && tensor.dtype.code == 2) {
    if (tensor.dtype.bits == 64) return DataType::f64;
    if (tensor.dtype.bits == 32) return DataType::f32;
    if (tensor.dtype.bits == 16) return DataType::f16;
  }
  if (tensor.dtype.lanes == 1 && tensor.dtype.code == 4 && tensor.dtype.bits == 16) return DataType::bf16;
  throw Unsupported("a data type that is none of f64, f32, f16, bf16");
}

inline size_t item_size(const DLTensor& tensor) { return tensor.dtype.bits / 8; }

// Elements in one slice of the dimensions from `begin` on.
inline int64_t element_count(const DLTensor& tensor, int32_t begin = 0) {
  return std::accumulate(tensor.shape + begin, tensor.shape + tensor.ndim, int64_t{1}, std::multiplies<>());
}

struct Dimension {
  int64_t size, stride;
};

// The dimensions [begin, end) as one dimension of the same elements in the same order, if one stride reaches them all.
inline std::optional<Dimension> collapse(const DLTensor& tensor, int32_t begin, int32_t end) {
  if (end - begin == 1) return Dimension{tensor.shape[begin], tensor.strides[begin]};
  Dimension whole{1, 1};
  for (int32_t i = end - 1; i >= begin; --i) {
    if (tensor.shape[i] == 1) continue;
    if (whole.size == 1) whole.stride = tensor.strides[i];
    if (tensor.strides[i] != whole.stride * whole.size && tensor.shape[i] != 0) return std::nullopt;
    whole.size *= tensor.shape[i];
  }
  return whole;
}

inline memory wrap(const memory::desc& desc, const void* data) { return memory(desc, library().engine, const_cast<void*>(data)); }

// Address of the element with this row-major index.
inline char* element_address(const DLTensor& tensor, int64_t index) {
  int64_t offset = 0;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    offset += index % tensor.shape[i] * tensor.strides[i];
    index /= tensor.shape[i];
  }
  return static_cast<char*>(tensor_data(tensor)) + offset * static_cast<int64_t>(item_size(tensor));
}

// A tensor as the dense vector that the primitive wants for scale, shift and their gradients: in place when it is one, else a copy.
class DenseVector {
 public:
  explicit DenseVector(const DLTensor& tensor) : tensor_(&tensor), count_(element_count(tensor)) {
    const std::optional<Dimension> whole = collapse(tensor, 0, tensor.ndim);
    if (!(whole && (whole->size <= 1 || whole->stride == 1))) copy_.resize(static_cast<size_t>(count_) * item_size(tensor));
  }

  void gather() {
    if (!copy_.empty())
      for (int64_t i = 0; i < count_; ++i) std::memcpy(&copy_[i * item_size(*tensor_)], element_address(*tensor_, i), item_size(*tensor_));
  }
  void scatter() const {
    if (!copy_.empty())
      for (int64_t i = 0; i < count_; ++i) std::memcpy(element_address(*tensor_, i), &copy_[i * item_size(*tensor_)], item_size(*tensor_));
  }

  memory as_memory() {
    const memory::desc desc({count_}, data_type(*tensor_), memory::format_tag::a);
    return wrap(desc, copy_.empty() ? tensor_data(*tensor_) : copy_.data());
  }

 private:
  const DLTensor* tensor_;
  int64_t count_;
  std::vector<char> copy_;
};

// Bytes of `count` ones.
inline std::vector<char> dense_ones(DataType type, int64_t count) {
  const double f64 = 1;
  const float f32 = 1;
  const uint16_t f16 = 0x3c00, bf16 = 0x3f80;  // sign 0, biased exponents 15 of 5 bits and 127 of 8 bits, significand 1.0
  const void* one = &f32;
  if (type == DataType::f64) one = &f64;
  if (type == DataType::f16) one = &f16;
  if (type == DataType::bf16) one = &bf16;
  const size_t size = memory::data_type_size(type);
  std::vector<char> bytes(static_cast<size_t>(count) * size);
  for (int64_t i = 0; i < count; ++i) std::memcpy(&bytes[i * size], one, size);
  return bytes;
}

// Memory that the library allocates itself: statistics, and results nobody asked for.
inline memory scratch(const memory::desc& desc) { return memory(desc, library().engine); }

inline void execute(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& arguments) {
  primitive.execute(library().stream, arguments);
  library().stream.wait();
}

// group_norm, instance_norm, batch_norm and their backwards: channel_norms.cc.
std::string channel_forward(const TargetCall& call);
std::string channel_backward(const TargetCall& call);

}  // namespace normfuzz
