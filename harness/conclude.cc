// From stored candidates to findings: shrink, explain, name.
#include "harness/conclude.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "harness/campaign.h"

namespace normfuzz {
namespace {

const TargetChoice* choice_of(const CampaignOptions& options, const Candidate& c) {
  for (const TargetChoice& t : options.targets)
    if (t.target.name == c.target && t.variant.name == c.variant) return &t;
  return nullptr;
}

bool concluded(const std::vector<Finding>& findings, const Candidate& c) {
  const auto& from = *c.original.provenance;
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    return f.target == c.target && f.op == c.original.op && f.dtype == c.original.dtype() && f.law == c.law && f.failure == c.failure &&
           f.first_seed == from.seed && f.first_index == from.index;
  });
}

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

ConcludeOptions options_for(const TargetChoice& choice, const CampaignOptions& options, const CampaignOutcome& outcome) {
  ConcludeOptions o;
  o.log_path = options.out + "/workers.log";
  o.case_seconds = options.case_seconds;
  for (const auto& [label, version] : outcome.versions)
    if (label == choice.label()) o.version = version;
  return o;
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
  const ExamineOptions examine_options{c.law == "bit.determinism", c.law == "bit.containment", false};
  const Probe probe = [&](std::span<const Case> cases) {
    if (!worker || kills) worker = Worker::create(choice, limits);
    return examine(*worker, choice.target, cases, examine_options);
  };
  ShrinkResult shrunk = shrink(c.original, c.verdict, c.law, c.failure, probe, options.shrink);
  const auto contract = choice.target.contract(c.original.op, c.original.dtype());
  Explanation explanation;
  if (shrunk.reproduced)
    explanation = explain(shrunk, contract ? *contract : *contract_named("standard", c.original.dtype()), probe);
  else
    explanation.sentence = "seen once in the campaign and not again in a fresh process: the case is kept as it was generated";
  return finding_from(c, options, std::move(shrunk), std::move(explanation));
}

Status conclude(Store& store, const CampaignOptions& options, const CampaignOutcome& outcome,
                const std::function<Status(const Finding&)>& written) {
  const auto candidates = store.candidates();
  if (!candidates) return Error{candidates.error()};
  const auto findings = store.findings();
  if (!findings) return Error{findings.error()};
  for (const Candidate& c : *candidates) {
    const TargetChoice* choice = choice_of(options, c);
    if (!choice || concluded(*findings, c)) continue;
    if (options.stop && options.stop->load()) return Unit{};
    if (options.progress) {
      Progress progress;
      progress.phase = fmt::format("shrinking {} {} {}: {}", choice->label(), c.original.op, name_of(c.original.dtype()), c.law);
      options.progress(progress);
    }
    const Finding f = conclude_candidate(c, *choice, options_for(*choice, options, outcome));
    if (auto status = written(f); !status) return status;
    if (auto status = store.put_finding(f); !status) return status;
  }
  return Unit{};
}

}  // namespace normfuzz
