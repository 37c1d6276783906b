// The objects that --json prints for commands without a report of their own (reports/json.h has the others).
#pragma once

#include <span>
#include <string>

#include "harness/selfcheck.h"

namespace normfuzz {

// {"worst_ratio","rows":[{"op","dtype","contract","worst_ratio","tightness","evaluations","elements","finite","kernel","case"}],..}
std::string selfcheck_json(std::span<const SelfcheckRow> rows, std::uint64_t seed, double seconds, bool interrupted);

}  // namespace normfuzz
