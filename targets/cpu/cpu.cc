// The in-tree reference kernels behind the plug-in interface: the formulas of oracles/ops on machine numbers, rows one after another.
// They share the oracle's formulas, so they show a bound that is too tight, never a formula that is wrong.
#include <string_view>

#include "oracles/ops/row_inputs.h"
#include "targets/cpu/row_call.h"
#include "targets/cpu/two_pass_arithmetic.h"

namespace normfuzz {
namespace {

#include "oracles/ops/all-inl.h"

template <class T>
void run_rows(std::string_view op, const RowCall& call) {
  const TwoPassArithmetic<T> arithmetic(call.cols());
  std::vector<double> x(static_cast<std::size_t>(call.cols()));
  const RowInputs row{call.cols(), x.data(), call.weight.data(), call.bias.data(), call.epsilon, call.weight_offset};
  for (std::int64_t r = 0; r < call.rows(); ++r) {
    call.gather(r, x.data());
    call.scatter(r, evaluate_formula(op, arithmetic, row));
  }
}

nf_status run(const nf_call* call) {
  return guarded_run(call, [](const TargetCall& arguments) -> std::string {
    if (arguments.op() != "layer_norm" && arguments.op() != "rms_norm") throw Unsupported("no kernel for this operator");
    if (arguments.op() == "layer_norm" && arguments.number("weight_offset", 0) != 0) throw Unsupported("layer_norm has no weight_offset");
    const RowCall rows(arguments);
    if (rows.storage == DType::kF64)
      run_rows<double>(arguments.op(), rows);
    else
      run_rows<float>(arguments.op(), rows);
    return "";
  });
}

const char* version() { return NORMFUZZ_VERSION; }

}  // namespace
}  // namespace normfuzz

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::version, normfuzz::run};
  return &target;
}
