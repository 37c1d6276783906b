#include "oracles/ops/geometry.h"

namespace normfuzz {

extern const OpInfo kAddRmsNorm = {
    "add_rms_norm",
    "rms_norm of x + residual over the last dimension; residual_new = x + residual",
    {{"x", true}, {"residual", true}, {"weight", false}},
    {"epsilon", "weight_offset"},
    {"y", "residual_new"},
    geometry::validate_trailing,
    geometry::trailing_rows,
    geometry::with_residual,
    Formula::kAddRmsNorm,
    OutputShape::kElements,
    geometry::trailing_rows,
};

}  // namespace normfuzz
