// What the number of rows, or that of calls, decides.
#include "targets/mutants/call_mutant.h"
#include "targets/mutants/row_runs.h"

namespace normfuzz {
namespace {

void run_in_order(const nf_call& call, MutantSum order) {
  const TargetCall arguments(call);
  run_rows(arguments, RowCall(arguments), [&](const RowInputs&) { return MutantPolicy{.sum = order}; });
}

}  // namespace

void run_row_count_in_16_bits(const nf_call& call) {
  const TargetCall arguments(call);
  const RowCall rows(arguments);
  run_rows(
      arguments, rows, [](const RowInputs&) { return MutantPolicy{}; }, rows.rows() & 0xffff);
}

void run_order_by_row_count(const nf_call& call) {
  run_in_order(call, RowCall(TargetCall(call)).rows() <= 3 ? MutantSum::kPairwise : MutantSum::kSequential);
}

// Stands for a race: deterministic, so that a test can ask for it.
void run_alternating_order(const nf_call& call) {
  static unsigned calls = 0;
  run_in_order(call, calls++ % 2 == 0 ? MutantSum::kSequential : MutantSum::kPairwise);
}

}  // namespace normfuzz
