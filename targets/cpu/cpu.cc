// The in-tree reference kernels behind the plug-in interface: the formulas of oracles/ops on machine numbers, rows one after another.
// They share the oracle's formulas, so they show a bound that is too tight, never a formula that is wrong.
#include <limits>
#include <string_view>
#include <vector>

#include "oracles/ops/row_inputs.h"
#include "targets/cpu/row_call.h"
#include "targets/cpu/two_pass_arithmetic.h"

namespace normfuzz {
namespace {

#include "oracles/ops/all-inl.h"

// The rows of a call in turn.
template <class Visit>
void each_row(const RowCall& call, Visit visit) {
  const auto n = static_cast<std::size_t>(call.cols());
  std::vector<double> x(n), other(call.has_other() ? n : 0);
  for (std::int64_t r = 0; r < call.rows(); ++r) {
    call.gather(r, x.data());
    if (call.has_other()) call.gather_other(r, other.data());
    visit(r, call.row(r, x.data(), other.data()));
  }
}

// y of the input's shape, or dx.
template <class T>
void map_rows(const TargetCall& arguments, const RowCall& call, const std::string& output) {
  const TwoPassArithmetic<T> arithmetic(call.cols());
  const Rows y = call.elements(arguments, output);
  each_row(call, [&](std::int64_t r, const RowInputs& row) { y.scatter(r, evaluate_formula(arguments.op(), arithmetic, row)); });
}

// The new running statistics of a batch norm in training, where it has some.
template <class T>
void move_running_statistics(const TargetCall& arguments, const RowCall& call) {
  if (arguments.output("running_mean_new") == nullptr) return;
  const TwoPassArithmetic<T> arithmetic(call.cols());
  std::vector<T> mean, variance;
  each_row(call, [&](std::int64_t, const RowInputs& row) {
    const auto moved = running_statistics(arithmetic, row);
    mean.push_back(moved[0]);
    variance.push_back(moved[1]);
  });
  as_one_row(arguments.required_output("running_mean_new"), "running_mean_new").scatter(0, mean.data());
  as_one_row(arguments.required_output("running_var_new"), "running_var_new").scatter(0, variance.data());
}

// residual_new.
template <class T>
void add_residual(const TargetCall& arguments, const RowCall& call) {
  const TwoPassArithmetic<T> arithmetic(call.cols());
  const Rows sum = call.elements(arguments, "residual_new");
  each_row(call, [&](std::int64_t r, const RowInputs& row) { sum.scatter(r, residual_sum(arithmetic, row)); });
}

// One number per row.
template <class T>
void reduce_rows(const TargetCall& arguments, const RowCall& call) {
  const TwoPassArithmetic<T> arithmetic(call.cols());
  std::vector<T> results;
  each_row(call, [&](std::int64_t, const RowInputs& row) { results.push_back(*evaluate_formula(arguments.op(), arithmetic, row)); });
  as_one_row(arguments.required_output("y"), "y").scatter(0, results.data());
}

// dweight and dbias, or the updated weight and bias; those that are asked for.
template <class T>
void sum_over_rows(const TargetCall& arguments, const RowCall& call, bool update) {
  const TwoPassArithmetic<T> arithmetic(call.cols());
  ParameterGradients<TwoPassArithmetic<T>> sums;
  sums.weight.resize(call.weight.size());
  sums.bias.resize(call.weight.size());
  each_row(call, [&](std::int64_t r, const RowInputs& row) {
    sums.add(arguments.op(), arithmetic, row, [&](std::int64_t i) { return call.parameter(r, i); });
  });
  for (const bool weight : {true, false}) {
    const char* name = update ? (weight ? "weight_new" : "bias_new") : weight ? "dweight" : "dbias";
    DLTensor* output = arguments.output(name);
    if (output == nullptr) continue;
    std::vector<T> values;
    const std::vector<double>& parameters = weight ? call.weight : call.bias;
    for (std::size_t j = 0; j < parameters.size(); ++j) {
      const T gradient = (weight ? sums.weight : sums.bias)[j].total();
      values.push_back(update ? updated(arithmetic, parameters[j], call.learning_rate, gradient) : gradient);
    }
    as_one_row(*output, name).scatter(0, values.data());
  }
}

template <class T>
void run_in(const TargetCall& arguments, const RowCall& call) {
  const std::string_view op = arguments.op();
  if (op.ends_with("_sgd")) return sum_over_rows<T>(arguments, call, true);
  if (op.ends_with("_backward")) {
    map_rows<T>(arguments, call, "dx");
    return sum_over_rows<T>(arguments, call, false);
  }
  if (op == "lp_norm" || op == "rms" || op == "distance" || op == "cosine") return reduce_rows<T>(arguments, call);
  map_rows<T>(arguments, call, "y");
  if (op == "batch_norm") move_running_statistics<T>(arguments, call);
  if (op == "add_rms_norm") add_residual<T>(arguments, call);
}

template <class T>
void run_heads(const TargetCall& arguments, const RowCall& q, const RowCall& k) {
  map_rows<T>(arguments, q, "q_out");
  map_rows<T>(arguments, k, "k_out");
}

nf_status run(const nf_call* call) {
  return guarded_run(call, [](const TargetCall& arguments) -> std::string {
    require_row_op(arguments);
    if (arguments.op() == "qk_norm") {
      const RowCall q(arguments, "q", "q_weight"), k(arguments, "k", "k_weight");
      if (q.storage == DType::kF64)
        run_heads<double>(arguments, q, k);
      else
        run_heads<float>(arguments, q, k);
      return "";
    }
    const RowCall rows(arguments);
    if (rows.storage == DType::kF64)
      run_in<double>(arguments, rows);
    else
      run_in<float>(arguments, rows);
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
