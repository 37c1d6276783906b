// oneDNN's normalization primitives behind the plug-in interface: layer normalization and its RMS flag here, groups and batches of channels
// in channel_norms.cc.
//
// Strides, offsets and misaligned pointers are passed on as they are: a memory descriptor has all of them. What the primitive has no
// descriptor for (scale and shift are dense vectors; only the last dimension is normalized) is gathered or refused with a reason.
#include <oneapi/dnnl/dnnl_debug.h>

#include <sstream>

#include "library.h"

namespace normfuzz {
namespace {

// The levels that the variants force, by name; any other by the library's own number.
std::string isa_name() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    default:
      return "0x" + (std::ostringstream() << std::hex << static_cast<int>(isa)).str();
  }
}

const char* version() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch) + " (" +
           std::string(v->hash).substr(0, 12) + ", isa " + isa_name() + ")";
  }();
  return text.c_str();
}

// Leading dimensions as they are, the normalized ones as one: at least [1, cols].
memory::desc rows_desc(const DLTensor& tensor, int32_t normalized_begin, const char* name) {
  const std::optional<Dimension> cols = collapse(tensor, normalized_begin, tensor.ndim);
  if (!cols)
    throw Unsupported(std::string("oneDNN normalizes the last dimension only, and the strides of '") + name +
                      "' do not let the normalized dimensions be seen as one");
  memory::dims dims(tensor.shape, tensor.shape + normalized_begin);
  memory::dims strides(tensor.strides, tensor.strides + normalized_begin);
  if (dims.empty()) {
    dims.push_back(1);
    strides.push_back(std::max<int64_t>(1, cols->size * cols->stride));
  }
  dims.push_back(cols->size);
  strides.push_back(cols->stride);
  return memory::desc(dims, data_type(tensor), strides);
}

// ---- the ops ----

#if DNNL_VERSION_MAJOR * 100 + DNNL_VERSION_MINOR >= 307
normalization_flags rms_flag() { return normalization_flags::rms_norm; }
#else
normalization_flags rms_flag() { throw Unsupported("this oneDNN has no RMS normalization"); }
#endif

struct Norm {
  normalization_flags flags = normalization_flags::none;
  float epsilon = 0;
  int32_t begin = 0;                          // first normalized dimension
  DataType scale_shift_type = DataType::f32;  // of weight and bias alike
};

Norm read_norm(const TargetCall& call, const DLTensor& x) {
  Norm norm;
  norm.epsilon = static_cast<float>(call.number("epsilon", 1e-5));  // a case's epsilon is representable in float32
  norm.begin = call.normalized_begin(x.ndim);
  if (call.op().substr(0, 8) == "rms_norm") {
    norm.flags = rms_flag();
    if (call.number("weight_offset", 0) != 0) throw Unsupported("oneDNN's scale has no offset");
    if (call.input("bias") != nullptr) throw Unsupported("oneDNN's RMS normalization has no shift in this interface");
  }
  const DLTensor* weight = call.input("weight");
  const DLTensor* bias = call.input("bias");
  if (weight != nullptr && bias != nullptr && !same_dtype(*weight, *bias))
    throw Unsupported("oneDNN's scale and shift share one data type");
  for (const DLTensor* tensor : {weight, bias})  // the library takes a pointer and trusts it
    if (tensor != nullptr && element_count(*tensor) != element_count(x, norm.begin))
      throw Rejected("weight or bias of " + std::to_string(element_count(*tensor)) + " elements: expected " +
                     std::to_string(element_count(x, norm.begin)) + ", as many as are normalized together");
  if (weight != nullptr || bias != nullptr) norm.scale_shift_type = data_type(weight != nullptr ? *weight : *bias);
  return norm;
}

