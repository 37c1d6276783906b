#include "oracles/ops/geometry.h"

namespace normfuzz {

// What an op named layer_norm_graph computes is written in its parameter `pattern`; a target offers it where a compiler could rewrite it.
extern const OpInfo kLayerNormGraph = {
    "layer_norm_graph",
    "layer_norm over the last dimension as a graph of simple nodes, with one of them changed (pattern)",
    {{"x", true}, {"weight", false}, {"bias", false}},
    {"epsilon", "pattern"},
    {"y"},
    geometry::validate_trailing,
    geometry::trailing_rows,
    geometry::elements_like_input,
    Formula::kLayerNormGraph,
};

}  // namespace normfuzz
