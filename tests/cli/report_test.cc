// The commands of docs/reading-a-report.md.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/files.h"
#include "tests/cli/run_program.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

std::string content(const std::string& path) {
  const auto text = read_file(path, std::size_t{1} << 26);
  EXPECT_TRUE(text) << text.error();
  return text ? *text : "";
}

std::vector<std::string> campaign(const std::string& out, const std::string& seed) {
  return {"run",    "--targets", "cpu,mutants:epsilon_fixed",
          "--ops",  "rms_norm",  "--dtypes",
          "f32",    "--cases",   "64",
          "--jobs", "1",         "--seed",
          seed,     "--out",     out};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Report, ShowsAStoredCampaignInEveryFormat) {
  const TemporaryDirectory directory;
  const std::string out = directory.file("out"), again = directory.file("again");
  std::vector<std::string> arguments = campaign(out, "1");
  const std::vector<std::string> files = {"--html", "--markdown", "--junit", "--sarif"};
  for (const std::string& f : files) arguments.insert(arguments.end(), {f, directory.file("run" + f)});
  const Ran run = run_program(arguments);
  EXPECT_EQ(run.status, 1) << run.err;

  const Ran text = run_program({"report", out});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(text.out, run.out);
  EXPECT_LE(longest_line(text.out), 100U);
  EXPECT_EQ(run_program({"report", out + "/campaign.db"}).out, run.out);

  std::vector<std::string> later = {"report", out};
  for (const std::string& f : files) later.insert(later.end(), {f, directory.file("report" + f)});
  const Ran written = run_program(later);
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, "");
  for (const std::string& f : files) {
    const std::string report = content(directory.file("report" + f));
    EXPECT_EQ(report, content(directory.file("run" + f))) << f;
    EXPECT_TRUE(contains(report, "mutants:epsilon_fixed") || contains(report, "mutants:epsilon&#95;fixed")) << f;
  }
  EXPECT_TRUE(contains(content(directory.file("report--html")), "href=\"out/bugzoo/mutants-rms-norm"));
  EXPECT_GE(json_of(run_program({"report", out, "--json"})).root().find("findings")->count(), 1);

  // The same bug under another seed is no news since the last run.
  run_program(campaign(again, "2"));
  const std::string page = directory.file("compared.html"), sarif = directory.file("compared.sarif");
  EXPECT_EQ(run_program({"report", again, "--html", page, "--sarif", sarif, "--previous", out}).status, 0);
  EXPECT_TRUE(contains(content(page), "Still there ("));
  EXPECT_TRUE(contains(content(sarif), "\"baselineState\": \"unchanged\""));
  EXPECT_EQ(run_program({"report", out, "--html", page, "--previous", directory.file("none")}).status, 2);
}

TEST(Report, SaysWhatIsMissing) {
  const Ran ran = run_program({"report", "no/such/folder"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_TRUE(contains(ran.err, "no campaign here")) << ran.err;
  EXPECT_LE(longest_line(run_program({"report", "--help"}).out), 100U);
}

}  // namespace
}  // namespace normfuzz::testing
