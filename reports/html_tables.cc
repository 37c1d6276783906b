#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "oracles/contract.h"
#include "oracles/theorems/property.h"
#include "reports/escape.h"
#include "reports/html_parts.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

std::int64_t not_run(const OpTally& t) { return t.count(Verdict::kUnsupported) + t.count(Verdict::kRejected); }

// Position on the ladder, strictest first; behind all rungs: none held, then nothing was graded.
std::size_t rank_of(const std::string& grade) {
  const auto ladder = contract_ladder();
  const auto it = std::find(ladder.begin(), ladder.end(), grade);
  return static_cast<std::size_t>(it - ladder.begin()) + (grade == "-" ? 1 : 0);
}

std::string grade_cell(const CampaignReport& report, const TallyKey& key, const OpTally& t) {
  const std::string grade = t.grade();
  std::string cell = grade == "-" ? "<span class=quiet>not graded</span>" : html_text(grade);
  if (t.violations() > 0) {
    bool news = false;
    const auto findings = findings_of(report, key, t);
    for (const Finding* f : findings) news = news || is_news(*f);
    const std::string count = fmt::format("{} violation{}", grouped(t.violations()), t.violations() == 1 ? "" : "s");
    cell += fmt::format(
        "<br><span class={}>{}</span>", news || findings.empty() ? "bad" : "warn",
        findings.empty() ? count : fmt::format("<a class={} href=\"#{}\">{}</a>", news ? "bad" : "warn", anchor_of(*findings[0]), count));
  }
  return fmt::format("<td class=k data-v={}>{}", rank_of(grade), cell);
}

// target x op, a column per data type.
std::string grade_matrix(const CampaignReport& report) {
  std::map<std::pair<std::string, std::string>, std::map<DType, const OpTally*>> lines;
  for (const auto& [key, t] : report.tally.entries)
    if (t.cases() > not_run(t)) lines[{key.target, key.op}][key.dtype] = &t;
  std::string rows;
  for (const auto& [where, cells] : lines) {
    rows += fmt::format("<tr><td class=k>{}<th scope=row class=k>{}</th>", html_text(where.first), html_text(where.second));
    for (const DType d : kAllDTypes)
      rows += cells.contains(d) ? grade_cell(report, {where.first, where.second, d}, *cells.at(d)) : "<td class=quiet data-v=99>–";
    rows += "\n";
  }
  if (rows.empty()) return "";
  return html_table({"grades",
                     "Strictest contract that no sampled case broke; – where nothing ran",
                     {"Target", "Op", "f64", "f32", "f16", "bf16"},
                     rows,
                     lines.size() > 10});
}

std::string all_numbers(const CampaignReport& report) {
  std::string rows;
  std::size_t count = 0;
  for (const auto& [key, t] : report.tally.entries) {
    if (t.cases() == not_run(t)) continue;
    ++count;
    rows += fmt::format("<tr><td class=k>{}<td class=k>{}<td>{}", html_text(key.target), html_text(key.op), name_of(key.dtype));
    for (const std::int64_t n :
         {t.cases(), t.certified(), t.violations(), t.count(Verdict::kUndecided), t.count(Verdict::kRangeLimit), not_run(t)})
      rows += count_cell(n);
    rows += number_cell(t.ratio.value, measure_text(t.ratio.value)) + number_cell(t.ulps.value, measure_text(t.ulps.value)) + "\n";
  }
  if (rows.empty()) return "";
  return "<details class=more><summary>All numbers</summary>\n" +
         html_table(
             {"numbers",
              "Cases by verdict. Open: no finite bound exists; range: squares leave the accumulation type; error / bound and ulps: the "
              "largest that kept its bound",
              {"Target", "Op", "Type", "#Cases", "#Certified", "#Violations", "#Open", "#Range", "#Not run", "#Error / bound", "#Ulps"},
              rows,
              count > 10}) +
         "</details>\n";
}

// Of ops and types where nothing or not everything ran: reason -> where.
std::string reasons(const CampaignReport& report) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> lines;
  for (const auto& [key, t] : report.tally.entries)
    for (const ReasonCounts* counts : {&t.unsupported, &t.rejected})
      for (const auto& [reason, n] : counts->named())
        lines[{key.target, reason.empty() ? "no reason given" : reason}][key.op] += fmt::format(" {}", name_of(key.dtype));
  if (lines.empty()) return "";
  std::string rows;
  for (const auto& [what, ops] : lines) {
    std::string where;
    for (const auto& [op, dtypes] : ops) where += (where.empty() ? "" : ", ") + op + dtypes;
    rows += fmt::format("<tr><td class=k>{}<td class=wide>{}<td class=wide>{}\n", html_text(what.first), html_text(what.second),
                        html_text(where));
  }
  return "<details class=more><summary>What the targets did not run, and why</summary>\n" +
         html_table({"reasons", "Unsupported or rejected by the target", {"Target", "Reason", "Where"}, rows}) + "</details>\n";
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

}  // namespace

