#include "oracles/ops/rowwise.h"

namespace normfuzz {

extern const OpInfo kRmsNorm = {
    "rms_norm",
    "y = x / sqrt(mean(x^2) + epsilon) * (weight_offset + weight) + bias over the trailing dimensions",
    {{"x", true}, {"weight", false}, {"bias", false}},
    {"epsilon", "normalized_axis", "weight_offset"},
    {"y"},
    rowwise::validate,
    rowwise::rows,
    rowwise::output_layouts,
};

}  // namespace normfuzz
