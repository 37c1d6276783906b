// normfuzz run --guided: for each target, op and dtype a climb on error/bound. The input that brings a correct kernel nearest to its bound
// is itself the interesting figure, and on the way to it lie the bugs that random inputs do not reach. Unlike libFuzzer's drivers (fuzz/)
// it sees nothing of the target but its results, so it serves targets in processes of their own, in any language.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/campaign.h"
#include "harness/guided_state.h"

namespace normfuzz {

using WorstByTarget = std::map<std::string, std::vector<WorstInput>>;  // by label; ops in the order of the climbs, then by regime

// As fuzz(): within the budget, every round committed, continued where it stopped. Climbs do not meet, and a round is a function of the
// seed and of the rounds of its climb before it, so the number of threads changes nothing. `parents`: known inputs, first to climb from.
// `worst`: what is known at the end.
Result<CampaignOutcome> fuzz_guided(Store& store, const CampaignOptions& options, const WorstByTarget& parents, WorstByTarget& worst);

// Of a guided campaign: other parents make another one.
CampaignSettings guided_settings_of(const CampaignOptions& options, const WorstByTarget& parents);

}  // namespace normfuzz
