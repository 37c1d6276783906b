// The report files that a campaign can be written to: one option each of `normfuzz run` and `normfuzz report`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "reports/report.h"

namespace normfuzz {

struct ReportFormat {
  std::string_view option, help;  // "--html"
  // The whole file. `entries`: where the BugZoo entries lie as seen from it, a relative reference such as "out/bugzoo".
  std::string (*write)(const CampaignReport& report, const std::string& entries);
};

// Adding one: a file in reports/ and a line in formats.cc.
const std::vector<const ReportFormat*>& all_formats();

// Writes a report to `path`, complete or not at all.
Status write_report(const ReportFormat& format, const CampaignReport& report, const std::string& path);

}  // namespace normfuzz
