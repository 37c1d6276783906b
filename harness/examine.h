// Runs cases on a target and judges what comes back, the laws that need a second run included. Campaign, shrinker, explainer, repro and
// grade all go through here: one mechanism.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/judge.h"
#include "harness/run/worker.h"

namespace normfuzz {

struct Examination {
  Outcome outcome;
  Judgement judgement;
  std::string contradiction;  // of filter and MPFR; never empty in a sound build
};

struct ExamineOptions {
  bool repeat = false;       // also run every case twice and compare bits (bit.determinism)
  bool containment = false;  // cases with NaN or infinite rows also run with those rows finite; the other rows' bits must not change
  bool audit = false;        // put filter-certified rows to MPFR too
};

// The runs that one case needs: itself first, then what the laws compare it with.
struct RunPlan {
  std::vector<Case> cases;   // [0] is the case itself
  bool repeated = false;     // cases[1] is the same call again
  int contained = -1;        // index of the run whose non-finite rows are replaced; -1: none
};
RunPlan plan_runs(const Case& c, const Contract& contract, const ExamineOptions& options);

// Judges the outcomes of a plan, in the plan's order. `judge` belongs to plan.cases[0]'s case.
Examination judge_runs(CaseJudge& judge, const RunPlan& plan, std::span<Outcome> outcomes, const Contract& contract, const ExamineOptions& options);

// One after another on a worker, each with its own contract from the target's promise.
std::vector<Examination> examine(Worker& worker, const Target& target, std::span<const Case> cases, const ExamineOptions& options);

}  // namespace normfuzz
