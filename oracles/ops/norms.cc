#include "oracles/ops/geometry.h"

namespace normfuzz {

extern const OpInfo kLpNorm = {
    "lp_norm",
    "y = (sum |x|^p)^(1/p) along an axis; the largest |x| for p = inf",
    {{"x", true}},
    {"p", "axis"},
    {"y"},
    geometry::validate_axis,
    geometry::axis_rows,
    geometry::one_per_row,
    Formula::kLpNorm,
    OutputShape::kRows,
};

extern const OpInfo kRms = {
    "rms",
    "y = sqrt(mean(x^2) + epsilon) along an axis",
    {{"x", true}},
    {"epsilon", "axis"},
    {"y"},
    geometry::validate_axis,
    geometry::axis_rows,
    geometry::one_per_row,
    Formula::kRms,
    OutputShape::kRows,
};

extern const OpInfo kDistance = {
    "distance",
    "y = (sum |a - b|^p)^(1/p) along an axis",
    {{"a", true}, {"b", true}},
    {"p", "axis"},
    {"y"},
    geometry::validate_axis,
    geometry::axis_rows,
    geometry::one_per_row,
    Formula::kDistance,
    OutputShape::kRows,
};

extern const OpInfo kCosine = {
    "cosine",
    "y = a b / (|a| |b|) along an axis; epsilon_mode max_norm: each length at least epsilon",
    {{"a", true}, {"b", true}},
    {"epsilon", "epsilon_mode", "axis"},
    {"y"},
    geometry::validate_axis,
    geometry::axis_rows,
    geometry::one_per_row,
    Formula::kCosine,
    OutputShape::kRows,
};

extern const OpInfo kLpNormalize = {
    "lp_normalize",
    "y = x / |x|_p along an axis; epsilon as epsilon_mode says",
    {{"x", true}},
    {"p", "epsilon", "epsilon_mode", "axis"},
    {"y"},
    geometry::validate_axis,
    geometry::axis_rows,
    geometry::elements_like_input,
    Formula::kLpNormalize,
};

}  // namespace normfuzz
