// The sections of the HTML report; of html*.cc only. Every function returns HTML; empty where there is nothing to show.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/run/manifest.h"
#include "reports/changes.h"
#include "reports/report.h"

namespace normfuzz {

struct HtmlContext {
  const CampaignReport& report;
  std::string entries;  // reference of the folder of BugZoo entries
  Changes changes;
  std::vector<Target> targets;  // manifests, for the contracts of findings
  std::string targets_directory;
};

extern const std::string_view kPageStyle, kPageScript;

// html_finding.cc
std::string anchor_of(const Finding& f);
std::string status_badge(const Finding& f);
std::string finding_overview(const HtmlContext& c);  // the sortable table
std::string finding_sections(const HtmlContext& c);  // one after the other
// html_picture.cc: got, exact and allowed of the elements as an SVG.
std::string element_picture(const std::vector<ElementEvidence>& elements);
// html_tables.cc
std::string grade_section(const HtmlContext& c);
std::string property_section(const HtmlContext& c);
std::string law_section(const HtmlContext& c);
std::string target_section(const HtmlContext& c);
// html_plots.cc
std::string regime_section(const HtmlContext& c);  // error against bound
std::string growth_section(const HtmlContext& c);  // error in ulps against width and scale
// html_coverage.cc
std::string coverage_section(const HtmlContext& c);

// A table in a frame that scrolls. Columns whose heading begins with '#' hold numbers.
struct HtmlTable {
  std::string id, caption;  // caption: HTML
  std::vector<std::string> head;
  std::string rows;  // <tr>...
  bool filter = false;
};
std::string html_table(const HtmlTable& table);
// <td class=n data-v=..>: sorted by `value`.
std::string number_cell(double value, std::string_view text);
std::string count_cell(std::int64_t n);

}  // namespace normfuzz
