#include "oracles/ops/geometry.h"

namespace normfuzz {

extern const OpInfo kBatchNorm = {
    "batch_norm",
    "layer_norm over one channel of all samples, or by running_mean and running_var where training is 0; training also gives (1 - "
    "momentum) "
    "running + momentum batch of both, with the variance that `variance` names",
    {{"x", true}, {"weight", false}, {"bias", false}, {"running_mean", false}, {"running_var", false}},
    {"epsilon", "layout", "training", "momentum", "variance"},
    {"y", "running_mean_new", "running_var_new"},
    geometry::validate_batch,
    geometry::batch_rows,
    geometry::with_running_statistics,
    Formula::kLayerNorm,
    OutputShape::kStatistics,
};

extern const OpInfo kBatchNormBackward = {
    "batch_norm_backward",
    "layer_norm_backward over one channel of all samples, by the batch's statistics",
    {{"x", true}, {"dy", true}, {"weight", false}},
    {"epsilon", "layout"},
    {"dx", "dweight", "dbias"},
    geometry::validate_batch_gradient,
    geometry::batch_rows,
    geometry::gradients,
    Formula::kLayerNorm,
    OutputShape::kGradients,
};

}  // namespace normfuzz
