// The end of a campaign: which findings are news, which are known, and what became of the entries that earlier runs left behind.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/campaign.h"
#include "harness/life_cycle/stored_entry.h"
#include "harness/life_cycle/waiver.h"

namespace normfuzz {

enum class EntryState { kNew, kKnown, kFixed, kNotApplicable };
std::string_view name_of(EntryState s);  // "new", "known", "fixed", "not applicable"

// What is said about an entry of an earlier run that was run again.
struct Announcement {
  std::string slug, target;
  EntryState status = EntryState::kKnown;
  std::string message;         // "no longer reproduces on torch 2.16.0"
  std::string directory = {};  // of the entry
};

// What is known before a campaign.
struct LifeCycle {
  std::map<std::string, std::vector<Waiver>> waivers;  // by target
  std::vector<StoredEntry> entries;                    // adopted ones first; one per slug
};

// `adopted`: a folder of entries, which need not exist. `previous`: the directory of an earlier campaign; empty: none.
Result<LifeCycle> load_life_cycle(const std::vector<TargetChoice>& targets, const std::string& adopted, const std::string& previous);

// Gives every stored finding its status, and runs the entries of the participating targets again. A finding is known if it is a range limit
// or if a waiver names it, holds for the version and has not reached its count; `written` is called with each one whose status changes.
Result<std::vector<Announcement>> settle(Store& store, const CampaignOptions& options, const LifeCycle& life_cycle,
                                         const std::function<Status(const Finding&)>& written);

}  // namespace normfuzz
