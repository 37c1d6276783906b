#include "oracles/ops/geometry.h"

namespace normfuzz {

extern const OpInfo kRmsNorm = {
    "rms_norm",
    "y = x / sqrt(mean(x^2) + epsilon) * (weight_offset + weight) + bias over the trailing dimensions",
    {{"x", true}, {"weight", false}, {"bias", false}},
    {"epsilon", "normalized_axis", "weight_offset"},
    {"y"},
    geometry::validate_trailing,
    geometry::trailing_rows,
    geometry::elements_like_input,
    Formula::kRmsNorm,
};

extern const OpInfo kRmsNormBackward = {
    "rms_norm_backward",
    "dx = scale (g - xhat mean(g xhat)), g = (weight_offset + weight) dy; dweight = sum dy xhat over the rows",
    {{"x", true}, {"dy", true}, {"weight", false}},
    {"epsilon", "normalized_axis", "weight_offset"},
    {"dx", "dweight"},
    geometry::validate_trailing,
    geometry::trailing_rows,
    geometry::gradients,
    Formula::kRmsNorm,
    OutputShape::kGradients,
};

extern const OpInfo kRmsNormSgd = {
    "rms_norm_sgd",
    "weight - learning_rate dweight: the fused update of rms_norm",
    {{"x", true}, {"dy", true}, {"weight", true}},
    {"epsilon", "normalized_axis", "weight_offset", "learning_rate"},
    {"weight_new"},
    geometry::validate_trailing,
    geometry::trailing_rows,
    geometry::updated_parameters,
    Formula::kRmsNorm,
    OutputShape::kUpdate,
};

}  // namespace normfuzz