std::string forward(const TargetCall& call) {
  call.require_known({"x", "weight", "bias"}, {"y"}, {"epsilon", "normalized_axis", "weight_offset"});
  const DLTensor& x = call.required_input("x");
  const DLTensor& y = call.required_output("y");
  Norm norm = read_norm(call, x);

  std::unordered_map<int, memory> arguments;
  std::optional<DenseVector> weight, bias;
  if (const DLTensor* tensor = call.input("weight")) {
    norm.flags |= normalization_flags::use_scale;
    weight.emplace(*tensor).gather();
    arguments.emplace(DNNL_ARG_SCALE, weight->as_memory());
  }
  if (const DLTensor* tensor = call.input("bias")) {
    norm.flags |= normalization_flags::use_shift;
    bias.emplace(*tensor).gather();
    arguments.emplace(DNNL_ARG_SHIFT, bias->as_memory());
  }

  const memory::desc x_desc = rows_desc(x, norm.begin, "x"), y_desc = rows_desc(y, norm.begin, "y");
  const dnnl::layer_normalization_forward::primitive_desc desc(library().engine, dnnl::prop_kind::forward_inference, x_desc, y_desc,
                                                               norm.scale_shift_type, norm.epsilon, norm.flags);
  arguments.emplace(DNNL_ARG_SRC, wrap(x_desc, tensor_data(x)));
  arguments.emplace(DNNL_ARG_DST, wrap(y_desc, tensor_data(y)));
  execute(dnnl::layer_normalization_forward(desc), arguments);
  return std::string("impl: ") + desc.impl_info_str();
}

// The statistics are those of the library's own forward pass in training mode.
struct Statistics {
  dnnl::layer_normalization_forward::primitive_desc desc;
  std::unordered_map<int, memory> arguments;  // mean and variance, as the backward primitive takes them
};

Statistics forward_statistics(const DLTensor& x, const memory::desc& x_desc, const Norm& norm, std::unordered_map<int, memory> arguments) {
  const memory::desc y_desc(x_desc.get_dims(), data_type(x), memory::format_tag::any);
  Statistics statistics;
  statistics.desc = dnnl::layer_normalization_forward::primitive_desc(library().engine, dnnl::prop_kind::forward_training, x_desc, y_desc,
                                                                      norm.scale_shift_type, norm.epsilon, norm.flags);
  const memory::desc mean = statistics.desc.mean_desc(), variance = statistics.desc.variance_desc();
  if (mean.get_size() > 0) statistics.arguments.emplace(DNNL_ARG_MEAN, scratch(mean));
  if (variance.get_size() > 0) statistics.arguments.emplace(DNNL_ARG_VARIANCE, scratch(variance));
  arguments.insert(statistics.arguments.begin(), statistics.arguments.end());
  arguments.emplace(DNNL_ARG_SRC, wrap(x_desc, tensor_data(x)));
  arguments.emplace(DNNL_ARG_DST, scratch(statistics.desc.dst_desc()));
  execute(dnnl::layer_normalization_forward(statistics.desc), arguments);
  return statistics;
}

// Scale, shift and their gradients as arguments of the two primitives; sets the flags that go with them.
struct AffineGradients {
  std::unordered_map<int, memory> parameters, gradients;
  std::optional<DenseVector> weight, weight_gradient, bias_gradient;
  std::vector<char> ones, zeros;

  AffineGradients(const TargetCall& call, Norm& norm, int64_t cols) {
    const DLTensor *weight_tensor = call.input("weight"), *dweight = call.output("dweight"), *dbias = call.output("dbias");
    if (weight_tensor == nullptr && dweight != nullptr) norm.scale_shift_type = data_type(*dweight);
    if (weight_tensor == nullptr && dweight == nullptr && dbias != nullptr) norm.scale_shift_type = data_type(*dbias);
    for (const DLTensor* gradient : {dweight, dbias})
      if (gradient != nullptr && data_type(*gradient) != norm.scale_shift_type)
        throw Unsupported("oneDNN's scale, shift and their gradients share one data type in this interface");
    const memory::desc vector_desc({cols}, norm.scale_shift_type, memory::format_tag::a);

    if (weight_tensor != nullptr) {
      weight.emplace(*weight_tensor).gather();
      parameters.emplace(DNNL_ARG_SCALE, weight->as_memory());
    } else if (dweight != nullptr) {  // an absent weight means ones, and the library differentiates only a scale that it is given
      ones = dense_ones(norm.scale_shift_type, cols);
      parameters.emplace(DNNL_ARG_SCALE, wrap(vector_desc, ones.data()));
    }
    if (!parameters.empty()) {
      norm.flags |= normalization_flags::use_scale;
      if (dweight != nullptr) weight_gradient.emplace(*dweight);
      gradients.emplace(DNNL_ARG_DIFF_SCALE, weight_gradient ? weight_gradient->as_memory() : scratch(vector_desc));
    }
    if (dbias != nullptr) {
      norm.flags |= normalization_flags::use_shift;
      bias_gradient.emplace(*dbias);
      gradients.emplace(DNNL_ARG_DIFF_SHIFT, bias_gradient->as_memory());
      zeros.resize(vector_desc.get_size());
      parameters.emplace(DNNL_ARG_SHIFT, wrap(vector_desc, zeros.data()));
    }
  }

