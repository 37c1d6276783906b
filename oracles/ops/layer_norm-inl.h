// y_i = (x_i - mean) / sqrt(variance + epsilon) * weight_i + bias_i, population moments over the trailing dimensions.
// A pure template: ordinary code includes it once, the SIMD filter once per Highway target.
#ifndef NORMFUZZ_ORACLES_OPS_LAYER_NORM_INL_H_
#define NORMFUZZ_ORACLES_OPS_LAYER_NORM_INL_H_

#include "oracles/ops/row_inputs.h"

namespace normfuzz {

struct LayerNorm;  // layer_norm.cc: inputs, parameters, shapes

template <class Arithmetic>
auto formula(LayerNorm*, const Arithmetic& a, const RowInputs& row) {
  const auto moments = a.moments(row);
  const auto scale = a.rsqrt(moments.variance, row.epsilon);
  return a.map(row, [&](const auto& x, const auto& weight, const auto& bias) { return a.affine(x, moments.mean, scale, weight, bias); });
}

}  // namespace normfuzz

#endif
