// The mutants behind the plug-in interface; the environment variable NORMFUZZ_MUTANT chooses one by name, without it the correct kernel
// runs.
#include <algorithm>
#include <cstdlib>

#include "targets/cpu/row_call.h"
#include "targets/mutants/call_mutant.h"
#include "targets/mutants/mutant.h"
#include "targets/mutants/op_mutant.h"
#include "targets/mutants/row_runs.h"

namespace normfuzz {
namespace {

std::string_view chosen_name() {
  const char* name = std::getenv("NORMFUZZ_MUTANT");
  return name == nullptr || *name == '\0' ? "two_pass" : name;
}

void require_dtype(const auto& mutant, DType storage) {
  if (!mutant.dtypes.empty() && std::find(mutant.dtypes.begin(), mutant.dtypes.end(), storage) == mutant.dtypes.end())
    throw Unsupported(std::string(mutant.name) + " changes nothing in " + std::string(name_of(storage)));
}

void run_rows(const Mutant& mutant, const TargetCall& arguments) {
  const RowCall rows(arguments);
  require_dtype(mutant, rows.storage);
  run_rows(arguments, rows, [&](const RowInputs&) { return mutant.policy; });
}

std::vector<double> flat(const DLTensor* tensor, const std::string& name) {
  if (tensor == nullptr) return {};
  const Rows values = as_one_row(*tensor, name);
  std::vector<double> out(static_cast<std::size_t>(values.cols()));
  values.gather(0, out.data());
  return out;
}

OpInputs op_inputs(const TargetCall& arguments, const RowCall& rows) {
  OpInputs in;
  in.op = arguments.op();
  in.storage = rows.storage;
  const DLTensor* x = arguments.input("q") ? arguments.input("q") : arguments.input("x") ? arguments.input("x") : arguments.input("a");
  in.shape.assign(x->shape, x->shape + x->ndim);
  const RowAxes axes(arguments, *x);
  in.first = axes.inner.front().dimension;
  in.end = axes.inner.back().dimension + 1;
  if (has_groups(in.op)) in.groups = axes.outer.back().extent;
  in.batch_in_row = in.op.starts_with("batch_norm");
  in.training = arguments.integer("training", 0) == 1;
  in.sample_variance = rows.sample_variance;
  in.running_mean = rows.running_mean;
  in.running_variance = rows.running_variance;
  in.momentum = rows.momentum;
  if (const DLTensor* k = arguments.input("k")) {
    const RowCall keys(arguments, "k", "k_weight");
    in.key_shape.assign(k->shape, k->shape + k->ndim);
    in.k = flat(k, "k");
    in.k_weight = keys.weight;
  }
  in.channels_last = arguments.text("layout", "nchw") == "nhwc";
  in.x = flat(x, "x");
  for (const char* name : {"dy", "b", "residual"})
    if (const DLTensor* other = arguments.input(name)) in.other = flat(other, name);
  in.weight = rows.weight;
  in.bias = rows.bias;
  in.epsilon = rows.epsilon;
  in.weight_offset = rows.weight_offset;
  in.p = rows.p;
  in.learning_rate = rows.learning_rate;
  in.epsilon_mode = rows.epsilon_mode;
  in.pattern = rows.pattern;
  return in;
}

RowCall op_rows(const TargetCall& arguments) {
  return arguments.op() == "qk_norm" ? RowCall(arguments, "q", "q_weight") : RowCall(arguments);
}

void run_op(OpBug bug, const MutantPolicy& policy, const TargetCall& arguments) {
  const RowCall rows = op_rows(arguments);
  const OpInputs in = op_inputs(arguments, rows);
  for (const auto& [name, values] : run_op_mutant(bug, policy, in))
    if (const DLTensor* output = arguments.output(name)) as_one_row(*output, name).scatter(0, values.data());
}

// What a mutant is made for; controls serve every operator.
void dispatch(const nf_call& call) {
  const TargetCall arguments(call);
  const std::string_view op = arguments.op(), name = chosen_name();
  const Mutant* mutant = find_mutant(name);
  const OpMutant* op_mutant = find_op_mutant(name);
  const CallMutant* call_mutant = find_call_mutant(name);
  if (mutant == nullptr && op_mutant == nullptr && call_mutant == nullptr)
    throw Rejected("NORMFUZZ_MUTANT is '" + std::string(name) + "', expected the name of a variant in the manifest");
  const auto has_op = [&](const auto& made_for) { return std::find(made_for.begin(), made_for.end(), op) != made_for.end(); };
  if (op_mutant != nullptr && has_op(op_mutant->ops)) {
    require_dtype(*op_mutant, op_rows(arguments).storage);
    return run_op(op_mutant->defect, MutantPolicy{}, arguments);
  }
  if (call_mutant != nullptr && has_op(call_mutant->ops)) return call_mutant->run(call);
  if (mutant != nullptr && has_op(mutant->ops)) return run_rows(*mutant, arguments);
  if (mutant == nullptr || op == "rms_norm" || !mutant->control())
    throw Unsupported(std::string(name) + " is no kernel of " + std::string(op));
  run_op(OpBug::kNone, mutant->policy, arguments);
}

nf_status run(const nf_call* call) {
  return guarded_run(call, [&](const TargetCall& arguments) -> std::string {
    require_row_op(arguments);
    dispatch(*call);
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
