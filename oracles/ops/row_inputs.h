// One row as every number type reads it: exact doubles. Absent weights and biases stand as ones and zeros, with all roundings of the chain.
#pragma once

#include <cstdint>

namespace normfuzz {

struct RowInputs {
  std::int64_t n = 0;
  const double* x = nullptr;
  const double* weight = nullptr;
  const double* bias = nullptr;
  double epsilon = 0;
  double weight_offset = 0;
};

}  // namespace normfuzz
