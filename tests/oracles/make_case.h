// Short cases for the tests of oracles and judge.
#pragma once

#include <string>
#include <vector>

#include "core/case.h"

namespace normfuzz::testing {

inline Tensor tensor(DType d, std::vector<std::int64_t> shape, const std::vector<double>& values) {
  Tensor t = Tensor::zeros(d, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) t.set_value(static_cast<std::int64_t>(i), values[i]);
  return t;
}

// Rows of equal length in a dense [rows, cols] tensor; absent weight and bias.
inline Case case_of(const std::string& op, DType d, std::int64_t rows, const std::vector<double>& x, double epsilon) {
  Case c;
  c.op = op;
  c.params["epsilon"] = epsilon;
  c.set_input("x", tensor(d, {rows, static_cast<std::int64_t>(x.size()) / rows}, x));
  c.set_input("weight", std::nullopt);
  c.set_input("bias", std::nullopt);
  return c;
}

inline constexpr double kEpsilon = 0x1.4f8b58p-17;  // 1e-5 in float32

}  // namespace normfuzz::testing
