// Weight, bias and epsilon of a case.
#pragma once

#include <optional>

#include "core/tensor.h"
#include "harness/generate/regime.h"
#include "harness/generate/stream.h"

namespace normfuzz {

// From the list of values in use (0, 1e-12, .., 100) or log-uniform; always a float32 number, 0 <= epsilon.
double draw_epsilon(Stream s, EpsilonWish wish);

// Null (absent), or a tensor of `shape` in `dtype` with its own layout.
std::optional<Tensor> draw_weight(Stream s, DType dtype, const std::vector<std::int64_t>& shape, double weight_offset);
std::optional<Tensor> draw_bias(Stream s, DType dtype, const std::vector<std::int64_t>& shape, int null_percent);

// `values` repeated or cut to `shape`.
Tensor repeat_into(std::span<const float> values, DType dtype, const std::vector<std::int64_t>& shape);

}  // namespace normfuzz
