#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/files.h"
#include "harness/generate/generator.h"
#include "oracles/ops/op.h"
#include "reports/formats.h"
#include "tests/reports/run_python.h"
#include "tests/reports/sample_report.h"
#include "tests/temporary_directory.h"

namespace normfuzz {
extern const ReportFormat kHtml;
namespace {

using testing::check_with_python;

std::string page() { return kHtml.write(testing::sample_report(), "out/bugzoo"); }

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Html, ShowsEveryPartOfTheCampaign) {
  const std::string html = page();
  for (const char* part : {"normfuzz: 1 new finding", "<h2 id=findings>", "<h2 id=grades-of-targets>", "<h2 id=errors>", "<h2 id=growth>",
                           "<h2 id=coverage>", "<h2 id=properties>", "<h2 id=targets>", "f64_accumulate", "needs a mean offset",
                           "one-pass variance", "./normfuzz repro out/bugzoo/mutants-f32-standard --target mutants:one_pass",
                           "out/bugzoo/mutants-f32-standard/case.json", "skipped: not set up", "aria-sort=none"})
    EXPECT_TRUE(contains(html, part)) << part;
  EXPECT_FALSE(contains(html, "<h2 id=since>"));  // there is no previous run
  CampaignReport r = testing::sample_report();
  Finding gone = r.findings[0];
  gone.needs = {"epsilon"};
  r.previous = PreviousCampaign{"before", 4, {r.findings[0], gone}};
  const std::string compared = kHtml.write(r, "out/bugzoo");
  for (const char* part : {"<h2 id=since>", "Appeared (1)", "Still there (1)", "No longer seen (1)"})
    EXPECT_TRUE(contains(compared, part)) << part;
}

TEST(Html, IsWellFormedAndReachable) {
  const auto run = check_with_python("html_structure.py", page());
  EXPECT_EQ(run.status, 0) << run.output;
  const auto empty = check_with_python("html_structure.py", kHtml.write({}, ""));
  EXPECT_EQ(empty.status, 0) << empty.output;
  for (const auto& [good, bad] : std::map<std::string, std::string>{{"</h1>", "</h2>"},
                                                                    {"<h2 id=errors>", "<h4 id=errors>"},
                                                                    {"<caption", "<span"},
                                                                    {"href=\"#finding-", "href=\"#other-"},
                                                                    {"href=\"data:,\"", "href=\"https://example.org/\""},
                                                                    {" lang=en", ""},
                                                                    {" aria-sort=none", ""}}) {
    std::string broken = page();
    ASSERT_TRUE(contains(broken, good)) << good;
    broken.replace(broken.find(good), good.size(), bad);
    EXPECT_NE(check_with_python("html_structure.py", broken).status, 0) << good;
  }
}

TEST(Html, SaysWhatATargetSaysAsText) {
  const std::string html = kHtml.write(testing::hostile_report(), "out/bugzoo");
  const auto run = check_with_python("html_structure.py", html);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(html.find("<script>"), html.rfind("<script>"));
  EXPECT_FALSE(contains(html, "alert(1)<"));
  EXPECT_TRUE(contains(html, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_FALSE(contains(html, "\x1b"));
}

TEST(Html, StaysSmall) {
  CampaignReport r = testing::sample_report();
  const Finding example = r.findings[0];
  r.findings.clear();
  for (int i = 0; i < 20; ++i) {
    Finding f = example;
    f.slug = "finding-" + std::to_string(i);
    f.needs = {f.slug};
    f.judgement.evidence.assign(kMaxEvidence, f.judgement.evidence[0]);
    r.findings.push_back(f);
  }
  // Ten targets of three variants on every op and type, with an error of its own in every regime.
  for (int target = 0; target < 30; ++target)
    for (const OpInfo* op : all_ops())
      for (const DType d : kAllDTypes) {
        OpTally& t =
            r.tally
                .entries[{"target-" + std::to_string(target % 10) + ":variant-" + std::to_string(target / 10), std::string(op->name), d}];
        t.verdicts.fill(1000 + target);
        int n = target;
        for (const RegimeInfo& regime : all_regimes()) {
          t.errors.kept[std::string(regime.name)] = {-n % 40, n % 60};
          t.errors.broken[std::string(regime.name)] = {n % 20, n % 60};
          ++n;
        }
        for (int at = 0; at < 32; ++at) t.errors.by_width[at][(at + target) % 30] = t.errors.by_scale[at - 20][at % 9] = 7;
      }
  EXPECT_LT(kHtml.write(r, "out/bugzoo").size(), 2'000'000U);
}

// WCAG 2.1, 'relative luminance' and 'contrast ratio'.
double luminance(const std::string& hex) {
  double sum = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(hex.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// The colours of a `:root` block by name.
std::map<std::string, std::string> colours(const std::string& html, std::size_t from) {
  std::map<std::string, std::string> out;
  const std::size_t begin = html.find(":root", from), end = html.find('}', begin);
  for (std::size_t at = begin; (at = html.find("--", at)) < end; ++at) {
    const std::size_t colon = html.find(':', at), stop = html.find(';', at);
    out[html.substr(at + 2, colon - at - 2)] = html.substr(html.find('#', colon), stop - html.find('#', colon));
  }
  return out;
}

TEST(Html, ColoursHaveEnoughContrast) {
  EXPECT_EQ(contrast("#ffffff", "#000000"), 21);
  EXPECT_LT(contrast("#ffffff", "#777777"), 4.5);  // the well-known grey that just misses it
  const std::string html = page();
  for (const bool dark : {false, true}) {
    const auto c = colours(html, dark ? html.find("prefers-color-scheme: dark") : 0);
    ASSERT_EQ(c.size(), 22U) << dark;
    for (const char* text : {"text", "quiet", "accent", "bad", "warn", "good"})  // AA for text
      for (const char* ground : {"page", "surface"}) EXPECT_GE(contrast(c.at(text), c.at(ground)), 4.5) << dark << text << ground;
    for (const char* heat : {"heat-1", "heat-2", "heat-3", "heat-4", "heat-5"})
      EXPECT_GE(contrast(c.at("text"), c.at(heat)), 4.5) << dark << heat;
    EXPECT_GE(contrast(c.at("quiet"), c.at("heat-0")), 4.5) << dark;
    for (const char* mark : {"series-1", "series-2", "series-3", "series-4", "series-5", "bad"})  // AA for graphics
      EXPECT_GE(contrast(c.at(mark), c.at("page")), 3) << dark << mark;
    for (const char* mark : {"text", "series-1", "bad"}) EXPECT_GE(contrast(c.at(mark), c.at("allowed")), 3) << dark << mark;
  }
  EXPECT_EQ(colours(html, 0).size(), colours(html, html.find("prefers-color-scheme: dark")).size());
}

TEST(Html, LinksLeadFromTheFileToTheEntries) {
  const testing::TemporaryDirectory directory;
  CampaignReport r = testing::sample_report();
  r.out_directory = directory.file("night/out");
  ASSERT_TRUE(std::filesystem::create_directories(directory.file("pages")));
  ASSERT_TRUE(write_report(kHtml, r, directory.file("pages/report.html")));
  const auto text = read_file(directory.file("pages/report.html"), 1 << 24);
  ASSERT_TRUE(text) << text.error();
  EXPECT_TRUE(contains(*text, "href=\"../night/out/bugzoo/mutants-f32-standard/case.json\""));
  EXPECT_FALSE(write_report(kHtml, r, directory.file("no/such/folder/report.html")));
}

// A browser, where there is one: no console errors, sorting by mouse and keyboard, no sideways scrolling on a phone.
TEST(Html, WorksInABrowser) {
  const auto run = check_with_python("browser_check.py", kHtml.write(testing::hostile_report(), "out/bugzoo"));
  if (run.status == 77) GTEST_SKIP() << run.output;
  EXPECT_EQ(run.status, 0) << run.output;
}

TEST(Html, EntriesOfEarlierRuns) {
  const std::string page = kHtml.write(testing::report_of_entries(), "out/bugzoo");
  for (const char* part : {"<h1>normfuzz: 1 entry of an earlier run</h1>", "<h2 id=earlier>", "<a href=\"#earlier\">",
                           "<span class=\"status bad\">new</span><td class=k>slug-new", "<span class=\"status good\">fixed</span>"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(kHtml.write(testing::sample_report(), "").find("<h2 id=earlier>"), std::string::npos);
}

}  // namespace
}  // namespace normfuzz
