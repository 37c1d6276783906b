#include "oracles/ops/geometry.h"

namespace normfuzz {

extern const OpInfo kGroupNorm = {
    "group_norm",
    "layer_norm over the channels of a group and their positions, of every sample; weight and bias by channel",
    {{"x", true}, {"weight", false}, {"bias", false}},
    {"epsilon", "groups", "layout"},
    {"y"},
    geometry::validate_groups,
    geometry::group_rows,
    geometry::elements_like_input,
    Formula::kLayerNorm,
};

extern const OpInfo kInstanceNorm = {
    "instance_norm",
    "group_norm with one channel per group",
    {{"x", true}, {"weight", false}, {"bias", false}},
    {"epsilon", "layout"},
    {"y"},
    geometry::validate_instances,
    geometry::instance_rows,
    geometry::elements_like_input,
    Formula::kLayerNorm,
};

extern const OpInfo kGroupNormBackward = {
    "group_norm_backward",
    "layer_norm_backward of every group; dweight = sum dy xhat, dbias = sum dy over a channel's elements",
    {{"x", true}, {"dy", true}, {"weight", false}},
    {"epsilon", "groups", "layout"},
    {"dx", "dweight", "dbias"},
    geometry::validate_groups,
    geometry::group_rows,
    geometry::gradients,
    Formula::kLayerNorm,
    OutputShape::kGradients,
};

extern const OpInfo kInstanceNormBackward = {
    "instance_norm_backward",
    "group_norm_backward with one channel per group",
    {{"x", true}, {"dy", true}, {"weight", false}},
    {"epsilon", "layout"},
    {"dx", "dweight", "dbias"},
    geometry::validate_instances,
    geometry::instance_rows,
    geometry::gradients,
    Formula::kLayerNorm,
    OutputShape::kGradients,
};

}  // namespace normfuzz
