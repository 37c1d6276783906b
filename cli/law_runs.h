// Laws of DESIGN.md, 'Verdicts', that need a second run of a related case: what `grade` asks of every target, claimed or not.
#pragma once

#include <string>
#include <vector>

#include "core/case.h"
#include "harness/judge.h"
#include "harness/run/worker.h"

namespace normfuzz {

// Related cases whose rows must give the same bits as rows of the base case.
struct LawRun {
  std::string law;  // "batch_invariance", "layout", "alignment"
  Case related;
  std::int64_t first_row = 0;  // what row 0 of `related` gives is what this row of the base case gives
};

// batch_invariance: the last row alone (not of an update, whose outputs belong to no row). layout: the same elements dense, or two apart
// where they are dense already. alignment: the base address moved by one element. Premise: validate(c).
std::vector<LawRun> law_runs(const Case& c);

// Counts slices of the outputs of `related` (rows, sums over all rows) whose bits are, or are not, those of the base case; NaNs are equal.
// Outcomes that are not ok count nothing.
void note_law_run(const LawRun& run, const Outcome& base, const Outcome& related, const CaseRows& rows, GradeNotes& notes);

}  // namespace normfuzz
