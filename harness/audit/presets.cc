#include "harness/audit/presets.h"

#include <algorithm>

namespace normfuzz {
namespace {

constexpr DType kAll[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

// The same tolerance for some dtypes, in both directions or one.
std::vector<Tolerance> equal(std::initializer_list<DType> dtypes, double rtol, double atol, Direction direction = Direction::kBoth) {
  std::vector<Tolerance> list;
  for (const DType d : dtypes) list.push_back({d, direction, rtol, atol});
  return list;
}

// benchdnn's threshold for lnorm: 5e-7 * 2^max(0, 24 - digits).
std::vector<Tolerance> benchdnn() {
  std::vector<Tolerance> list;
  for (const DType d : kAll) {
    const int digits = format_of(d).precision;
    double threshold = 5e-7;
    for (int i = digits; i < 24; ++i) threshold *= 2;
    if (d != DType::kF64) list.push_back({d, Direction::kBoth, threshold, 0});
  }
  return list;
}

}  // namespace

const std::vector<TestPolicy>& policy_presets() {
  constexpr DType f64 = DType::kF64, f32 = DType::kF32, f16 = DType::kF16, bf16 = DType::kBF16;
  constexpr Direction both = Direction::kBoth, forward = Direction::kForward, backward = Direction::kBackward;
  static const std::vector<TestPolicy> kPresets = {
      {.name = "pytorch",
       .source = "torch.testing.assert_close, defaults",
       .tolerances = {{f64, both, 1e-7, 1e-7}, {f32, both, 1.3e-6, 1e-5}, {f16, both, 1e-3, 1e-5}, {bf16, both, 1.6e-2, 1e-5}}},
      {.name = "gradcheck", .source = "torch.autograd.gradcheck, defaults", .tolerances = equal({f64}, 1e-3, 1e-5, backward)},
      {.name = "jax", .source = "jax.test_util.check_grads, float32", .tolerances = equal({f32}, 2e-3, 2e-3, backward)},
      {.name = "onnx", .source = "ONNX backend tests, defaults", .tolerances = equal({f32}, 1e-3, 1e-7)},
      {.name = "onnxruntime", .source = "ONNX Runtime's OpTester, float", .tolerances = equal({f32}, 1e-4, 1e-5)},
      {.name = "tensorflow", .source = "assertAllClose, defaults", .tolerances = equal({f32}, 1e-6, 1e-6)},
      {.name = "triton",
       .source = "Triton's layer-norm tutorial",
       .tolerances = equal({f16}, 0, 1e-2),
       .mean = -2.3,
       .scale = 0.5,
       .hidden = {8192}},
      {.name = "liger", .source = "Liger Kernel, RMSNorm tests", .tolerances = {{f32, both, 1e-6, 1e-4}, {bf16, both, 2e-2, 2e-1}}},
      {.name = "transformer_engine",
       .source = "TransformerEngine, norm tests",
       .tolerances = {{f32, forward, 5e-6, 5e-7}, {f32, backward, 5e-4, 5e-4}}},
      {.name = "vllm",
       .source = "vLLM, RMSNorm kernel tests at hidden 5120",
       .tolerances = equal({f32, f16, bf16}, 1e-2, 1e-2),
       .scale_by_width = true,
       .hidden = {5120},
       .epsilon = 1e-6},
      {.name = "flashinfer", .source = "FlashInfer-Bench, defaults", .tolerances = equal({f32, f16, bf16}, 1e-2, 1e-2)},
      {.name = "kernelbench",
       .source = "KernelBench",
       .tolerances = {{f32, both, 1e-4, 1e-4}, {f16, both, 1e-2, 1e-2}, {bf16, both, 1e-2, 1e-2}}},
      {.name = "onednn",
       .source = "oneDNN's benchdnn, lnorm",
       .tolerances = benchdnn(),
       .metric = Metric::kRelative,
       .inputs = InputPolicy::kIntegers,
       .epsilon = 0.0625},
  };
  return kPresets;
}

const TestPolicy* find_policy_preset(std::string_view name) {
  const auto& all = policy_presets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const TestPolicy& p) { return p.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace normfuzz