std::string grade_section(const HtmlContext& c) {
  const std::string matrix = grade_matrix(c.report);
  if (matrix.empty()) return "";
  std::string ladder;
  for (const std::string_view rung : contract_ladder()) ladder += fmt::format("{}{}", ladder.empty() ? "" : ", ", rung);
  return fmt::format(
      "<section><h2 id=grades-of-targets>Grades</h2>\n<p class=quiet>The ladder, strictest first: {}, none. A grade is no verdict: a "
      "target is "
      "judged by the contract that its manifest declares.</p>\n{}{}{}</section>\n",
      html_text(ladder), matrix, all_numbers(c.report), reasons(c.report));
}

std::string property_section(const HtmlContext& c) {
  std::string rows;
  for (const Property* p : all_properties()) {
    PropertyTally sum;
    std::string broken;
    for (const auto& [key, t] : c.report.tally.properties) {
      if (key.id != p->id) continue;
      sum.merge(t);
      if (t.violations > 0) broken += fmt::format("{}{} {}", broken.empty() ? "" : ", ", key.target, t.violations);
      if (t.unclaimed > 0) broken += fmt::format("{}{} {} (not claimed)", broken.empty() ? "" : ", ", key.target, t.unclaimed);
    }
    if (sum.tried == 0) continue;
    const double share = static_cast<double>(sum.met) / static_cast<double>(sum.tried);
    rows += fmt::format("<tr><th scope=row class=k>{}</th><td class=wide>{}", html_text(p->id), html_text(p->statement));
    rows += count_cell(sum.tried) + count_cell(sum.met) + number_cell(share, percent(sum.met, sum.tried)) + count_cell(sum.violations);
    rows += fmt::format("<td{}>{}\n", sum.violations > 0 ? " class=bad" : "", broken.empty() ? "–" : html_text(broken));
  }
  if (rows.empty()) return "";
  return "<section><h2 id=properties>Theorems</h2>\n<p class=quiet>Cases were put to these; a theorem says something only where its "
         "premises are met.</p>\n" +
         html_table({"properties-table",
                     "Tries, premises met, violations",
                     {"Theorem", "Statement", "#Tried", "#Met", "#Met share", "#Violations", "Broken by"},
                     rows}) +
         "</section>\n";
}

std::string law_section(const HtmlContext& c) {
  std::map<std::pair<std::string, std::string>, std::pair<LawCounts, std::string>> lines;  // law, target and op
  for (const auto& [key, t] : c.report.tally.entries)
    for (const auto& [law, n] : t.laws) {
      auto& [sum, dtypes] = lines[{law, key.target + " " + key.op}];
      sum.held += n.held;
      sum.broken += n.broken;
      dtypes += fmt::format("{}{} {}", dtypes.empty() ? "" : ", ", name_of(key.dtype), n.broken == 0 ? "yes" : "no");
    }
  std::string rows;
  for (const auto& [where, line] : lines)
    rows += fmt::format("<tr><td class=k>{}<td class=k>{}<td class=k>{}{}{}\n", html_text(law_text(where.first)), html_text(where.second),
                        line.second, count_cell(line.first.held + line.first.broken), count_cell(line.first.broken));
  if (rows.empty()) return "";
  return "<details class=more><summary>Laws that no target has to keep</summary>\n" +
         html_table({"laws",
                     "Counted, not failed, where a target does not claim them",
                     {"Law", "Target and op", "Holds", "#Rows", "#Broken"},
                     rows,
                     lines.size() > 10}) +
         "</details>\n";
}

std::string target_section(const HtmlContext& c) {
  std::string rows;
  for (const ReportedTarget& t : c.report.targets)
    rows +=
        fmt::format("<tr><th scope=row class=k>{}</th><td class=wide>{}<td class=wide>{}\n", html_text(t.label),
                    t.version.empty() ? "–" : html_text(t.version), t.skipped.empty() ? "took part" : "skipped: " + html_text(t.skipped));
  if (rows.empty()) return "";
  return "<section><h2 id=targets>Targets</h2>\n" +
         html_table({"targets-table", "Versions as the running framework says", {"Target", "Version", "State"}, rows}) + "</section>\n";
}

}  // namespace normfuzz
