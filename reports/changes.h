// What changed since the previous campaign, by the findings' signatures, which survive other seeds and versions.
#pragma once

#include <vector>

#include "reports/report.h"

namespace normfuzz {

// Points into the report.
struct Changes {
  std::vector<const Finding*> fresh;    // not in the previous campaign
  std::vector<const Finding*> again;    // in both
  std::vector<const Finding*> gone;     // of the previous campaign: its target ran this time and did not show it
  std::vector<const Finding*> unasked;  // of the previous campaign: its target did not run this op and type
};
// All empty where there is no previous campaign.
Changes changes_of(const CampaignReport& report);

// As in PROTOCOLS.md: "new", "unchanged", "absent"; for a finding of this campaign. Empty: there is no previous one.
const char* baseline_state(const CampaignReport& report, const Finding& finding);

}  // namespace normfuzz
