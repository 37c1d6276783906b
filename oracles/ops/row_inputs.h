// One row as every number type reads it: exact doubles. Absent weights and biases stand as ones and zeros, with all roundings of the chain.
#pragma once

#include <cstdint>

namespace normfuzz {

// How an epsilon enters the denominator of lp_normalize and cosine: |x|, sqrt(|x|^2 + e), |x| + e, max(|x|, e), sqrt(max(|x|^2, e)).
enum class EpsilonMode : std::uint8_t { kNone, kAddInside, kAddOutside, kMaxNorm, kMaxSquare };

struct RowInputs {
  std::int64_t n = 0;
  const double* x = nullptr;  // a of distance and cosine
  const double* weight = nullptr;
  const double* bias = nullptr;
  double epsilon = 0;
  double weight_offset = 0;
  const double* other = nullptr;  // b of distance and cosine, dy of a backward; null for the others
  double p = 2;                   // of a norm: 1 to infinity
  EpsilonMode epsilon_mode = EpsilonMode::kNone;
  double learning_rate = 0;
};

}  // namespace normfuzz
