#include "cli/audit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cli/table.h"

namespace normfuzz {
namespace {

constexpr std::int64_t kAnyCase = std::numeric_limits<std::int64_t>::max();

template <class ResultOf>
AuditScore score(const AuditReport& report, std::int64_t within, ResultOf result_of) {
  AuditScore s;
  for (const AuditRow& row : report.rows) {
    if (row.mutant.rare) continue;
    const AuditResult& r = result_of(row);
    ++(row.control() ? s.controls : s.mutants);
    if (r.killed(within)) ++(row.control() ? s.false_alarms : s.killed);
    if (!row.control() && !r.tested()) ++s.not_tested;
  }
  return s;
}

// Cells padded to the widest of their column; the second line is Markdown's rule.
std::string markdown_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 1);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += '|';
    for (std::size_t i = 0; i < widths.size(); ++i) out += fmt::format(" {:{}} |", i < rows[r].size() ? rows[r][i] : "", widths[i]);
    out += '\n';
    if (r > 0) continue;
    out += '|';
    for (const std::size_t width : widths) out += std::string(width + 2, '-') + '|';
    out += '\n';
  }
  return out;
}

std::string percent(std::int64_t part, std::int64_t all) { return all == 0 ? "-" : fmt::format("{} %", 100 * part / all); }

std::string tolerances(const TestPolicy& p) {
  const Tolerance& t = p.tolerances.front();
  return fmt::format("{:g}, {:g} ({})", t.rtol, t.atol, name_of(t.dtype));
}

std::string range(const std::vector<std::int64_t>& v) {
  const auto [least, most] = std::minmax_element(v.begin(), v.end());
  return *least == *most ? std::to_string(*least) : fmt::format("{} to {}", *least, *most);
}

std::vector<std::string> score_cells(const std::string& number, const std::string& name, const std::string& tolerance,
                                     const AuditScore& s) {
  return {number,
          name,
          tolerance,
          fmt::format("{} of {}", s.killed, s.mutants),
          percent(s.killed, s.mutants),
          std::to_string(s.not_tested),
          fmt::format("{} of {}", s.false_alarms, s.controls)};
}

std::string scores(const AuditReport& report) {
  std::vector<std::vector<std::string>> rows = {{"", "policy", "rtol, atol", "killed", "share", "not tested", "false alarms"}};
  for (std::size_t i = 0; i < report.policies.size(); ++i) {
    const TestPolicy& p = report.policies[i];
    rows.push_back(score_cells(std::to_string(i + 1), p.name, tolerances(p), score_of_policy(report, i)));
  }
  rows.push_back(
      score_cells("n", fmt::format("normfuzz, {} cases", report.budget.cases), "proved bounds", score_of_normfuzz(report, true)));
  if (report.budget.seconds > 0)
    rows.push_back(
        score_cells("N", fmt::format("normfuzz, {:g} s", report.budget.seconds), "proved bounds", score_of_normfuzz(report, false)));
  return markdown_table(rows);
}

// One character a policy.
std::string mark(const AuditResult& r, std::int64_t within) { return !r.tested() ? "-" : r.killed(within) ? "x" : "."; }

std::string words(const AuditResult& r) {
  return !r.tested() ? "not tested" : r.killed_at > 0 ? fmt::format("case {}", r.killed_at) : "survives";
}

std::vector<std::string> mutant_cells(const AuditReport& report, const AuditRow& row, bool narrow) {
  std::vector<std::string> cells = {std::string(row.mutant.name)};
  for (const AuditResult& r : row.policies) cells.push_back(narrow ? mark(r, kAnyCase) : words(r));
  if (narrow) {
    cells.push_back(mark(row.own, report.budget.cases));
    if (report.budget.seconds > 0) cells.push_back(mark(row.own, kAnyCase));
  } else {
    cells.push_back(row.own.killed(report.budget.cases) ? words(row.own) : "survives");
    if (report.budget.seconds > 0)
      cells.push_back(row.own.killed_at > 0 ? fmt::format("{}, {:.1f} s", words(row.own), row.own.seconds) : "survives");
  }
  return cells;
}

std::vector<std::string> mutant_heads(const AuditReport& report, bool narrow) {
  std::vector<std::string> cells = {"mutant"};
  for (std::size_t i = 0; i < report.policies.size(); ++i) cells.push_back(narrow ? std::to_string(i + 1) : report.policies[i].name);
  cells.emplace_back(narrow ? "n" : fmt::format("normfuzz, {} cases", report.budget.cases));
  if (report.budget.seconds > 0) cells.emplace_back(narrow ? "N" : fmt::format("{:g} s", report.budget.seconds));
  return cells;
}

std::string mutants(const AuditReport& report) {
  const bool narrow = report.policies.size() > 2;
  std::vector<std::vector<std::string>> rows = {mutant_heads(report, narrow)};
  std::string_view family = "none yet";
  for (const AuditRow& row : report.rows) {
    if (row.mutant.family != family) rows.push_back({fmt::format("**{}**", row.control() ? "correct" : row.mutant.family)});
    family = row.mutant.family;
    rows.push_back(mutant_cells(report, row, narrow));
  }
  return markdown_table(rows);
}

std::string about(const AuditReport& report) {
  std::string out;
  for (std::size_t i = 0; i < report.policies.size(); ++i) {
    const TestPolicy& p = report.policies[i];
    const std::string scale = p.scale_by_width              ? "/(2 hidden)"
                              : p.mean != 0 || p.scale != 1 ? fmt::format(" * {:g} + {:g}", p.scale, p.mean)
                                                            : "";
    out += wrapped(fmt::format("{}. {}: {}; {}, {}{}, batch {}, hidden {}, epsilon {:g}; expected: the correct kernel in {}", i + 1, p.name,
                               p.source, name_of(p.metric), name_of(p.inputs), scale, range(p.batch), range(p.hidden), p.epsilon,
                               name_of(p.reference)),
                   0) +
           "\n";
  }
  return out;
}

}  // namespace

AuditScore score_of_policy(const AuditReport& report, std::size_t policy) {
  return score(report, kAnyCase, [=](const AuditRow& row) -> const AuditResult& { return row.policies[policy]; });
}

AuditScore score_of_normfuzz(const AuditReport& report, bool same_cases) {
  return score(report, same_cases ? report.budget.cases : kAnyCase, [](const AuditRow& row) -> const AuditResult& { return row.own; });
}

std::string audit_markdown(const AuditReport& report) {
  const std::string legend = wrapped(
      "x: a case gives the mutant away; . : it survives; - : the policy tests none of its operators and types. A false alarm is a correct "
      "kernel that fails.",
      0);
  std::string out = fmt::format("`{}`\n\n{}\n{}\n{}\n\n{}", report.command, scores(report), mutants(report), legend, about(report));
  if (report.interrupted) out += "\nInterrupted: mutants that were not reached are missing.\n";
  return out;
}

}  // namespace normfuzz
