// A stored campaign as what every report starts from, and the report files that a command was asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "harness/campaign.h"
#include "harness/life_cycle/settle.h"
#include "reports/report.h"

namespace normfuzz {

// What reports say about a run beside its results: versions, targets that did not take part, seconds, what became of earlier entries.
Status remember_run(Store& store, const CampaignOutcome& outcome, const std::vector<Announcement>& announcements);

// `out`: the campaign's directory, below which its entries lie.
Result<CampaignReport> report_of(const Store& store, const std::string& out);

// Removes the entries of `before` that none of `now` has: their findings lost to one of an earlier case.
void remove_lost_entries(const std::vector<Finding>& before, const std::vector<Finding>& now, const std::string& out);

// Of a note that says the version of a target.
bool is_version_note(std::string_view name);

// Candidates that no finding stands for yet: the run was stopped before it shrank them.
Result<std::vector<Candidate>> open_candidates(const Store& store);

// The campaign that `report` is compared with; a directory or the path of a .db file.
Status compare_with(CampaignReport& report, const std::string& previous);

// One option for every format (reports/formats.h), and --previous.
struct ReportFiles {
  std::vector<std::string> paths;  // in the order of all_formats(); empty: not asked for
  std::string previous;
  bool any() const;
};
void declare_report_files(OptionSet& options, ReportFiles& files);
// Fills in the comparison where --previous was given.
Status write_report_files(const ReportFiles& files, CampaignReport& report);

}  // namespace normfuzz
