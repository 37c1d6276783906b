// The findings: a table of all, then each with its shrunk case, its picture and what it proves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "core/hex_float.h"
#include "reports/bugzoo_entry.h"
#include "reports/escape.h"
#include "reports/html_parts.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

constexpr std::int64_t kListedValues = 24;  // of a tensor; case.json has all

// What breaks a build first, then violations that are known, then notes; within each in the order of severity.
std::vector<const Finding*> in_order(const std::vector<Finding>& findings) {
  std::vector<const Finding*> out;
  for (const Finding& f : findings) out.push_back(&f);
  const auto rank = [](const Finding& f) { return std::pair(is_news(f) ? 0 : is_violation(f.verdict) ? 1 : 2, f.verdict); };
  std::stable_sort(out.begin(), out.end(), [&](const Finding* a, const Finding* b) { return rank(*a) < rank(*b); });
  return out;
}

std::string sentence_of(const Finding& f) { return f.explanation.empty() ? f.judgement.detail : f.explanation; }

// Largest error in units of its bound, of the offending elements.
double worst_ratio(const Finding& f) {
  double worst = 0;
  for (const ElementEvidence& e : f.judgement.evidence) {
    const double error = std::fabs(e.got - e.exact);
    worst = std::max(worst, e.allowed > 0 && std::isfinite(error) ? error / e.allowed : HUGE_VAL);
  }
  return worst;
}

const char* since_previous(const HtmlContext& c, const Finding& f) {
  if (!c.report.previous) return "";
  return std::find(c.changes.fresh.begin(), c.changes.fresh.end(), &f) != c.changes.fresh.end() ? "appeared" : "still there";
}

std::string decimal(double v) { return std::isnan(v) ? "NaN" : std::isinf(v) ? (v > 0 ? "inf" : "-inf") : fmt::format("{:.9g}", v + 0.0); }

std::string param_text(const ParamValue& v) {
  if (const double* number = std::get_if<double>(&v)) return decimal(*number);
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&v)) return std::to_string(*integer);
  return std::get<std::string>(v);
}

std::string case_text(const Case& c) {
  std::string out = c.op;
  for (const auto& [name, value] : c.params) out += fmt::format("\n  {} = {}", name, param_text(value));
  for (const auto& [name, t] : c.inputs) {
    out += "\n  " + name + " = ";
    if (!t) {
      out += "absent";
      continue;
    }
    std::vector<std::string> values;
    for (std::int64_t i = 0; i < std::min(t->size(), kListedValues); ++i) values.push_back(decimal(t->value(i)));
    if (t->size() > kListedValues) values.push_back(fmt::format(".. {} in all", grouped(t->size())));
    out += fmt::format("{} [{}]{}: {}", name_of(t->dtype), fmt::join(t->shape, ", "),
                       t->dense() ? "" : fmt::format(" strides [{}] offset {}", fmt::join(t->strides, ", "), t->offset),
                       fmt::join(values, " "));
  }
  if (c.property) {
    out += "\n  property " + c.property->id;
    for (const auto& [name, value] : c.property->args) out += fmt::format(", {} = {}", name, value);
  }
  return out;
}

std::string hex_cell(double v) {
  return fmt::format("<td class=n data-v={:.9g}>{}<br><span class=\"hex quiet\">{}</span>",
                     std::isfinite(v)  ? v
                     : std::signbit(v) ? -1e300
                                       : 1e300,
                     decimal(v), hex_from_value(v + 0.0));
}

std::string element_table(const Entry& e, const std::string& id) {
  if (e.elements.empty()) return "";
  std::string rows;
  for (const ElementEvidence& v : e.elements) {
    const bool off = v.verdict == ElementVerdict::kViolation;
    rows += fmt::format("<tr><td class=k>{}[{}]{}", html_text(v.output), v.index, off ? " <span class=bad>beyond</span>" : "");
    rows += hex_cell(v.got) + hex_cell(v.exact);
    rows += std::isinf(v.allowed) ? "<td class=n data-v=1e300>no bound" : number_cell(v.allowed, fmt::format("{:.3g}", v.allowed));
    rows += number_cell(std::fabs(v.ulps), v.ulps == 0 ? "0" : measure_text(std::fabs(v.ulps))) + "\n";
  }
  return html_table(
      {id + "-elements",
       e.all_elements ? "Every element of the output" : "The offending elements",
       {"Element", "#Got", e.finding.shrunk.property ? "#Expected by the theorem" : "#Exact", "#Allowed error", "#Error in ulps"},
       rows});
}

std::string fact(std::string_view name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
}

