// The list of commands. A command is a file cli/NAME.cc that defines `extern const Command kName`; here it takes two lines.
#include "cli/command.h"

namespace normfuzz {

extern const Command kRun, kReport, kMerge, kAdopt, kRepro, kCheck, kOracle, kGrade, kSelfcheck, kAudit, kTargets, kOps, kRegimes,
    kTheorems, kCases, kNewTarget;

const std::vector<const Command*>& all_commands() {
  static const std::vector<const Command*> kCommands = {&kRun,     &kReport,   &kMerge,     &kAdopt,    &kRepro,   &kCheck,
                                                        &kOracle,  &kGrade,    &kSelfcheck, &kAudit,    &kTargets, &kOps,
                                                        &kRegimes, &kTheorems, &kCases,     &kNewTarget};
  return kCommands;
}

}  // namespace normfuzz
