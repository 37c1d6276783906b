// Rows of a real model, carried inside the program: corpus/activations/README.md says whose.
#pragma once

#include <cstddef>
#include <span>

namespace normfuzz {

inline constexpr int kActivationRows = 64;
inline constexpr std::size_t kActivationCols = 384;
inline constexpr double kActivationEpsilon = 0x1.19799812dea11p-40;  // layer_norm_eps of the model: 1e-12, before rounding to float32

std::span<const float> activation_row(int row);  // 0 <= row < kActivationRows
std::span<const float> activation_weight();
std::span<const float> activation_bias();

}  // namespace normfuzz
