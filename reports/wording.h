// Phrases that several report formats use.
#pragma once

#include <string>
#include <string_view>

#include "reports/report.h"

namespace normfuzz {

// "constant_row" -> "constant row -> bias"; an unknown law keeps its id.
std::string law_text(std::string_view law);
// ":avx2, :sse41"; empty: only the default variant.
std::string variants_of(const Finding& finding);
// "0/4"; "several of 4" after a merge.
std::string shard_text(const CampaignReport& report);

}  // namespace normfuzz
