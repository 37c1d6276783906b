// What every report format starts from: a finished or interrupted campaign as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/finding.h"
#include "harness/life_cycle/settle.h"
#include "harness/tally.h"

namespace normfuzz {

struct ReportedTarget {
  std::string label;
  std::string version;
  std::string skipped;  // reason; empty: it took part
};

// The campaign that this one is compared with.
struct PreviousCampaign {
  std::string directory;
  std::uint64_t seed = 0;
  std::vector<Finding> findings;
};

struct CampaignReport {
  std::uint64_t seed = 0;
  int shard = 0, shards = 1;
  Tally tally;
  std::vector<Finding> findings;
  std::vector<ReportedTarget> targets;
  std::vector<Announcement> announcements;  // about the entries of earlier runs
  double seconds = 0;                       // fuzzing only
  std::string out_directory;                // entries are in <out>/bugzoo/<slug>
  bool interrupted = false;
  std::optional<PreviousCampaign> previous;
};

}  // namespace normfuzz
