// Test policies in the field, one row each.
#pragma once

#include <string_view>
#include <vector>

#include "harness/audit/policy.h"

namespace normfuzz {

const std::vector<TestPolicy>& policy_presets();
// Null if there is none of that name.
const TestPolicy* find_policy_preset(std::string_view name);

}  // namespace normfuzz
