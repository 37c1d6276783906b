// The order in which shrinking moves: of two cases that show the same failure, the simpler one is what a person wants to read.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "core/case.h"

namespace normfuzz {

// Compared from the top: elements first, then rows, and so on. Every step of the shrinker makes it strictly smaller, so shrinking ends.
struct Simplicity {
  std::int64_t elements = 0;  // of x, or of a
  std::int64_t rows = 0;
  std::int64_t rank = 0;        // dimensions beyond two
  std::int64_t layout = 0;      // distance of strides, offsets and alignment from dense
  std::int64_t parameters = 0;  // tensors present, their dtypes, epsilon and the other parameters, axis and layout
  std::int64_t values = 0;      // value_cost over all elements, and how many different values there are
  auto operator<=>(const Simplicity&) const = default;
};
Simplicity simplicity(const Case& c);

// 0 < 1 < 2, 0.5 < powers of two < few-bit numbers < many-bit numbers < infinities < NaN.
std::int64_t value_cost(double v);
// The default of most frameworks, 1e-5 in float32, before 1, 0 and the rest by value_cost.
std::int64_t epsilon_cost(double epsilon);
inline constexpr double kPlainEpsilon = 0x1.4f8b58p-17;  // float32(1e-5)

// Values of `d` that cost less than v, simplest first: 0, 1, -1, small integers, v with fewer significant bits, exponents nearer to 0.
std::vector<double> simpler_values(double v, DType d);

}  // namespace normfuzz
