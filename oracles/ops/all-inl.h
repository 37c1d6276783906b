// The formulas of all operators, each written once over an Arithmetic (interval_arithmetic.h shows its primitives).
// Pure templates without namespace or guard: ordinary code includes this inside a namespace of its own, the SIMD filter once per Highway
// target inside HWY_NAMESPACE, because a template compiled for the base instruction set cannot inline vector code.
// The includer has included oracles/ops/row_inputs.h and <string_view>. Adding an operator: a file and a line in each of the two lists
// here.
#include "oracles/ops/layer_norm-inl.h"
#include "oracles/ops/rms_norm-inl.h"

// Runs the formula named `op` on one row. Premise: validate() accepted the op.
template <class Arithmetic>
auto evaluate_formula(std::string_view op, const Arithmetic& a, const RowInputs& row) {
  if (op == "rms_norm") return rms_norm(a, row);
  return layer_norm(a, row);
}
