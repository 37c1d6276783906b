// JUnit XML: a suite per target, a test per op and data type. What CI services show as a table of tests.
#include <fmt/format.h>

#include <map>

#include "reports/escape.h"
#include "reports/formats.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

struct Suite {
  std::string cases;
  int tests = 0, failures = 0, skipped = 0;
};

std::string describe(const Finding& f, const std::string& entries) {
  return fmt::format("{} ({}, {})\n  {}\n  seen {} times, first: seed {} index {}{}\n  ./normfuzz repro {}/{} --target {}\n", f.slug,
                     name_of(f.verdict), name_of(f.status), f.explanation.empty() ? f.judgement.detail : f.explanation, f.occurrences,
                     f.first_seed, f.first_index, f.first_regime.empty() ? "" : " (" + f.first_regime + ")", entries, f.slug, label_of(f));
}

std::string failure(const std::vector<const Finding*>& findings, const OpTally& t, const std::string& entries) {
  std::string message, body;
  std::string_view type = "violation";
  for (const Finding* f : findings) {
    if (!is_news(*f)) continue;
    if (body.empty()) type = name_of(f->verdict);
    message += (message.empty() ? "" : "; ") + (f->explanation.empty() ? f->judgement.detail : f->explanation);
    body += describe(*f, entries);
  }
  if (findings.empty() && t.violations() > 0) message = body = fmt::format("{} violations that have not been shrunk yet", t.violations());
  if (body.empty()) return "";
  return fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", type, xml_attribute(message), html_text(body));
}

// Why nothing was judged.
std::string skip_reason(const OpTally& t) {
  std::string out;
  for (const ReasonCounts* reasons : {&t.unsupported, &t.rejected})
    for (const auto& [reason, count] : reasons->named()) out += (out.empty() ? "" : "; ") + (reason.empty() ? "no reason given" : reason);
  return out.empty() ? "no case ran" : out;
}

std::string counts(const OpTally& t, const std::vector<const Finding*>& findings, const std::string& entries) {
  std::string out = fmt::format("{} cases: {} certified, {} violations, {} without a bound, {} out of range, {} not run; grade {}\n",
                                t.cases(), t.certified(), t.violations(), t.count(Verdict::kUndecided), t.count(Verdict::kRangeLimit),
                                t.count(Verdict::kUnsupported) + t.count(Verdict::kRejected), t.grade());
  for (const Finding* f : findings)
    if (!is_news(*f)) out += describe(*f, entries);
  return fmt::format("      <system-out>{}</system-out>\n", html_text(out));
}

void add_test(Suite& suite, const CampaignReport& report, const TallyKey& key, const OpTally& t, const std::string& entries) {
  const std::vector<const Finding*> findings = findings_of(report, key, t);
  const bool ran = t.cases() > t.count(Verdict::kUnsupported) + t.count(Verdict::kRejected);
  const std::string failed = failure(findings, t, entries);
  suite.cases +=
      fmt::format("    <testcase classname=\"{}\" name=\"{} {}\">\n", xml_attribute(key.target), xml_attribute(key.op), name_of(key.dtype));
  if (!failed.empty())
    suite.cases += failed;
  else if (!ran)
    suite.cases += fmt::format("      <skipped message=\"{}\"/>\n", xml_attribute(skip_reason(t)));
  suite.cases += counts(t, findings, entries) + "    </testcase>\n";
  ++suite.tests;
  suite.failures += !failed.empty();
  suite.skipped += failed.empty() && !ran;
}

// An entry of an earlier run is a test of its own.
void add_entry(Suite& suite, const Announcement& a) {
  const std::string name = fmt::format("classname=\"{}\" name=\"{}\"", xml_attribute(a.target), xml_attribute("entry " + a.slug));
  const std::string message = xml_attribute(a.message);
  std::string result = fmt::format("      <system-out>{}: {}</system-out>\n", name_of(a.status), html_text(a.message));
  if (a.status == EntryState::kNew) result.insert(0, fmt::format("      <failure type=\"entry\" message=\"{}\"/>\n", message));
  if (a.status == EntryState::kNotApplicable) result.insert(0, fmt::format("      <skipped message=\"{}\"/>\n", message));
  suite.cases += fmt::format("    <testcase {}>\n{}    </testcase>\n", name, result);
  ++suite.tests;
  suite.failures += a.status == EntryState::kNew;
  suite.skipped += a.status == EntryState::kNotApplicable;
}

std::string version_of(const CampaignReport& report, const std::string& label) {
  for (const ReportedTarget& t : report.targets)
    if (t.label == label && !t.version.empty())
      return fmt::format("    <properties><property name=\"version\" value=\"{}\"/></properties>\n", xml_attribute(t.version));
  return "";
}

std::string junit(const CampaignReport& report, const std::string& entries) {
  std::map<std::string, Suite> suites;
  for (const auto& [key, t] : report.tally.entries) add_test(suites[key.target], report, key, t, entries);
  for (const ReportedTarget& t : report.targets) {
    if (t.skipped.empty() || suites.contains(t.label)) continue;
    suites[t.label] = {fmt::format("    <testcase classname=\"{}\" name=\"available\">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                                   xml_attribute(t.label), xml_attribute(t.skipped)),
                       1, 0, 1};
  }
  for (const Announcement& a : report.announcements) add_entry(suites[a.target], a);
  Suite all;
  for (const auto& [label, suite] : suites) {
    all.cases += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n{}{}  </testsuite>\n",
                             xml_attribute(label), suite.tests, suite.failures, suite.skipped, version_of(report, label), suite.cases);
    all.tests += suite.tests;
    all.failures += suite.failures;
    all.skipped += suite.skipped;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"normfuzz\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\">\n{}</testsuites>\n",
      all.tests, all.failures, all.skipped, report.seconds, all.cases);
}

}  // namespace

extern const ReportFormat kJunit;
const ReportFormat kJunit = {"--junit", "write a JUnit XML file: a suite per target, a test per op and type", junit};

}  // namespace normfuzz
