#include "oracles/ops/geometry.h"

namespace normfuzz {

extern const OpInfo kChannelLayerNorm = {
    "channel_layer_norm",
    "layer_norm over the channels at each position of an nchw or nhwc tensor",
    {{"x", true}, {"weight", false}, {"bias", false}},
    {"epsilon", "layout"},
    {"y"},
    geometry::validate_channels,
    geometry::channel_rows,
    geometry::elements_like_input,
    Formula::kLayerNorm,
};

extern const OpInfo kChannelLayerNormBackward = {
    "channel_layer_norm_backward",
    "layer_norm_backward over the channels at each position",
    {{"x", true}, {"dy", true}, {"weight", false}},
    {"epsilon", "layout"},
    {"dx", "dweight", "dbias"},
    geometry::validate_channels,
    geometry::channel_rows,
    geometry::gradients,
    Formula::kLayerNorm,
    OutputShape::kGradients,
};

extern const OpInfo kChannelLayerNormSgd = {
    "channel_layer_norm_sgd",
    "weight - learning_rate dweight, bias - learning_rate dbias: the fused update of channel_layer_norm",
    {{"x", true}, {"dy", true}, {"weight", true}, {"bias", false}},
    {"epsilon", "layout", "learning_rate"},
    {"weight_new", "bias_new"},
    geometry::validate_channels,
    geometry::channel_rows,
    geometry::updated_parameters,
    Formula::kLayerNorm,
    OutputShape::kUpdate,
};

}  // namespace normfuzz
