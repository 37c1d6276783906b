// One row as every number type reads it: exact doubles. Absent weights and biases stand as ones and zeros, with all roundings of the chain.
#pragma once

#include <cstdint>
#include <string_view>

namespace normfuzz {

// How an epsilon enters the denominator of lp_normalize and cosine: |x|, sqrt(|x|^2 + e), |x| + e, max(|x|, e), sqrt(max(|x|^2, e)).
enum class EpsilonMode : std::uint8_t { kNone, kAddInside, kAddOutside, kMaxNorm, kMaxSquare };

// "none" for any other name: validate() knows which there are.
inline EpsilonMode epsilon_mode_from_name(std::string_view name) {
  return name == "add_inside"    ? EpsilonMode::kAddInside
         : name == "add_outside" ? EpsilonMode::kAddOutside
         : name == "max_norm"    ? EpsilonMode::kMaxNorm
         : name == "max_square"  ? EpsilonMode::kMaxSquare
                                 : EpsilonMode::kNone;
}

// The node of a decomposed layer_norm that is another one: none, Pow(d, 4) for Pow(d, 2), mean - x for x - mean, the quotient turned over.
enum class GraphPattern : std::uint8_t { kExact, kExponent4, kSwappedSubtraction, kSwappedDivision };

inline GraphPattern graph_pattern_from_name(std::string_view name) {
  return name == "exponent_4"    ? GraphPattern::kExponent4
         : name == "swapped_sub" ? GraphPattern::kSwappedSubtraction
         : name == "swapped_div" ? GraphPattern::kSwappedDivision
                                 : GraphPattern::kExact;
}

struct RowInputs {
  std::int64_t n = 0;
  const double* x = nullptr;  // a of distance and cosine
  const double* weight = nullptr;
  const double* bias = nullptr;
  double epsilon = 0;
  double weight_offset = 0;
  const double* other = nullptr;  // b of distance and cosine, dy of a backward, residual of add_rms_norm; null for the others
  double p = 2;                   // of a norm: 1 to infinity
  EpsilonMode epsilon_mode = EpsilonMode::kNone;
  double learning_rate = 0;
  GraphPattern pattern = GraphPattern::kExact;
  // batch_norm: the running statistics of the row, by which it is normalized (given_moments), or which it moves by `momentum` toward its
  // own mean and population or sample variance.
  bool given_moments = false, sample_variance = false;
  double mean = 0, variance = 1, momentum = 0;
  bool biased = false;         // the case has a bias
  bool second_output = false;  // a row of residual_new of add_rms_norm
};

}  // namespace normfuzz
