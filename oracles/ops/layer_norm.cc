#include "oracles/ops/rowwise.h"

namespace normfuzz {

extern const OpInfo kLayerNorm = {
    "layer_norm",
    "y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the trailing dimensions",
    {{"x", true}, {"weight", false}, {"bias", false}},
    {"epsilon", "normalized_axis"},
    {"y"},
    rowwise::validate,
    rowwise::rows,
    rowwise::output_layouts,
};

}  // namespace normfuzz
