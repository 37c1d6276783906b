// The list of mutants of layer_norm and rms_norm.

#include "targets/mutants/find_named.h"
#include "targets/mutants/mutant.h"

namespace normfuzz {
namespace {

using Policy = MutantPolicy;

const std::vector<Mutant>& list() {
  const std::vector<std::string_view> centred = {"layer_norm", "channel_layer_norm"}, rms = {"rms_norm"},
                                      both = {"layer_norm", "channel_layer_norm", "rms_norm"};
  const std::vector<DType> f16 = {DType::kF16}, narrow = {DType::kF16, DType::kBF16};
  static const std::vector<Mutant> kList = {
      {"two_pass", "", "none: the plain kernel", "", Policy{}, both},
      {"welford", "", "none: Welford's update, one accumulator", "", Policy{.moments = MutantMoments::kWelford}, centred},
      {"pairwise", "", "none: pairwise sums", "", Policy{.sum = MutantSum::kPairwise}, both},

      {"one_pass_variance", "cancellation", "variance as mean(x^2) - mean^2, clamped at zero", "onnxruntime#28463, tvm#19592, pytorch#5410",
       Policy{.moments = MutantMoments::kOnePass}, centred},
      {"one_pass_unclamped", "cancellation", "variance as mean(x^2) - mean^2, also where that is negative",
       "flax#1545, equinox#314, keras#18795, tt-metal#45968", Policy{.moments = MutantMoments::kOnePassUnclamped}, centred},
      {"sample_variance", "statistics", "divides the sum of squares by n - 1", "mlx#3817, FastNN#11", Policy{.sample_variance = true},
       centred},
      {"no_reduction", "statistics", "the statistic is 0: no reduction runs", "vllm#44692 (a width that no kernel serves)",
       Policy{.no_reduction = true}, both},
      {"squared_scale", "statistics", "multiplies by 1 / (statistic + epsilon): squared, the root is missing", "tt-mlir#8561",
       Policy{.no_root = true}, both},
      {"epsilon_outside", "epsilon", "adds epsilon to the root, not under it", "axlearn#21, llama.cpp#20350",
       Policy{.epsilon = MutantEpsilon::kOutside}, both},
      {"epsilon_dropped", "epsilon", "ignores epsilon", "tensorflow#58863, TIM-VX#589", Policy{.epsilon = MutantEpsilon::kDropped}, both},
      {"epsilon_fixed", "epsilon", "takes 1e-5 whatever epsilon is asked for", "TIM-VX#589 (there the constant is 0)",
       Policy{.epsilon = MutantEpsilon::kFixed}, both},
      {"epsilon_maximum", "epsilon", "max(variance, epsilon) in place of the sum", "llama.cpp#20350, openvino#36778, optax#1703",
       Policy{.epsilon = MutantEpsilon::kMaximum}, both},
      {"epsilon_in_count", "epsilon", "adds epsilon to the number of columns", "LeetCUDA#309", Policy{.epsilon = MutantEpsilon::kInCount},
       both},
      {"epsilon_in_f16", "epsilon", "keeps epsilon in f16, where 1e-12 is 0", "pytorch#41527, pytorch#32137, DeepSpeed#581",
       Policy{.narrow = kNarrowEpsilon}, both, f16},
      {"rsqrt_12_bits", "rsqrt", "an estimate of the reciprocal root without the refinement step", "ncnn#6903, ncnn#5272",
       Policy{.root_bits = 12}, both},
      {"rsqrt_20_bits", "rsqrt", "a reciprocal root good to 20 bits", "ncnn#6903, tt-metal#51420", Policy{.root_bits = 20}, both},
      {"dropped_tail", "width and tails", "the columns behind the last full vector of 4 do not enter the sums",
       "openvino#35912, triton#9838", Policy{.vector_width = 4}, both},
      {"padded_lanes", "width and tails", "the zeros that fill the last vector of 8 enter the variance",
       "Liger#518, unsloth#1867, triton#9838", Policy{.padded_to = 8}, centred},
      {"half_of_middle", "width and tails", "of 257 to 512 columns only 256 enter the sums", "mlxcel#830, mlxcel#1033",
       Policy{.half_of_middle = true}, both},
      {"shifted_weight", "parameters", "reads the next element's weight", "onnxruntime#28424", Policy{.weight_shift = 1}, both},
      {"bf16_mean", "rounding", "keeps the mean in bf16", "aiter#5151, vllm#52104", Policy{.bf16_mean = true}, centred},
      {"truncated_result", "rounding", "cuts the result to the storage type's bits", "aiter#5151", Policy{.truncates = true}, both, narrow},
      {"rounded_before_weight", "rounding", "rounds to the storage type before the weight",
       "vllm#42379, vllm-xpu-kernels#536, TransformerEngine#1132", Policy{.narrow = kNarrowNormalized}, both, narrow},
      {"offset_weight_rounded", "rounding", "rounds 1 + weight to the storage type", "vllm#29810, vllm#53203",
       Policy{.narrow = kNarrowOffsetWeight}, rms, narrow},
      {"squares_in_f16", "16-bit range", "squares in f16: infinite above 256", "brainchop-cli#56, ConvNeXt#80, pytorch#133085",
       Policy{.narrow = kNarrowSquares}, both, f16},
      {"statistic_in_f16", "16-bit range", "keeps the statistic in f16: a row of zeros above a root mean square of 256",
       "onnxruntime#29034, openvino#36504, TensorRT#2564", Policy{.narrow = kNarrowStatistic}, both, f16},
      {"count_in_f16", "16-bit range", "the number of columns in f16", "executorch#16727", Policy{.f16_count = true}, both},
      {"sums_in_storage", "16-bit range", "accumulates in the storage type", "pytorch#54293, pytorch#143182 (long sums)",
       Policy{.narrow = kNarrowSum}, both, narrow},
  };
  return kList;
}

}  // namespace

std::span<const Mutant> all_mutants() { return list(); }

const Mutant* find_mutant(std::string_view name) { return find_named(list(), name); }

}  // namespace normfuzz
