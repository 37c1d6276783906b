// Findings and settings as the text that the store keeps. Private to the store.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "harness/finding.h"
#include "harness/store.h"

namespace normfuzz {

// Round trip of every field; a NaN's payload in the outputs is lost, as in every text form of a tensor.
std::string write_finding(const Finding& finding);
Result<Finding> parse_finding(std::string_view json, std::string_view name);

std::string write_settings(const CampaignSettings& settings);
Result<CampaignSettings> parse_settings(std::string_view json, std::string_view name);

}  // namespace normfuzz
