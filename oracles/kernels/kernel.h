// The formulas of oracles/ops as kernels: machine arithmetic with the choices of KernelOptions.
#pragma once

#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "oracles/bound.h"
#include "oracles/kernels/kernel_options.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

// One row of `op` (y, or dx of a backward), computed in `accumulate` and rounded to `storage`. Premise: n >= 1, and inputs that are numbers
// of `accumulate`.
std::vector<double> run_kernel(const KernelOptions& kernel, std::string_view op, DType accumulate, DType storage, const RowInputs& row);

// One slice of the outputs of a case: a row, or the sums over all rows.
std::vector<double> run_kernel(const KernelOptions& kernel, const CaseRows& rows, std::int64_t slice, DType accumulate);

}  // namespace normfuzz