std::string facts(const HtmlContext& c, const Entry& e) {
  const Finding& f = e.finding;
  const Law law = law_of(f);
  std::vector<std::string> variants;
  for (const std::string& v : f.variants) variants.push_back(v.empty() ? "default" : v);
  std::string out = "<dl class=facts>\n";
  out += fact("Bug family", html_text(f.bug_family));
  out += fact("Needs", f.needs.empty() ? "nothing in particular: it shows on ordinary data"
                                       : html_text(fmt::format("{}", fmt::join(f.needs, ", "))));
  out += fact("The output is", html_text(f.admitted_by));
  out += fact("Law",
              html_text(law.theorem) + (law.lean.empty() ? "" : fmt::format(" <span class=quiet>Lean: {}</span>", html_text(law.lean))));
  out += fact("What it proves", html_text(law.proves));
  out += fact("What it does not", html_text(law.does_not_prove));
  out += fact("Contract", html_text(fmt::format("{}, accumulation in {}", e.contract.name, name_of(e.contract.accumulate))));
  out +=
      fact("Seen", html_text(fmt::format("{} time{}, first with seed {}, index {}{}", grouped(f.occurrences), f.occurrences == 1 ? "" : "s",
                                         f.first_seed, f.first_index, f.first_regime.empty() ? "" : ", regime " + f.first_regime)));
  out += fact("Version", html_text(f.version) + (variants.empty() ? "" : html_text(fmt::format(" ({})", fmt::join(variants, ", ")))));
  out += fact("Since the last run", since_previous(c, f));
  const std::string folder = c.entries + "/" + uri_path(f.slug);
  out += fact("Entry",
              fmt::format("<a href=\"{0}/README.md\">README.md</a>, <a href=\"{0}/case.json\">case.json</a> in <a href=\"{0}/\">{1}</a>",
                          html_text(folder), html_text(f.slug)));
  return out + "</dl>\n";
}

std::string title_of(const Finding& f) { return fmt::format("{} {} on {}", f.op, name_of(f.dtype), label_of(f)); }

std::string section_of(const HtmlContext& c, const Finding& f, bool open) {
  const Entry e = entry_of(f, c.targets, c.targets_directory);
  const std::string id = anchor_of(f), picture = element_picture(e.elements);
  std::string out = fmt::format(
      "<details class=finding{}><summary><h3>{}</h3> {} <span class=quiet>{} · {}</span><p>{}</p></summary><div id=\"{}\">\n",
      open ? " open" : "", html_text(title_of(f)), status_badge(f), name_of(f.verdict), html_text(f.law), html_text(sentence_of(f)), id);
  out += "<div class=pair><div><h4>Got, exact, allowed</h4>\n";
  out += picture.empty()
             ? fmt::format("<p>No element was judged: {}.</p>\n", html_text(f.judgement.detail.empty() ? "see above" : f.judgement.detail))
             : picture;
  out += fmt::format(
      "</div><div><h4>Shrunk case</h4>\n<pre tabindex=0>{}</pre>\n<h4>Reproduce</h4>\n<pre class=command>./normfuzz repro {} --target "
      "{}</pre>"
      "</div></div>\n",
      html_text(case_text(f.shrunk)), html_text(c.report.out_directory + "/bugzoo/" + f.slug), html_text(label_of(f)));
  return out + element_table(e, id) + facts(c, e) + "</div></details>\n";
}

}  // namespace

std::string anchor_of(const Finding& f) {
  std::string out = "finding-";
  for (const char c : f.slug.empty() ? slug_of(f) : f.slug) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return out;
}

std::string status_badge(const Finding& f) {
  const char* tone = is_news(f) ? "bad" : f.status == FindingStatus::kFixed ? "good" : "quiet";
  return fmt::format("<span class=\"status {}\">{}</span>", tone, name_of(f.status));
}

std::string finding_overview(const HtmlContext& c) {
  if (c.report.findings.empty()) return "<p>No finding: every output kept the contract that its target declares.</p>\n";
  std::string rows;
  for (const Finding* f : in_order(c.report.findings)) {
    rows += fmt::format("<tr><td data-v={}>{}<td class=k><a href=\"#{}\">{}</a><td class=k>{}<td>{}<td>{}<td class=wide>{}",
                        static_cast<int>(f->status), status_badge(*f), anchor_of(*f), html_text(f->op), html_text(label_of(*f)),
                        name_of(f->dtype), name_of(f->verdict), html_text(f->bug_family.empty() ? sentence_of(*f) : f->bug_family));
    const double worst = worst_ratio(*f);
    rows += number_cell(worst, std::isinf(worst) ? "∞" : measure_text(worst)) + count_cell(f->occurrences);
    if (c.report.previous) rows += fmt::format("<td class=k>{}", since_previous(c, *f));
    rows += "\n";
  }
  std::vector<std::string> head = {"Status", "Op", "Target", "Type", "Verdict", "Family", "#Error / allowed", "#Cases"};
  if (c.report.previous) head.emplace_back("Last run");
  return html_table({"findings-table", "Findings; ∞ where nothing is allowed or the output is no number", std::move(head), rows,
                     c.report.findings.size() > 10});
}

std::string finding_sections(const HtmlContext& c) {
  std::string out;
  bool first = true;
  for (const Finding* f : in_order(c.report.findings)) out += section_of(c, *f, std::exchange(first, false));
  return out;
}

}  // namespace normfuzz
