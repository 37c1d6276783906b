// What oracle and bounds must agree on about a row before they evaluate it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "oracles/ops/op.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

inline bool has_nan(const double* v, std::int64_t n) {
  return v && std::any_of(v, v + n, [](double e) { return std::isnan(e); });
}

// The row would divide by an exact zero without its epsilon: no spread (centred ops), no length.
inline bool no_spread(const OpInfo& op, const RowInputs& row) {
  const auto constant = [&](const double* v, double value) { return std::all_of(v, v + row.n, [&](double e) { return e == value; }); };
  if (op.formula == Formula::kCosine) return constant(row.x, 0) || constant(row.other, 0);
  if (op.shape == OutputShape::kRows) return false;
  return constant(row.x, op.centred() ? row.x[0] : 0.0);
}
inline bool divides_by_zero(const OpInfo& op, const RowInputs& row) { return row.epsilon == 0 && no_spread(op, row); }

}  // namespace normfuzz
