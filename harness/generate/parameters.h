// Weight, bias and the scalar parameters of a case.
#pragma once

#include <optional>
#include <span>

#include "core/case.h"
#include "harness/generate/regime.h"
#include "harness/generate/stream.h"

namespace normfuzz {

// From the list of values in use (0, 1e-12, .., 100) or log-uniform; always a float32 number, 0 <= epsilon.
double draw_epsilon(Stream s, EpsilonWish wish);

// Null (absent; not if `required`), or a tensor of `shape` in `dtype` with its own layout.
std::optional<Tensor> draw_weight(Stream s, DType dtype, const std::vector<std::int64_t>& shape, double weight_offset, bool required);
std::optional<Tensor> draw_bias(Stream s, DType dtype, const std::vector<std::int64_t>& shape, int null_percent);

// `values` repeated or cut to `shape`.
Tensor repeat_into(std::span<const float> values, DType dtype, const std::vector<std::int64_t>& shape);

// OpPlan::parameters of the ops, op_parameters.cc.
double layer_norm_parameters(const Stream& root, const Regime& regime, Case& c);
double layer_norm_sgd_parameters(const Stream& root, const Regime& regime, Case& c);
double rms_norm_parameters(const Stream& root, const Regime& regime, Case& c);
double rms_norm_sgd_parameters(const Stream& root, const Regime& regime, Case& c);
double batch_norm_parameters(const Stream& root, const Regime& regime, Case& c);
double lp_norm_parameters(const Stream& root, const Regime& regime, Case& c);  // and distance
double rms_parameters(const Stream& root, const Regime& regime, Case& c);
double cosine_parameters(const Stream& root, const Regime& regime, Case& c);
double layer_norm_graph_parameters(const Stream& root, const Regime& regime, Case& c);
double lp_normalize_parameters(const Stream& root, const Regime& regime, Case& c);

}  // namespace normfuzz
