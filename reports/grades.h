// The grades of targets as a page of Markdown: docs/grades.md.
#pragma once

#include <string>
#include <string_view>

#include "reports/report.h"

namespace normfuzz {

// Per target a table op x dtype of the strictest contract that no case broke, then the laws about bits and where they do not hold.
// `command`: what was run, for the first lines.
std::string grades_markdown(const CampaignReport& report, std::string_view command);

}  // namespace normfuzz
