// One row under attack and the ways to change it a little.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case.h"
#include "harness/generate/stream.h"
#include "oracles/contract.h"

namespace normfuzz {

// Where a climb stays. Elsewhere the last rounding, or underflow, makes up nearly all of the error and hides the inner terms of a bound.
enum class Arena : std::uint8_t {
  kPlain,    // normal range, no bias
  kWide,     // the same with 8 columns and more
  kBiased,   // normal range
  kExtreme,  // the whole range of the formats
};
inline constexpr Arena kArenas[] = {Arena::kPlain, Arena::kWide, Arena::kBiased, Arena::kExtreme};

// One row; of a backward or an update, whose sums run over rows, up to five.
struct RowCandidate {
  Arena arena = Arena::kPlain;
  std::string op;
  DType storage = DType::kF32, weight_dtype = DType::kF32, accumulate = DType::kF32;
  std::vector<double> x, weight, bias;  // numbers of their dtypes
  double epsilon = 0;                   // a number of float32
  double weight_offset = 0;
  std::int64_t rows = 1;      // x and other hold that many rows one after another
  std::vector<double> other;  // b of distance and cosine, dy of a backward, residual of add_rms_norm; empty for the others
  double p = 2;
  std::string epsilon_mode;  // empty: the op has none
  double learning_rate = 0;
  bool training = false, sample_variance = false;      // of batch_norm, whose channels are the rows; weight and bias are by row there
  std::vector<double> running_mean, running_variance;  // of every row; empty for the others
  double momentum = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(x.size()) / rows; }  // columns
  Case to_case() const;
};

// A random row that suits the contract: widths 1..64 (few columns where k u of a 16-bit accumulation would reach 1), scales of a contract's
// range, large means, spikes, few-bit and nearly constant values.
RowCandidate random_candidate(Stream& stream, Arena arena, const std::string& op, DType storage, const Contract& contract);

// One to three small changes, inside the row's arena: neighbours, signs, copies, factors, common shifts, epsilon.
void mutate(RowCandidate& row, Stream& stream);

}  // namespace normfuzz
