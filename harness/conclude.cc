// The candidates of a store become its findings.
#include "harness/conclude.h"

#include <fmt/format.h>

#include <algorithm>

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

ConcludeOptions options_for(const TargetChoice& choice, const CampaignOptions& options, const CampaignOutcome& outcome) {
  ConcludeOptions o;
  o.log_path = options.out + "/workers.log";
  o.case_seconds = options.case_seconds;
  for (const auto& [label, version] : outcome.versions)
    if (label == choice.label()) o.version = version;
  return o;
}

}  // namespace

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
