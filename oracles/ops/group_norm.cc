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

}  // namespace normfuzz
