// A plain and correct module for f32, and the same with one fault at a time, named by the environment variable NORMFUZZ_FAULT: for each
// check of target_module_test there is a fault that it must see.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "normfuzz/target_call.h"

namespace normfuzz {
namespace {

bool fault(std::string_view name) {
  static const char* const active = std::getenv("NORMFUZZ_FAULT");
  return active != nullptr && name == active;
}

int64_t count(const DLTensor& tensor, int32_t begin = 0) {
  int64_t product = 1;
  for (int32_t i = begin; i < tensor.ndim; ++i) product *= tensor.shape[i];
  return product;
}

float& element(const DLTensor& tensor, int64_t index) {
  int64_t offset = fault("ignores_strides") ? index : 0;
  for (int32_t i = tensor.ndim - 1; i >= 0 && !fault("ignores_strides"); --i) {
    offset += index % tensor.shape[i] * tensor.strides[i];
    index /= tensor.shape[i];
  }
  return static_cast<float*>(tensor_data(tensor))[offset];
}

double value(const DLTensor* tensor, int64_t index, double absent) { return tensor == nullptr ? absent : element(*tensor, index); }

struct Row {
  std::vector<double> difference;
  double reciprocal;  // of the root of variance + epsilon
};

Row statistics(const DLTensor& x, int64_t first, int64_t n, bool centred, double epsilon) {
  Row row{std::vector<double>(n), 0};
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n && centred; ++i) mean += element(x, first + i) / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    row.difference[i] = element(x, first + i) - mean;
    variance += row.difference[i] * row.difference[i];
  }
  variance /= static_cast<double>(fault("sample_variance") ? n - 1 : n);
  row.reciprocal = 1 / std::sqrt(variance + (fault("drops_epsilon") ? 0 : epsilon));
  if (fault("coarse_rsqrt")) row.reciprocal *= 1 + std::ldexp(1, -12);
  return row;
}

struct Arguments {
  bool centred;
  double epsilon;
  int64_t n, rows;
};

Arguments read(const TargetCall& call, const DLTensor& x) {
  for (const char* name : {"x", "dy", "weight", "bias"})
    if (const DLTensor* tensor = call.input(name); tensor != nullptr && tensor->dtype.bits != 32) throw Unsupported("only f32");
  const int32_t begin = fault("last_axis_only") || fault("accepts_anything") ? x.ndim - 1 : call.normalized_begin(x.ndim);
  const int64_t n = count(x, begin);
  for (const char* name : {"weight", "bias"})
    if (const DLTensor* tensor = call.input(name); tensor != nullptr && count(*tensor) != n && !fault("accepts_anything"))
      throw Rejected("a parameter of another size");
  return {call.op().substr(0, 10) == "layer_norm", call.number("epsilon", 0), n, count(x) / n};
}

std::string forward(const TargetCall& call) {
  const DLTensor& x = call.required_input("x");
  const DLTensor& y = call.required_output("y");
  const DLTensor *weight = call.input("weight"), *bias = fault("drops_bias") ? nullptr : call.input("bias");
  const Arguments arguments = read(call, x);
  const double offset = call.number("weight_offset", 0);
  static int calls = 0;
  ++calls;
  for (int64_t row = 0; row < arguments.rows; ++row) {
    const Row s = statistics(x, row * arguments.n, arguments.n, arguments.centred, arguments.epsilon);
    for (int64_t i = 0; i < arguments.n; ++i) {
      const double result = s.difference[i] * s.reciprocal * (offset + value(weight, i, 1 - offset)) + value(bias, i, 0);
      if (fault("skips_last") && row + 1 == arguments.rows && i + 1 == arguments.n) continue;
      element(y, row * arguments.n + i) = static_cast<float>(fault("differs_each_time") && calls % 2 ? std::nextafterf(result, 9) : result);
    }
  }
  if (fault("writes_past")) static_cast<float*>(tensor_data(y))[count(y)] = 0;
  if (fault("changes_input")) element(x, 0) += 1;
  return "";
}

std::string backward(const TargetCall& call) {
  const DLTensor &x = call.required_input("x"), &dy = call.required_input("dy");
  const DLTensor &dx = call.required_output("dx"), &dweight = call.required_output("dweight"), &dbias = call.required_output("dbias");
  const Arguments arguments = read(call, x);
  const int64_t n = arguments.n;
  std::vector<double> weight_gradient(n), bias_gradient(n);
  for (int64_t row = 0; row < arguments.rows; ++row) {
    const Row s = statistics(x, row * n, n, true, arguments.epsilon);
    double mean_g = 0, mean_gh = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double g = element(dy, row * n + i) * value(call.input("weight"), i, 1), h = s.difference[i] * s.reciprocal;
      mean_g += g / static_cast<double>(n);
      mean_gh += g * h / static_cast<double>(n);
      weight_gradient[i] += element(dy, row * n + i) * h;
      bias_gradient[i] += element(dy, row * n + i);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double g = element(dy, row * n + i) * value(call.input("weight"), i, 1), h = s.difference[i] * s.reciprocal;
      element(dx, row * n + i) = static_cast<float>(s.reciprocal * (g - (fault("no_mean_gradient") ? 0 : mean_g) - h * mean_gh));
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    element(dweight, i) = static_cast<float>(weight_gradient[i]);
    element(dbias, i) = static_cast<float>(bias_gradient[i]);
  }
  return "";
}

std::string dispatch(const TargetCall& call) {
  if (!fault("accepts_anything"))
    call.require_known({"x", "dy", "weight", "bias"}, {"y", "dx", "dweight", "dbias"}, {"epsilon", "normalized_axis", "weight_offset"});
  if (call.op() == "layer_norm" || call.op() == "rms_norm" || fault("accepts_anything")) return forward(call);
  if (call.op() == "layer_norm_backward") return backward(call);
  throw Unsupported("no such op");
}

const char* version() { return fault("no_version") ? "" : "1"; }

nf_status run(const nf_call* call) { return guarded_run(call, dispatch); }

}  // namespace
}  // namespace normfuzz

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::version, normfuzz::run};
  return &target;
}
