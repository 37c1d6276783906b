#include "reports/changes.h"

#include <algorithm>

namespace normfuzz {
namespace {

bool contains(const std::vector<Finding>& findings, const std::string& signature) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.signature() == signature; });
}

// Something was judged for this target (in any variant), op and dtype.
bool was_asked(const CampaignReport& report, const Finding& f) {
  return std::any_of(report.tally.entries.begin(), report.tally.entries.end(), [&](const auto& entry) {
    const auto& [key, t] = entry;
    return key.op == f.op && key.dtype == f.dtype && key.target.substr(0, key.target.find(':')) == f.target &&
           t.cases() > t.count(Verdict::kUnsupported) + t.count(Verdict::kRejected);
  });
}

}  // namespace

Changes changes_of(const CampaignReport& report) {
  Changes changes;
  if (!report.previous) return changes;
  for (const Finding& f : report.findings)
    (contains(report.previous->findings, f.signature()) ? changes.again : changes.fresh).push_back(&f);
  for (const Finding& f : report.previous->findings)
    if (!contains(report.findings, f.signature())) (was_asked(report, f) ? changes.gone : changes.unasked).push_back(&f);
  return changes;
}

const char* baseline_state(const CampaignReport& report, const Finding& finding) {
  if (!report.previous) return "";
  return contains(report.previous->findings, finding.signature()) ? "unchanged" : "new";
}

}  // namespace normfuzz
