// The worst known inputs of targets as files, DIR/LABEL.txt (harness/guided_state.h) and the worst case of every op and dtype beside it.
#pragma once

#include <string>

#include "core/result.h"
#include "harness/guided.h"

namespace normfuzz {

// Of the targets of `campaign`; a directory without a file for one of them has nothing to say of it.
Result<WorstByTarget> read_worst(const std::string& directory, const CampaignOptions& campaign);
Status write_worst_files(const WorstByTarget& worst, const std::string& directory);
// A table of the worst input per target, op and dtype.
std::string worst_text(const WorstByTarget& worst, const std::string& directory);

}  // namespace normfuzz
