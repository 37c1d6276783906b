#include "targets/mutants/call_mutant.h"

#include "targets/mutants/find_named.h"

namespace normfuzz {
namespace {

const std::vector<CallMutant>& list() {
  const std::vector<std::string_view> both = {"layer_norm", "rms_norm"};
  static const std::vector<CallMutant> kList = {
      {"strides_ignored", "layout", "reads a strided input as a dense one", "unsloth#10617, LightLLM#1467, quack#88, pytorch#131750", both,
       run_strides_ignored},
      {"aligned_loads", "layout", "reads the input from the multiple of 16 bytes below its address",
       "TransformerEngine#490, onnxruntime#15054", both, run_aligned_loads},
      {"input_overwritten", "memory", "uses its input as scratch memory", "onnxruntime#20623, llama.cpp#24305, Liger#376", both,
       run_input_overwritten},
      {"absent_weight_is_zero", "parameters", "takes an absent weight for zeros", "pytorch#69208, onnxruntime#28424", both,
       run_absent_weight_is_zero},
      {"row_count_in_16_bits", "counts", "the number of rows modulo 65536", "apex#411, llama.cpp#28175, pytorch#16998", both,
       run_row_count_in_16_bits},
      {"order_by_row_count", "determinism", "up to 3 rows are summed in another order", "vllm#48271, vllm#48391, vllm#57280", both,
       run_order_by_row_count},
      {"alternating_order", "determinism", "every second call sums in another order", "Paddle#56100, flash-attention#781, llama.cpp#3057",
       both, run_alternating_order},
      {"rare_width",
       "planted",
       "1536 to 1551 columns with mean/std above 2^10: the operands of mean(x^2) - mean^2 swapped",
       "mlxcel#830 (one range of widths), vllm#44692",
       {"layer_norm"},
       run_rare_width,
       true},
      {"rare_rows",
       "planted",
       "65536 rows without a weight: the last row is not written",
       "pytorch#192016, apex#411",
       {"layer_norm", "rms_norm"},
       run_rare_rows,
       true},
      {"rare_epsilon",
       "planted",
       "epsilon within 1 % of the statistic that it is added to, columns 5 modulo 8: epsilon is dropped",
       "tensorflow#58863, vllm#44692 (one class of widths)",
       {"layer_norm", "rms_norm"},
       run_rare_epsilon,
       true},
  };
  return kList;
}

}  // namespace

std::span<const CallMutant> call_mutants() { return list(); }

const CallMutant* find_call_mutant(std::string_view name) { return find_named(list(), name); }

}  // namespace normfuzz
