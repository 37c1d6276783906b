// The one list of formulas. Adding an operator: its -inl.h, its .cc and a line in each of the two lists (here and in op.cc).
#include "oracles/ops/layer_norm-inl.h"
#include "oracles/ops/rms_norm-inl.h"

#ifndef NORMFUZZ_ORACLES_OPS_ALL_INL_H_
#define NORMFUZZ_ORACLES_OPS_ALL_INL_H_

#include <string_view>

namespace normfuzz {

// Calls visit(static_cast<Op*>(nullptr)) for the formula named `op`. Premise: validate() accepted the op.
template <class Visitor>
auto with_formula(std::string_view op, Visitor visit) {
  if (op == "rms_norm") return visit(static_cast<RmsNorm*>(nullptr));
  return visit(static_cast<LayerNorm*>(nullptr));
}

}  // namespace normfuzz

#endif
