// layer_norm, rms_norm and, with the kernel of layer_norm, channel_layer_norm: a call row by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "targets/cpu/row_call.h"
#include "targets/mutants/mutant.h"

namespace normfuzz {

// policy_of(RowInputs) -> MutantPolicy of a row. Rows from `end` on are not written.
template <class PolicyOf>
void run_rows(const TargetCall& arguments, const RowCall& rows, PolicyOf policy_of,
              std::int64_t end = std::numeric_limits<std::int64_t>::max()) {
  std::vector<double> x(static_cast<std::size_t>(rows.cols()));
  const Rows y = rows.elements(arguments, "y");
  for (std::int64_t r = 0; r < std::min(end, rows.rows()); ++r) {
    rows.gather(r, x.data());
    const RowInputs row = rows.row(r, x.data(), nullptr);
    y.scatter(r, run_mutant(policy_of(row), arguments.op(), rows.storage, row).data());
  }
}

inline void run_plain_rows(const TargetCall& arguments) {
  run_rows(arguments, RowCall(arguments), [](const RowInputs&) { return MutantPolicy{}; });
}

}  // namespace normfuzz
