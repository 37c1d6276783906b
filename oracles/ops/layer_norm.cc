#include "oracles/ops/geometry.h"

namespace normfuzz {

extern const OpInfo kLayerNorm = {
    "layer_norm",
    "y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the trailing dimensions",
    {{"x", true}, {"weight", false}, {"bias", false}},
    {"epsilon", "normalized_axis"},
    {"y"},
    geometry::validate_trailing,
    geometry::trailing_rows,
    geometry::elements_like_input,
    Formula::kLayerNorm,
};

extern const OpInfo kLayerNormBackward = {
    "layer_norm_backward",
    "dx = scale (g - mean(g) - xhat mean(g xhat)), g = weight dy; dweight = sum dy xhat, dbias = sum dy over the rows",
    {{"x", true}, {"dy", true}, {"weight", false}},
    {"epsilon", "normalized_axis"},
    {"dx", "dweight", "dbias"},
    geometry::validate_trailing,
    geometry::trailing_rows,
    geometry::gradients,
    Formula::kLayerNorm,
    OutputShape::kGradients,
};

extern const OpInfo kLayerNormSgd = {
    "layer_norm_sgd",
    "weight - learning_rate dweight, bias - learning_rate dbias: the fused update of layer_norm",
    {{"x", true}, {"dy", true}, {"weight", true}, {"bias", false}},
    {"epsilon", "normalized_axis", "learning_rate"},
    {"weight_new", "bias_new"},
    geometry::validate_trailing,
    geometry::trailing_rows,
    geometry::updated_parameters,
    Formula::kLayerNorm,
    OutputShape::kUpdate,
};

}  // namespace normfuzz
