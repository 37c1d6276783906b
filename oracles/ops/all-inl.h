// The formulas of all operators, each written once over an Arithmetic (interval_arithmetic.h shows its primitives).
// Pure templates without namespace or guard: ordinary code includes this inside a namespace of its own. The SIMD filter includes
// affine-inl.h alone, once per Highway target inside HWY_NAMESPACE, because a template compiled for the base instruction set cannot inline
// vector code.
// The includer has included oracles/ops/row_inputs.h, <limits>, <string_view> and <vector>. Adding an operator: a file here and a line
// below.
#include "oracles/ops/affine-inl.h"
#include "oracles/ops/backward-inl.h"
#include "oracles/ops/graph-inl.h"
#include "oracles/ops/norms-inl.h"
// after these
#include "oracles/ops/add_rms_norm-inl.h"
#include "oracles/ops/running_statistics-inl.h"

// Runs the formula named `op` on one row: y, or dx of a backward. Premise: validate() accepted the op, and it is not an update.
template <class Arithmetic>
auto evaluate_formula(std::string_view op, const Arithmetic& a, const RowInputs& row) {
  if (op == "rms_norm_backward") return rms_norm_backward(a, row);
  if (op.ends_with("_backward")) return layer_norm_backward(a, row);
  if (op == "add_rms_norm") return row.second_output ? residual_sum(a, row) : add_rms_norm(a, row);
  if (op == "lp_norm") return lp_norm(a, row);
  if (op == "rms") return rms(a, row);
  if (op == "distance") return distance(a, row);
  if (op == "cosine") return cosine(a, row);
  if (op == "lp_normalize") return lp_normalize(a, row);
  if (op == "layer_norm_graph") return layer_norm_graph(a, row);
  return evaluate_affine(op, a, row);
}
