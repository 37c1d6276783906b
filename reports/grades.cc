#include "reports/grades.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "oracles/contract.h"
#include "reports/escape.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

// What became of the calls that gave no grade: "-" where all were declined.
std::string cell(const OpTally& t) {
  const std::int64_t lost = t.count(Verdict::kCrashed) + t.count(Verdict::kTimedOut);
  std::string text = t.ladder_cases == 0 ? "-" : t.grade();
  if (lost > 0) text += fmt::format(" ({} of {} crashed or hung)", lost, t.cases());
  return text;
}

std::string table_of(const Tally& tally, const std::string& target) {
  std::map<std::string, std::map<DType, std::string>> rows;
  std::set<DType> dtypes;
  for (const auto& [key, t] : tally.entries) {
    if (key.target != target) continue;
    rows[key.op][key.dtype] = cell(t);
    dtypes.insert(key.dtype);
  }
  std::string head = "| op |", rule = "|---|", body;
  for (const DType d : dtypes) {
    head += fmt::format(" {} |", name_of(d));
    rule += "---|";
  }
  for (const auto& [op, cells] : rows) {
    body += fmt::format("| {} |", op);
    for (const DType d : dtypes) {
      const auto at = cells.find(d);
      body += fmt::format(" {} |", at == cells.end() ? "" : at->second);
    }
    body += '\n';
  }
  return head + '\n' + rule + '\n' + body;
}

// "layout: yes. batch invariance: no (layer_norm f16 3 of 80, ...)."
std::string laws_of(const Tally& tally, const std::string& target) {
  struct Law {
    std::int64_t rows = 0;
    std::string broken;
  };
  std::map<std::string, Law> laws;
  for (const auto& [key, t] : tally.entries)
    for (const auto& [name, n] : t.laws) {
      if (key.target != target) continue;
      Law& law = laws[name];
      law.rows += n.held + n.broken;
      if (n.broken > 0)
        law.broken +=
            fmt::format("{}{} {} {} of {}", law.broken.empty() ? "" : ", ", key.op, name_of(key.dtype), n.broken, n.held + n.broken);
    }
  std::string out;
  for (const auto& [name, law] : laws)
    if (law.rows > 0) out += fmt::format("- {}: {}\n", law_text(name), law.broken.empty() ? "yes" : "no: " + law.broken);
  return out;
}

}  // namespace

std::string grades_markdown(const CampaignReport& report, std::string_view command) {
  std::string ladder;
  for (const std::string_view rung : contract_ladder()) ladder += fmt::format("{}, ", rung);
  std::string out = fmt::format(
      "# Grades\n\n    {}\n\nSeed {}, {} calls judged in {:.0f} s. A grade is the first contract of the ladder\n({}none)\nthat no case "
      "broke; it "
      "does not depend on what the target promises. `-`: every case was declined. A law about bits is\nmeasured, whether or not it is "
      "claimed; "
      "the numbers count rows. See [reading-a-report.md](reading-a-report.md).\n",
      command, report.seed, report.tally.cases(), report.seconds, ladder);
  std::string absent;
  for (const ReportedTarget& t : report.targets) {
    if (!t.skipped.empty()) {
      absent += fmt::format("- {}: {}\n", markdown_text(t.label), markdown_text(t.skipped));
      continue;
    }
    out += fmt::format("\n## {} {}\n\n{}\n{}", markdown_text(t.label), markdown_text(t.version), table_of(report.tally, t.label),
                       laws_of(report.tally, t.label));
  }
  if (!absent.empty()) out += "\n## Not available\n\n" + absent;
  return out;
}

}  // namespace normfuzz
