// The formulas that map a row by an affine weight and bias: what the SIMD filter certifies. As all-inl.h.
#include "oracles/ops/layer_norm-inl.h"
#include "oracles/ops/rms_norm-inl.h"

template <class Arithmetic>
auto evaluate_affine(std::string_view op, const Arithmetic& a, const RowInputs& row) {
  if (op == "rms_norm" || op == "qk_norm") return rms_norm(a, row);
  return layer_norm(a, row);
}
