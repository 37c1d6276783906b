// What `normfuzz audit` found, and as Markdown tables that fit a terminal and a pull request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/audit/score.h"
#include "targets/mutants/catalogue.h"

namespace normfuzz {

struct AuditRow {
  MutantEntry mutant;
  std::vector<AuditResult> policies;  // in the order of AuditReport::policies
  AuditResult own;

  bool control() const { return mutant.family.empty(); }
};

struct AuditReport {
  std::string command;  // that gives it again
  std::vector<TestPolicy> policies;
  AuditBudget budget;
  std::vector<AuditRow> rows;  // controls first, then family by family
  bool interrupted = false;
};

// Over the rows that count: all mutants but the planted ones, which the rows have only where they were asked for.
struct AuditScore {
  std::int64_t mutants = 0, killed = 0, not_tested = 0;
  std::int64_t controls = 0, false_alarms = 0;
};
AuditScore score_of_policy(const AuditReport& report, std::size_t policy);
AuditScore score_of_normfuzz(const AuditReport& report, bool same_cases);

std::string audit_markdown(const AuditReport& report);

}  // namespace normfuzz