  void scatter() const {
    if (weight_gradient) weight_gradient->scatter();
    if (bias_gradient) bias_gradient->scatter();
  }
};

std::string backward(const TargetCall& call) {
  call.require_known({"x", "dy", "weight"}, {"dx", "dweight", "dbias"}, {"epsilon", "normalized_axis", "weight_offset"});
  const DLTensor &x = call.required_input("x"), &dy = call.required_input("dy"), &dx = call.required_output("dx");
  Norm norm = read_norm(call, x);
  const memory::desc x_desc = rows_desc(x, norm.begin, "x"), dy_desc = rows_desc(dy, norm.begin, "dy"),
                     dx_desc = rows_desc(dx, norm.begin, "dx");
  AffineGradients affine(call, norm, x_desc.get_dims().back());
  const Statistics statistics = forward_statistics(x, x_desc, norm, affine.parameters);

  const dnnl::prop_kind kind = affine.gradients.empty() ? dnnl::prop_kind::backward_data : dnnl::prop_kind::backward;
  const dnnl::layer_normalization_backward::primitive_desc desc(library().engine, kind, dx_desc, dy_desc, x_desc, norm.scale_shift_type,
                                                                norm.scale_shift_type, norm.epsilon, norm.flags, statistics.desc);
  std::unordered_map<int, memory> arguments = affine.parameters;
  arguments.insert(affine.gradients.begin(), affine.gradients.end());
  arguments.insert(statistics.arguments.begin(), statistics.arguments.end());
  arguments.emplace(DNNL_ARG_SRC, wrap(x_desc, tensor_data(x)));
  arguments.emplace(DNNL_ARG_DIFF_DST, wrap(dy_desc, tensor_data(dy)));
  arguments.emplace(DNNL_ARG_DIFF_SRC, wrap(dx_desc, tensor_data(dx)));
  execute(dnnl::layer_normalization_backward(desc), arguments);
  affine.scatter();
  return std::string("impl: ") + desc.impl_info_str();
}

std::string dispatch(const TargetCall& call) {
  if (call.op() == "layer_norm" || call.op() == "rms_norm") return forward(call);
  if (call.op() == "layer_norm_backward" || call.op() == "rms_norm_backward") return backward(call);
  for (const char* family : {"group_norm", "instance_norm", "batch_norm"})
    if (call.op() == family) return channel_forward(call);
  for (const char* family : {"group_norm_backward", "instance_norm_backward", "batch_norm_backward"})
    if (call.op() == family) return channel_backward(call);
  throw Unsupported("no op '" + std::string(call.op()) + "'");
}

nf_status run(const nf_call* call) {
  return guarded_run(call, [](const TargetCall& arguments) {
    try {
      return dispatch(arguments);
    } catch (const dnnl::error& error) {
      std::string message = first_line_without_paths(error.what());
      message.resize(std::min(message.size(), message.find(". Run workload")));  // advice about a verbose mode
      if (error.status == dnnl_unimplemented) throw Unsupported(message + " (unimplemented)");
      throw Rejected(message + " (" + dnnl_status2str(error.status) + ")");
    }
  });
}

}  // namespace
}  // namespace normfuzz

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::version, normfuzz::run};
  return &target;
}
