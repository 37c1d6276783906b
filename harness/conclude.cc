// The candidates of a store become its findings.
#include "harness/conclude.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/campaign.h"

namespace normfuzz {
namespace {

const TargetChoice* choice_of(const CampaignOptions& options, const Candidate& c) {
  for (const TargetChoice& t : options.targets)
    if (t.target.name == c.target && t.variant.name == c.variant) return &t;
  return nullptr;
}

// What earlier runs on the same directory made of a candidate's rough signature: one finding, or two where the run that replaced one of
// them was killed in between.
struct Earlier {
  std::vector<Finding> findings;
  const Finding* of(const Candidate& c) const {
    const auto& from = *c.original.provenance;
    const auto it = std::find_if(findings.begin(), findings.end(),
                                 [&](const Finding& f) { return f.first_seed == from.seed && f.first_index == from.index; });
    return it == findings.end() ? nullptr : &*it;
  }
};

// Blocks that came since count too.
Status update_occurrences(Store& store, const Candidate& c, const Earlier& earlier) {
  for (Finding f : earlier.findings) {
    if (f.occurrences == c.occurrences) continue;
    f.occurrences = c.occurrences;
    if (auto status = store.put_finding(f); !status) return status;
  }
  return Unit{};
}

// The smallest case of a rough signature stands for it, as if the campaign had run at one go.
Status drop_others(Store& store, const Earlier& earlier, const std::string& signature) {
  for (const Finding& f : earlier.findings)
    if (f.signature() != signature)
      if (auto status = store.remove_finding(f.signature()); !status) return status;
  return Unit{};
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
  std::map<std::string, Earlier> earlier;
  for (const Finding& f : *findings) earlier[f.rough_signature()].findings.push_back(f);
  for (const Candidate& c : *candidates) {
    const Earlier& before = earlier[c.rough_signature()];
    if (auto status = update_occurrences(store, c, before); !status) return status;
    const Finding* done = before.of(c);
    if (done)
      if (auto status = drop_others(store, before, done->signature()); !status) return status;
    const TargetChoice* choice = choice_of(options, c);
    if (!choice || done || (options.stop && options.stop->load())) continue;
    if (options.progress) {
      Progress progress;
      progress.phase = fmt::format("shrinking {} {} {}: {}", choice->label(), c.original.op, name_of(c.original.dtype()), c.law);
      options.progress(progress);
    }
    const Finding f = conclude_candidate(c, *choice, options_for(*choice, options, outcome));
    if (auto status = written(f); !status) return status;
    if (auto status = store.put_finding(f); !status) return status;
    if (auto status = drop_others(store, before, f.signature()); !status) return status;
  }
  return Unit{};
}

}  // namespace normfuzz
