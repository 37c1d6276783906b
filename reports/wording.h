// Phrases that several report formats use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/report.h"

namespace normfuzz {

// A ratio or ulps in at most 7 characters; "-" where nothing was measured.
std::string measure_text(double v);
// "1,234,567"
std::string grouped(std::int64_t n);
// 2^exponent or 10^exponent: "8192", "2²⁰", "2⁻³⁰", "10⁹".
std::string power_text(int exponent, int base = 2);
// "target" or "target:variant".
std::string label_of(const Finding& finding);
// "constant_row" -> "constant row -> bias"; an unknown law keeps its id.
std::string law_text(std::string_view law);
// ":avx2, :sse41"; empty: only the default variant.
std::string variants_of(const Finding& finding);
// Findings that explain a line of the table: those of its label, op and dtype; where its violations have none of their own, those of
// another variant of its target, because equal failures of several variants are one finding.
std::vector<const Finding*> findings_of(const CampaignReport& report, const TallyKey& key, const OpTally& t);
// New, and a violation: what a build breaks on.
bool is_news(const Finding& finding);
// Entries of earlier runs that are news: they show, and nobody waived them.
std::vector<const Announcement*> news_of_earlier(const CampaignReport& report);
// "nothing new"; "2 new findings and 1 entry of an earlier run".
std::string news_text(const CampaignReport& report);
// A new finding or such an entry: exit status 1.
bool has_news(const CampaignReport& report);
// "0/4"; "several of 4" after a merge.
std::string shard_text(const CampaignReport& report);

}  // namespace normfuzz
