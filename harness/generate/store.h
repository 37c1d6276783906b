// Doubles into consecutive elements of a tensor, rounded to nearest even: what Tensor::set_value does one by one, without a call for each.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "core/tensor.h"

namespace normfuzz {

inline void store_values(Tensor& t, std::int64_t first, std::span<const double> values) {
  const auto at = static_cast<std::size_t>(first);
  std::byte* const data = t.data.data();
  switch (t.dtype) {
    case DType::kF64:
      std::memcpy(data + at * sizeof(double), values.data(), values.size() * sizeof(double));
      break;
    case DType::kF32:
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto v = static_cast<float>(values[i]);
        std::memcpy(data + (at + i) * sizeof v, &v, sizeof v);
      }
      break;
    default:
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto bits = static_cast<std::uint16_t>(bits_from_value(t.dtype, values[i]));
        std::memcpy(data + (at + i) * sizeof bits, &bits, sizeof bits);
      }
  }
}

}  // namespace normfuzz
