// The objects that --json prints for commands without a report of their own (reports/json.h has the others).
#pragma once

#include <span>
#include <string>

#include "cli/audit_report.h"
#include "harness/selfcheck.h"

namespace normfuzz {

// {"worst_ratio","rows":[{"op","dtype","contract","worst_ratio","tightness","evaluations","elements","finite","kernel","case"}],..}
std::string selfcheck_json(std::span<const SelfcheckRow> rows, std::uint64_t seed, double seconds, bool interrupted);

// {"command","seed","cases","seconds","policies":[{"name","killed","mutants","not_tested","false_alarms","controls"}],"normfuzz":{..},
// "mutants":[{"name","family","bug","references","rare","policies":{NAME: {"cases","killed_at","how"}},"normfuzz":{..}}]}; killed_at 0:
// survived.
std::string audit_json(const AuditReport& report);

}  // namespace normfuzz
