// How the tensors of a call are taken: strides, alignment, absence, and whose memory it is.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "targets/mutants/call_mutant.h"
#include "targets/mutants/row_runs.h"

namespace normfuzz {
namespace {

// The plain kernel on the call with another description of x.
template <class Change>
void run_with_other_x(const nf_call& call, Change change) {
  std::vector<nf_tensor_arg> inputs(call.inputs, call.inputs + call.input_count);
  DLTensor x = TargetCall(call).required_input("x");
  std::vector<std::int64_t> strides(x.strides, x.strides + x.ndim);
  x.strides = strides.data();
  change(x);
  for (nf_tensor_arg& input : inputs)
    if (std::string_view(input.name) == "x") input.tensor = &x;
  nf_call changed = call;
  changed.inputs = inputs.data();
  run_plain_rows(TargetCall(changed));
}

}  // namespace

// A stride of 0 is left alone: a dense tensor of that shape would end beyond the memory that there is.
void run_strides_ignored(const nf_call& call) {
  run_with_other_x(call, [](DLTensor& x) {
    if (std::find(x.strides, x.strides + x.ndim, 0) != x.strides + x.ndim) return;
    std::int64_t stride = 1;
    for (std::int32_t i = x.ndim; i-- > 0; stride *= x.shape[i]) x.strides[i] = stride;
  });
}

void run_aligned_loads(const nf_call& call) {
  run_with_other_x(call, [](DLTensor& x) {
    const std::size_t excess = std::bit_cast<std::uintptr_t>(tensor_data(x)) % 16;
    x.data = static_cast<char*>(tensor_data(x)) - excess;
    x.byte_offset = 0;
  });
}

void run_input_overwritten(const nf_call& call) {
  const TargetCall arguments(call);
  const RowCall rows(arguments);
  run_plain_rows(arguments);
  const DLTensor& x = arguments.required_input("x");
  const Rows y = as_one_row(arguments.required_output("y"), "y");
  std::vector<double> values(static_cast<std::size_t>(y.cols()));
  y.gather(0, values.data());
  as_one_row(x, "x").scatter(0, values.data());
}

void run_absent_weight_is_zero(const nf_call& call) {
  const TargetCall arguments(call);
  RowCall rows(arguments);
  if (arguments.input("weight") == nullptr) std::fill(rows.weight.begin(), rows.weight.end(), 0);
  run_rows(arguments, rows, [](const RowInputs&) { return MutantPolicy{}; });
}

}  // namespace normfuzz
