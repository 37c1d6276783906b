// One HTML file that needs nothing beside itself: no network, no fonts, no scripts from elsewhere; its policy forbids them.
#include <fmt/format.h>

#include "harness/run/paths.h"
#include "reports/escape.h"
#include "reports/formats.h"
#include "reports/html_parts.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

struct Section {
  const char *anchor, *name;
};
constexpr Section kSections[] = {{"findings", "Findings"},        {"earlier", "Earlier entries"},    {"since", "Since the last run"},
                                 {"grades-of-targets", "Grades"}, {"errors", "Error against bound"}, {"growth", "Width and scale"},
                                 {"coverage", "Coverage"},        {"properties", "Theorems"},        {"targets", "Targets"}};

std::string figure(std::string_view name, const std::string& value, std::string_view tone) {
  return fmt::format("<div><dt>{}</dt><dd class=\"{}\">{}</dd></div>\n", name, tone, value);
}

std::string summary(const HtmlContext& c) {
  const CampaignReport& r = c.report;
  std::int64_t news = 0, known = 0;
  for (const Finding& f : r.findings) (is_news(f) ? news : known) += 1;
  std::string out = fmt::format("<h1>normfuzz: {}</h1>\n", news_text(r));
  std::size_t took_part = 0;
  for (const ReportedTarget& t : r.targets) took_part += t.skipped.empty();
  out += fmt::format("<p class=quiet>{}{} target{}, seed {}{}, {:.0f} s of fuzzing</p>\n",
                     r.interrupted ? "Interrupted, everything saved. " : "", took_part, took_part == 1 ? "" : "s", r.seed,
                     r.shards == 1 ? "" : ", shard " + html_text(shard_text(r)), r.seconds);
  out += "<dl class=figures>\n" + figure("New findings", grouped(news), news > 0 ? "bad" : "good") +
         figure("Known or noted", grouped(known), "") + figure("Cases judged", grouped(r.tally.cases()), "") +
         figure("Certified", grouped(r.tally.certified()), "") +
         figure("Violations", grouped(r.tally.violations()), r.tally.violations() > 0 ? "bad" : "") + "</dl>\n";
  return out;
}

// `linked`: of this campaign, so that its finding can be linked; `folded`: no news.
std::string change_list(std::string_view title, const std::vector<const Finding*>& findings, bool linked, bool folded) {
  if (findings.empty()) return "";
  const std::string heading = fmt::format("{} ({})", title, findings.size());
  std::string out =
      folded ? fmt::format("<details class=more><summary>{}</summary>\n<ul>\n", heading) : fmt::format("<h3>{}</h3>\n<ul>\n", heading);
  for (const Finding* f : findings) {
    const std::string name = html_text(fmt::format("{} {} on {}", f->op, name_of(f->dtype), label_of(*f)));
    out += fmt::format("<li>{} {} <span class=quiet>{}</span></li>\n",
                       linked ? fmt::format("<a href=\"#{}\">{}</a>", anchor_of(*f), name) : name, status_badge(*f),
                       html_text(f->bug_family.empty() ? f->law : f->bug_family));
  }
  return out + (folded ? "</ul></details>\n" : "</ul>\n");
}

std::string since_section(const HtmlContext& c) {
  const CampaignReport& r = c.report;
  if (!r.previous) return "";
  std::string out = fmt::format(
      "<section><h2 id=since>Since the last run</h2>\n<p class=quiet>Compared with {} (seed {}) by signature: target, op, type, law, class "
      "and what the failure needs.</p>\n",
      html_text(r.previous->directory), r.previous->seed);
  const std::string lists =
      change_list("Appeared", c.changes.fresh, true, false) + change_list("Still there", c.changes.again, true, true) +
      change_list("No longer seen", c.changes.gone, false, false) + change_list("Not asked this time", c.changes.unasked, false, true);
  return out + (lists.empty() ? "<p>Neither run has a finding.</p>\n" : lists) + "</section>\n";
}

std::string earlier_section(const HtmlContext& c) {
  std::string rows;
  for (const Announcement& a : c.report.announcements) {
    const char* tone = a.status == EntryState::kNew ? "bad" : a.status == EntryState::kFixed ? "good" : "quiet";
    rows += fmt::format("<tr><td data-v={}><span class=\"status {}\">{}</span><td class=k>{}<td class=k>{}<td class=wide>{}\n",
                        static_cast<int>(a.status), tone, name_of(a.status), html_text(a.slug), html_text(a.target), html_text(a.message));
  }
  if (rows.empty()) return "";
  return "<section><h2 id=earlier>Entries of earlier runs</h2>\n" +
         html_table(
             {"earlier-table", "Adopted findings and those of the last run, tried again", {"Status", "Entry", "Target", "What"}, rows}) +
         "</section>\n";
}

std::string navigation(const std::string& body) {
  std::string out = "<nav aria-label=Sections><ul>\n";
  for (const Section& s : kSections)
    if (body.find(fmt::format("<h2 id={}>", s.anchor)) != std::string::npos)
      out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", s.anchor, s.name);
  return out + "</ul></nav>\n";
}

std::string html(const CampaignReport& report, const std::string& entries) {
  const std::string folder = worker_directory() + "/targets";
  auto targets = load_targets(folder);
  const HtmlContext c{report, entries, changes_of(report), targets ? std::move(*targets) : std::vector<Target>{}, folder};
  const std::string body = "<section><h2 id=findings>Findings</h2>\n" + finding_overview(c) + finding_sections(c) + "</section>\n" +
                           earlier_section(c) + since_section(c) + grade_section(c) + regime_section(c) + growth_section(c) +
                           coverage_section(c) + property_section(c) + law_section(c) + target_section(c);
  std::string out =
      "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<title>normfuzz report</title>\n"
      "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
      "img-src data:\">\n"
      "<link rel=icon href=\"data:,\">\n";
  out += fmt::format("<style>\n{}</style>\n</head>\n<body>\n<a class=skip href=\"#main\">To the findings</a>\n", kPageStyle);
  out += "<header>\n" + summary(c) + navigation(body) + "</header>\n<main id=main>\n" + body + "</main>\n";
  return out + fmt::format("<script>\n{}</script>\n</body>\n</html>\n", kPageScript);
}

}  // namespace

extern const ReportFormat kHtml;
const ReportFormat kHtml = {"--html", "write a self-contained HTML page", html};

}  // namespace normfuzz
