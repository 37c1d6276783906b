#include <algorithm>
#include <memory>
#include <utility>

#include "harness/conclude.h"
#include "harness/examine.h"
#include "harness/life_cycle/entry_runner.h"

namespace normfuzz {
namespace {

Finding finding_from(const Candidate& c, const ConcludeOptions& options, ShrinkResult shrunk, Explanation explanation) {
  Finding f;
  f.target = c.target;
  f.variant = c.variant;
  f.variants = {c.variant};
  f.version = options.version;
  f.op = c.original.op;
  f.dtype = c.original.dtype();
  f.law = c.law;
  f.verdict = c.verdict;
  f.failure = c.failure;
  f.needs = std::move(explanation.needs);
  f.explanation = std::move(explanation.sentence);
  f.admitted_by = std::move(explanation.admitted_by);
  f.bug_family = std::move(explanation.bug_family);
  f.shrunk = std::move(shrunk.shrunk);
  f.judgement = std::move(shrunk.examination.judgement);
  f.outcome = std::move(shrunk.examination.outcome);
  f.occurrences = c.occurrences;
  f.first_seed = c.original.provenance->seed;
  f.first_index = c.original.provenance->index;
  f.first_regime = c.original.provenance->regime;
  // Exceeding the range of the accumulation type is what the contract allows: a note, never news (DESIGN.md, 'Verdicts' 4).
  f.status = c.verdict == Verdict::kRangeLimit ? FindingStatus::kKnown : FindingStatus::kNew;
  f.slug = slug_of(f);
  return f;
}

}  // namespace

Finding conclude_candidate(const Candidate& c, const TargetChoice& choice, const ConcludeOptions& options) {
  WorkerLimits limits;
  limits.log_path = options.log_path;
  // A hang is shown by a shorter wait: a case that ran in time during the campaign needs far less.
  limits.seconds_per_case = c.failure == FailureClass::kHang ? std::min(2.0, options.case_seconds) : options.case_seconds;
  // Shrinking a crash crashes on purpose: a worker that lived through every batch would soon be suspended for it.
  const bool kills = c.failure == FailureClass::kSignal || c.failure == FailureClass::kHang;
  std::unique_ptr<Worker> worker;
  const ExamineOptions examine_options = runs_for(c.law);
  const Probe probe = [&](std::span<const Case> cases) {
    if (!worker || kills) worker = Worker::create(choice, limits);
    return examine(*worker, choice.target, cases, examine_options);
  };
  ShrinkResult shrunk = shrink(c.original, c.verdict, c.law, c.failure, probe, options.shrink);
  Explanation explanation;
  if (shrunk.reproduced)
    explanation = explain(shrunk, contract_of(choice.target, c.original), probe);
  else
    explanation.sentence = "seen once in the campaign and not again in a fresh process: the case is kept as it was generated";
  return finding_from(c, options, std::move(shrunk), std::move(explanation));
}

}  // namespace normfuzz
