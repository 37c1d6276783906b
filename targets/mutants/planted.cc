// Bugs that only inputs show which random cases hardly ever have: what a guided search is measured by.
#include <cmath>

#include "targets/mutants/call_mutant.h"
#include "targets/mutants/row_runs.h"

namespace normfuzz {
namespace {

struct Spread {
  double mean = 0, variance = 0;
};
Spread spread_of(const RowInputs& row) {
  Spread s;
  for (std::int64_t i = 0; i < row.n; ++i) s.mean += row.x[i];
  s.mean /= static_cast<double>(row.n);
  for (std::int64_t i = 0; i < row.n; ++i) s.variance += (row.x[i] - s.mean) * (row.x[i] - s.mean);
  s.variance /= static_cast<double>(row.n);
  return s;
}

}  // namespace

void run_rare_width(const nf_call& raw) {
  const TargetCall call(raw);
  run_rows(call, RowCall(call), [](const RowInputs& row) {
    MutantPolicy policy;
    if (row.n < 1536 || row.n > 1551) return policy;
    const Spread s = spread_of(row);
    if (std::fabs(s.mean) > 0x1p10 * std::sqrt(s.variance)) policy.swapped_variance = true;
    return policy;
  });
}

void run_rare_rows(const nf_call& raw) {
  const TargetCall call(raw);
  const RowCall rows(call);
  const bool hit = rows.rows() == 65536 && call.input("weight") == nullptr;
  run_rows(
      call, rows, [](const RowInputs&) { return MutantPolicy{}; }, hit ? 65535 : rows.rows());
}

void run_rare_epsilon(const nf_call& raw) {
  const TargetCall call(raw);
  run_rows(call, RowCall(call), [&](const RowInputs& row) {
    MutantPolicy policy;
    if (row.n % 8 != 5) return policy;
    const Spread s = spread_of(row);
    const double statistic = call.op() == "rms_norm" ? s.variance + s.mean * s.mean : s.variance;
    if (std::fabs(row.epsilon - statistic) <= 0.01 * statistic && statistic > 0) policy.epsilon = MutantEpsilon::kDropped;
    return policy;
  });
}

}  // namespace normfuzz
