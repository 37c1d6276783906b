#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "reports/formats.h"
#include "tests/reports/sample_report.h"

namespace normfuzz {
extern const ReportFormat kMarkdown;
namespace {

constexpr std::size_t kGitHubLimit = 65'536;

// Rows of a table have as many cells as its head, a table begins behind an empty line, what is folded is closed again.
void check(const std::string& text) {
  EXPECT_LT(text.size(), kGitHubLimit);
  std::istringstream lines(text);
  std::string previous;
  std::int64_t cells = 0;
  for (std::string line; std::getline(lines, line); previous = line) {
    if (!line.starts_with("|")) {
      cells = 0;
      continue;
    }
    const std::int64_t bars = std::count(line.begin(), line.end(), '|');
    if (cells == 0) {
      EXPECT_EQ(previous, "") << "no empty line before " << line;
    } else {
      EXPECT_EQ(bars, cells) << line;
    }
    cells = bars;
  }
  const auto count = [&](const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
    return n;
  };
  EXPECT_EQ(count("<details>"), count("</details>"));
  EXPECT_EQ(count("<code>"), count("</code>"));
}

TEST(Markdown, SaysWhatIsNewFirst) {
  const std::string text = kMarkdown.write(testing::sample_report(), "out/bugzoo");
  check(text);
  EXPECT_EQ(text.find("## normfuzz: 1 new finding\n"), 0U) << text;
  EXPECT_NE(text.find("| <code>mutants:one&#95;pass</code> | <code>layer&#95;norm</code> f32 | contract | needs a mean offset |"),
            std::string::npos)
      << text;
  EXPECT_LT(text.find("needs a mean offset"), text.find("<details>"));
  EXPECT_NE(text.find("<summary>1 known</summary>"), std::string::npos);
  EXPECT_NE(text.find("| <code>cpu</code> | <code>layer&#95;norm</code> |  | f64&#95;accumulate |  |  |"), std::string::npos) << text;
  EXPECT_NE(text.find("- <code>torch</code>: skipped: not set up"), std::string::npos);
  EXPECT_NE(text.find("- <code>cpu</code>: normfuzz 0.1.0\n"), std::string::npos);
  CampaignReport quiet = testing::sample_report();
  quiet.findings.clear();
  EXPECT_EQ(kMarkdown.write(quiet, "").find("## normfuzz: nothing new\n"), 0U);
}

TEST(Markdown, EntriesOfEarlierRuns) {
  CampaignReport r = testing::report_of_entries();
  const std::string text = kMarkdown.write(r, "out/bugzoo");
  check(text);
  EXPECT_EQ(text.find("## normfuzz: 1 entry of an earlier run\n"), 0U) << text;
  EXPECT_LT(text.find("- new <code>slug-new</code>: is back on cpu 1.0\n"), text.find("<details>")) << text;
  EXPECT_NE(text.find("- fixed <code>slug-fixed</code>: no longer reproduces on cpu 1.0\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("slug-known"), std::string::npos) << "as before";
  r.findings[0].status = FindingStatus::kNew;
  EXPECT_EQ(kMarkdown.write(r, "").find("## normfuzz: 1 new finding and 1 entry of an earlier run\n"), 0U);
}

TEST(Markdown, ComparesWithThePreviousCampaign) {
  CampaignReport r = testing::sample_report();
  Finding gone = r.findings[0];
  gone.needs = {"epsilon"};
  r.previous = PreviousCampaign{"before", 4, {r.findings[0], gone}};
  const std::string text = kMarkdown.write(r, "");
  check(text);
  EXPECT_NE(text.find("Since the previous run (seed 4): 1 appeared, 1 still there, 1 no longer seen.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("<summary>1 no longer seen</summary>"), std::string::npos);
}

TEST(Markdown, FitsIntoACommentHoweverMuchThereIs) {
  CampaignReport r = testing::sample_report();
  r.findings[0].explanation = std::string(5000, 'x');
  for (int i = 0; i < 400; ++i) r.findings.push_back(r.findings[static_cast<std::size_t>(i % 2)]);
  for (int i = 0; i < 2000; ++i)
    r.tally.entries[{"target " + std::to_string(i), "layer_norm", DType::kF32}] = r.tally.entries.begin()->second;
  for (int i = 0; i < 2000; ++i) r.targets.push_back({"target " + std::to_string(i), "1.0", ""});
  const std::string text = kMarkdown.write(r, "out/bugzoo");
  check(text);
  EXPECT_NE(text.find("more new findings are in the HTML report"), std::string::npos);
}

TEST(Markdown, OfHostileAndOfEmptyCampaigns) {
  const std::string text = kMarkdown.write(testing::hostile_report(), "b");
  check(text);
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find("@everyone"), std::string::npos);
  check(kMarkdown.write({}, "b"));
}

}  // namespace
}  // namespace normfuzz
