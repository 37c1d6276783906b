// torch's ATen operators behind the plug-in interface, on the CPU: layer_norm over trailing dimensions or channels and rms_norm, forward
// and backward; vector norms, distances, cosine similarity, normalized vectors.
//
// Tensors are views of the caller's memory with the caller's sizes, strides and alignment. ATen allocates its results; they are copied,
// never converted, into the outputs.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/cosine_similarity.h>
#include <ATen/ops/div.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/movedim.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/pairwise_distance.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// After ATen's headers: one of them may bring DLPack's own DLTensor, which target.h then uses.
#include "normfuzz/target_call.h"

namespace normfuzz {
namespace {

const char* version() {
  static const std::string text = "torch " TORCH_VERSION " (cpu capability " + at::get_cpu_capability() + ")";
  return text.c_str();
}

// One thread unless the worker says otherwise: a second one makes a small call a hundred times slower and may change the order of sums.
void limit_threads() {
  static const bool done = [] {
    const char* threads = std::getenv("NORMFUZZ_THREADS");
    at::set_num_threads(threads ? std::max(1, std::atoi(threads)) : 1);
    at::set_num_interop_threads(1);
    return true;
  }();
  (void)done;
}

at::ScalarType scalar_type(const DLTensor& tensor) {
  if (tensor.dtype.lanes == 1 && tensor.dtype.code == 2) {
    if (tensor.dtype.bits == 64) return at::kDouble;
    if (tensor.dtype.bits == 32) return at::kFloat;
    if (tensor.dtype.bits == 16) return at::kHalf;
  }
  if (tensor.dtype.lanes == 1 && tensor.dtype.code == 4 && tensor.dtype.bits == 16) return at::kBFloat16;
  throw Unsupported("a data type that is none of f64, f32, f16, bf16");
}

at::Tensor view(const DLTensor& tensor) {
  return at::from_blob(tensor_data(tensor), at::IntArrayRef(tensor.shape, tensor.ndim), at::IntArrayRef(tensor.strides, tensor.ndim),
                       at::TensorOptions().dtype(scalar_type(tensor)));
}

// Undefined when absent, which is how ATen spells None.
at::Tensor view_or_none(const DLTensor* tensor) { return tensor == nullptr ? at::Tensor() : view(*tensor); }

void store(const DLTensor* output, const at::Tensor& result) {
  if (output == nullptr) return;
  at::Tensor target = view(*output);
  if (result.scalar_type() != target.scalar_type())
    throw Unsupported(std::string("torch returns ") + c10::toString(result.scalar_type()) + " here, the output is " +
                      c10::toString(target.scalar_type()));
  if (result.sizes() != target.sizes()) throw Rejected("torch returns a result of another shape than the output");
  target.copy_(result);
}

std::vector<int64_t> normalized_shape(const TargetCall& call, const DLTensor& x) {
  return {x.shape + call.normalized_begin(x.ndim), x.shape + x.ndim};
}

double epsilon(const TargetCall& call) { return call.number("epsilon", 1e-5); }

void require_plain_rms(const TargetCall& call) {
  if (call.number("weight_offset", 0) != 0) throw Unsupported("torch's rms_norm has no weight offset");
  if (call.input("bias") != nullptr) throw Unsupported("torch's rms_norm has no bias");
}

void layer_norm(const TargetCall& call) {
  call.require_known({"x", "weight", "bias"}, {"y"}, {"epsilon", "normalized_axis"});
  const c10::InferenceMode no_autograd;
  const DLTensor& x = call.required_input("x");
  store(&call.required_output("y"), at::layer_norm(view(x), normalized_shape(call, x), view_or_none(call.input("weight")),
                                                   view_or_none(call.input("bias")), epsilon(call)));
}

void rms_norm(const TargetCall& call) {
  call.require_known({"x", "weight", "bias"}, {"y"}, {"epsilon", "normalized_axis", "weight_offset"});
  require_plain_rms(call);
  const c10::InferenceMode no_autograd;
  const DLTensor& x = call.required_input("x");
  store(&call.required_output("y"), at::rms_norm(view(x), normalized_shape(call, x), view_or_none(call.input("weight")), epsilon(call)));
}

// Position of the channels of an nchw (of rank 3: chw) or nhwc tensor.
int64_t channel_dimension(const TargetCall& call, const DLTensor& x) {
  return call.text("layout", "nchw") == "nhwc" ? x.ndim - 1 : x.ndim == 3 ? 0 : 1;
}

// Channels moved to the end, normalized there and moved back, as ConvNeXt does: views, no copies.
void channel_layer_norm(const TargetCall& call) {
  call.require_known({"x", "weight", "bias"}, {"y"}, {"epsilon", "layout"});
  const c10::InferenceMode no_autograd;
  const DLTensor& x = call.required_input("x");
  const int64_t channels = channel_dimension(call, x);
  const at::Tensor y = at::layer_norm(at::movedim(view(x), channels, -1), {x.shape[channels]}, view_or_none(call.input("weight")),
                                      view_or_none(call.input("bias")), epsilon(call));
  store(&call.required_output("y"), at::movedim(y, -1, channels));
}

// ---- groups, instances, batches: channels are dimension 1; those of nhwc are moved there as a view ----

int64_t channels_last(const TargetCall& call, const DLTensor& x) { return call.text("layout", "nchw") == "nhwc" ? x.ndim - 1 : 1; }

struct Running {
  at::Tensor mean, variance;  // undefined: none are kept
};

// cuDNN has no part in it; the flag stands for it in the operators' signatures.
at::Tensor channel_statistics(const TargetCall& call, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                              const Running& running, bool training) {
  constexpr bool kCudnn = false;
  const std::string_view op = call.op();
  if (op.starts_with("group_norm")) return at::group_norm(x, call.integer("groups", 1), weight, bias, epsilon(call), kCudnn);
  if (op.starts_with("instance_norm")) return at::instance_norm(x, weight, bias, {}, {}, true, 0, epsilon(call), kCudnn);
  return at::batch_norm(x, weight, bias, running.mean, running.variance, training, call.number("momentum", 0), epsilon(call), kCudnn);
}

void image_norm(const TargetCall& call) {
  call.require_known({"x", "weight", "bias", "running_mean", "running_var"}, {"y", "running_mean_new", "running_var_new"},
                     {"epsilon", "layout", "groups", "training", "momentum", "variance"});
  const c10::InferenceMode no_autograd;
  const DLTensor& x = call.required_input("x");
  const int64_t channels = channels_last(call, x);
  const bool training = !call.op().starts_with("batch_norm") || call.integer("training", 0) != 0;
  Running running{view_or_none(call.input("running_mean")), view_or_none(call.input("running_var"))};
  const bool keeps = training && running.mean.defined();
  if (keeps) {
    if (call.text("variance", "population") != "sample") throw Unsupported("torch's running variance is the sample's");
    running = {running.mean.clone(), running.variance.clone()};  // updated in place
  }
  const at::Tensor y = channel_statistics(call, at::movedim(view(x), channels, 1), view_or_none(call.input("weight")),
                                          view_or_none(call.input("bias")), running, training);
  store(&call.required_output("y"), at::movedim(y, 1, channels));
  if (!keeps) return;
  store(call.output("running_mean_new"), running.mean);
  store(call.output("running_var_new"), running.variance);
}

// Through autograd, as a model's training does.
void image_norm_backward(const TargetCall& call) {
  call.require_known({"x", "dy", "weight"}, {"dx", "dweight", "dbias"}, {"epsilon", "layout", "groups"});
  const at::AutoGradMode record(true);
  const DLTensor& x = call.required_input("x");
  const int64_t channels = channels_last(call, x);
  const DLTensor *dweight = call.output("dweight"), *dbias = call.output("dbias");
  std::vector<at::Tensor> leaves = {view(x).requires_grad_(true)};
  at::Tensor weight = view_or_none(call.input("weight")), bias;
  if (dweight != nullptr) leaves.push_back(weight.requires_grad_(true));
  if (dbias != nullptr) {
    bias = at::zeros({x.shape[channels]}, at::TensorOptions().dtype(scalar_type(*dbias)));
    leaves.push_back(bias.requires_grad_(true));
  }
  const at::Tensor y = channel_statistics(call, at::movedim(leaves[0], channels, 1), weight, bias, {}, true);
  const std::vector<at::Tensor> gradients = torch::autograd::grad({y}, leaves, {at::movedim(view(call.required_input("dy")), channels, 1)});
  const at::NoGradGuard copying;
  store(&call.required_output("dx"), gradients[0]);
  if (dweight != nullptr) store(dweight, gradients[1]);
  if (dbias != nullptr) store(dbias, gradients.back());
}

// Two calls of rms_norm, over the features of each head.
void qk_norm(const TargetCall& call) {
  call.require_known({"q", "k", "q_weight", "k_weight"}, {"q_out", "k_out"}, {"epsilon"});
  const c10::InferenceMode no_autograd;
  const DLTensor &q = call.required_input("q"), &k = call.required_input("k");
  const std::vector<int64_t> features = {q.shape[q.ndim - 1]};
  store(&call.required_output("q_out"), at::rms_norm(view(q), features, view_or_none(call.input("q_weight")), epsilon(call)));
  store(&call.required_output("k_out"), at::rms_norm(view(k), features, view_or_none(call.input("k_weight")), epsilon(call)));
}

// ---- norms along one dimension ----

int64_t reduced_dimension(const TargetCall& call, const DLTensor& x) {
  const int64_t axis = call.integer("axis", -1);
  return axis < 0 ? axis + x.ndim : axis;
}

void lp_norm(const TargetCall& call) {
  call.require_known({"x"}, {"y"}, {"p", "axis"});
  const c10::InferenceMode no_autograd;
  const DLTensor& x = call.required_input("x");
  store(&call.required_output("y"), at::linalg_vector_norm(view(x), call.number("p", 2), {reduced_dimension(call, x)}));
}

// pairwise_distance takes the last dimension, and adds an epsilon to the difference: none here.
void distance(const TargetCall& call) {
  call.require_known({"a", "b"}, {"y"}, {"p", "axis"});
  const c10::InferenceMode no_autograd;
  const DLTensor& a = call.required_input("a");
  const int64_t axis = reduced_dimension(call, a);
  store(&call.required_output("y"), at::pairwise_distance(at::movedim(view(a), axis, -1),
                                                          at::movedim(view(call.required_input("b")), axis, -1), call.number("p", 2), 0));
}

// Each length is at least epsilon (documentation of torch.nn.CosineSimilarity); without an epsilon it is 0.
void cosine(const TargetCall& call) {
  call.require_known({"a", "b"}, {"y"}, {"epsilon", "epsilon_mode", "axis"});
  const c10::InferenceMode no_autograd;
  const DLTensor& a = call.required_input("a");
  store(&call.required_output("y"),
        at::cosine_similarity(view(a), view(call.required_input("b")), reduced_dimension(call, a), call.number("epsilon", 0)));
}

// What torch.nn.functional.normalize does: x / max(|x|_p, epsilon).
void lp_normalize(const TargetCall& call) {
  call.require_known({"x"}, {"y"}, {"p", "epsilon", "epsilon_mode", "axis"});
  const std::string_view mode = call.text("epsilon_mode", "none");
  if (mode != "none" && mode != "max_norm") throw Unsupported("torch's normalize takes the larger of norm and epsilon, nothing else");
  const c10::InferenceMode no_autograd;
  const DLTensor& x = call.required_input("x");
  const at::Tensor length = at::linalg_vector_norm(view(x), call.number("p", 2), {reduced_dimension(call, x)}, true);
  store(&call.required_output("y"), at::div(view(x), length.clamp_min(call.number("epsilon", 0))));
}

// ---- backward ----

// An absent weight means ones. ATen computes the gradients of weight and bias only where it has them: ones and zeros stand in.
void layer_norm_gradients(const TargetCall& call, const at::Tensor& x, const at::Tensor& dy, const std::vector<int64_t>& shape,
                          int64_t channels) {
  const DLTensor *dweight = call.output("dweight"), *dbias = call.output("dbias");
  at::Tensor weight = view_or_none(call.input("weight")), bias;
  if (dweight != nullptr && !weight.defined()) weight = at::ones(shape, at::TensorOptions().dtype(scalar_type(*dweight)));
  if (dbias != nullptr) bias = at::zeros(shape, at::TensorOptions().dtype(scalar_type(*dbias)));

  const auto [y, mean, reciprocal_deviation] = at::native_layer_norm(x, shape, weight, bias, epsilon(call));
  const auto [x_gradient, weight_gradient, bias_gradient] =
      at::native_layer_norm_backward(dy, x, shape, mean, reciprocal_deviation, weight, bias, {true, dweight != nullptr, dbias != nullptr});
  store(&call.required_output("dx"), at::movedim(x_gradient, -1, channels));
  store(dweight, weight_gradient);
  store(dbias, bias_gradient);
}

void layer_norm_backward(const TargetCall& call) {
  call.require_known({"x", "dy", "weight"}, {"dx", "dweight", "dbias"}, {"epsilon", "normalized_axis"});
  const c10::InferenceMode no_autograd;
  const DLTensor& x = call.required_input("x");
  layer_norm_gradients(call, view(x), view(call.required_input("dy")), normalized_shape(call, x), -1);
}

void channel_layer_norm_backward(const TargetCall& call) {
  call.require_known({"x", "dy", "weight"}, {"dx", "dweight", "dbias"}, {"epsilon", "layout"});
  const c10::InferenceMode no_autograd;
  const DLTensor& x = call.required_input("x");
  const int64_t channels = channel_dimension(call, x);
  layer_norm_gradients(call, at::movedim(view(x), channels, -1), at::movedim(view(call.required_input("dy")), channels, -1),
                       {x.shape[channels]}, channels);
}

// rms_norm has no backward operator on the CPU: autograd differentiates its decomposition.
void rms_norm_backward(const TargetCall& call) {
  call.require_known({"x", "dy", "weight"}, {"dx", "dweight"}, {"epsilon", "normalized_axis", "weight_offset"});
  require_plain_rms(call);
  const at::AutoGradMode record(true);
  const DLTensor& x_argument = call.required_input("x");
  const std::vector<int64_t> shape = normalized_shape(call, x_argument);
  const DLTensor* dweight = call.output("dweight");
  std::vector<at::Tensor> leaves = {view(x_argument).requires_grad_(true)};
  at::Tensor weight = view_or_none(call.input("weight"));
  if (dweight != nullptr) {
    if (!weight.defined()) weight = at::ones(shape, at::TensorOptions().dtype(scalar_type(*dweight)));
    leaves.push_back(weight.requires_grad_(true));
  }
  const at::Tensor y = at::rms_norm(leaves[0], shape, weight, epsilon(call));
  const std::vector<at::Tensor> gradients = torch::autograd::grad({y}, leaves, {view(call.required_input("dy"))});
  const at::NoGradGuard copying;
  store(&call.required_output("dx"), gradients[0]);
  if (dweight != nullptr) store(dweight, gradients[1]);
}

using Operator = void (*)(const TargetCall&);
constexpr std::pair<std::string_view, Operator> kOperators[] = {
    {"layer_norm", layer_norm},
    {"rms_norm", rms_norm},
    {"channel_layer_norm", channel_layer_norm},
    {"lp_norm", lp_norm},
    {"distance", distance},
    {"cosine", cosine},
    {"lp_normalize", lp_normalize},
    {"layer_norm_backward", layer_norm_backward},
    {"rms_norm_backward", rms_norm_backward},
    {"channel_layer_norm_backward", channel_layer_norm_backward},
    {"group_norm", image_norm},
    {"instance_norm", image_norm},
    {"batch_norm", image_norm},
    {"group_norm_backward", image_norm_backward},
    {"instance_norm_backward", image_norm_backward},
    {"batch_norm_backward", image_norm_backward},
    {"qk_norm", qk_norm},
};

void dispatch(const TargetCall& call) {
  for (const auto& [name, run] : kOperators)
    if (call.op() == name) return run(call);
  throw Unsupported("no op '" + std::string(call.op()) + "'");
}

// torch says of a missing kernel 'not implemented for', and refuses most mixtures of data types with an error of its own: there is no
// kernel for those either. Every other error is a refusal of these arguments.
bool means_no_kernel(const TargetCall& call, const std::string& message) {
  if (message.find("not implemented for") != std::string::npos) return true;
  const DLTensor* x = call.input("x");
  for (const char* name : {"weight", "bias", "dy", "running_mean", "running_var"})
    if (const DLTensor* tensor = call.input(name); tensor != nullptr && x != nullptr && !same_dtype(*tensor, *x)) return true;
  return false;
}

nf_status run(const nf_call* call) {
  return guarded_run(call, [](const TargetCall& arguments) {
    limit_threads();
    try {
      dispatch(arguments);
    } catch (const c10::Error& error) {
      const std::string message = first_line_without_paths(error.what_without_backtrace());
      if (means_no_kernel(arguments, message)) throw Unsupported(message);
      throw Rejected(message);
    }
    return std::string();
  });
}

}  // namespace
}  // namespace normfuzz

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::version, normfuzz::run};
  return &target;
}
