// y_i = x_i / sqrt(mean(x^2) + epsilon) * (weight_offset + weight_i) + bias_i over the trailing dimensions.
// A pure template: ordinary code includes it once, the SIMD filter once per Highway target.
#ifndef NORMFUZZ_ORACLES_OPS_RMS_NORM_INL_H_
#define NORMFUZZ_ORACLES_OPS_RMS_NORM_INL_H_

#include "oracles/ops/row_inputs.h"

namespace normfuzz {

struct RmsNorm;  // rms_norm.cc: inputs, parameters, shapes

template <class Arithmetic>
auto formula(RmsNorm*, const Arithmetic& a, const RowInputs& row) {
  const auto scale = a.rsqrt(a.mean_square(row), row.epsilon);
  return a.map(row, [&](const auto& x, const auto& weight, const auto& bias) {
    return a.scaled(x, scale, a.offset_weight(weight, row.weight_offset), bias);
  });
}

}  // namespace normfuzz

#endif
