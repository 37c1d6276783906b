// What oracle and bounds must agree on about a row before they evaluate it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "oracles/ops/op.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

inline bool has_nan(const double* v, std::int64_t n) {
  return v && std::any_of(v, v + n, [](double e) { return std::isnan(e); });
}

// Without a branch per element: a loop that compilers vectorize.
inline bool all_finite(const double* v, std::int64_t n) {
  int not_finite = 0;
  for (std::int64_t i = 0; i < n; ++i) not_finite |= !(std::fabs(v[i]) <= std::numeric_limits<double>::max());
  return not_finite == 0;
}
inline bool all_finite(const std::vector<double>& v) { return all_finite(v.data(), static_cast<std::int64_t>(v.size())); }

// The row would divide by an exact zero without its epsilon: no spread (centred ops), no length; by given moments it does.
inline bool no_spread(const OpInfo& op, const RowInputs& row) {
  const auto constant = [&](const double* v, double value) { return std::all_of(v, v + row.n, [&](double e) { return e == value; }); };
  if (row.given_moments) return row.variance == 0 && row.epsilon == 0;
  if (op.formula == Formula::kAddRmsNorm)
    return !row.second_output && std::equal(row.x, row.x + row.n, row.other, [](double x, double residual) { return x == -residual; });
  if (op.formula == Formula::kCosine) return constant(row.x, 0) || constant(row.other, 0);
  if (op.shape == OutputShape::kRows) return false;
  return constant(row.x, op.centred() ? row.x[0] : 0.0);
}
inline bool divides_by_zero(const OpInfo& op, const RowInputs& row) { return row.epsilon == 0 && no_spread(op, row); }

// Every element of the row's result depends on its own input alone: no other element's NaN reaches it.
inline bool elementwise(const RowInputs& row) { return row.given_moments || row.second_output; }

}  // namespace normfuzz
