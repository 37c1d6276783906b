// The summary at the end of a run, for a terminal of 100 columns.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "reports/report.h"

namespace normfuzz {

inline constexpr std::size_t kReportColumns = 100;

// Table, reasons, findings, laws, bounds, filter and the targets that were skipped. `colour`: with ANSI escapes, for a terminal.
std::string campaign_text(const CampaignReport& report, bool colour);

// The parts, for commands that print one of them (`grade`, `repro`, `check`).
std::string table_text(const Tally& tally, std::span<const ReportedTarget> targets, bool colour);
// Per property: tries, premises met, violations by target; see Tally::properties.
std::string properties_text(const Tally& tally);
std::string laws_text(const Tally& tally);
std::string bounds_text(const Tally& tally);
// index / got / exact / allowed / ulps, hexadecimal and decimal, one line an element; `limit`: the rest is counted.
std::string elements_text(std::span<const ElementEvidence> elements, std::size_t limit, bool colour);

}  // namespace normfuzz
