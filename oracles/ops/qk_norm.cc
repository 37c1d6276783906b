#include "oracles/ops/geometry.h"

namespace normfuzz {

extern const OpInfo kQkNorm = {
    "qk_norm",
    "rms_norm of every head of q and of k, each with its weight",
    {{"q", true}, {"k", true}, {"q_weight", false}, {"k_weight", false}},
    {"epsilon"},
    {"q_out", "k_out"},
    geometry::validate_heads,
    geometry::query_rows,
    geometry::heads,
    Formula::kRmsNorm,
    OutputShape::kElements,
    geometry::key_rows,
};

}  // namespace normfuzz
