#include <gtest/gtest.h>

#include "reports/formats.h"
#include "tests/reports/run_python.h"
#include "tests/reports/sample_report.h"

namespace normfuzz {
extern const ReportFormat kJunit;
namespace {

using testing::check_with_python;

TEST(Junit, ATestPerOpAndType) {
  const auto run = check_with_python("junit_counts.py", kJunit.write(testing::sample_report(), "out/bugzoo"));
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.output,
            "'cpu' 'layer_norm f32' passed \n"
            "'cpu' 'layer_norm f16' skipped 'epsilon 0'\n"
            "'mutants:one_pass' 'layer_norm f32' failure 'needs a mean offset'\n"
            "'mutants:one_pass' 'layer_norm f16' passed \n"
            "'torch' 'available' skipped 'not set up, run ./normfuzz setup torch'\n");
}

TEST(Junit, OnlyNewsFail) {
  CampaignReport r = testing::sample_report();
  r.findings[0].status = FindingStatus::kKnown;
  const std::string known = kJunit.write(r, "out/bugzoo");
  EXPECT_EQ(known.find("<failure"), std::string::npos) << known;
  EXPECT_NE(known.find("mutants-f32-standard (contract, known)"), std::string::npos) << known;
  r.findings.clear();  // not shrunk yet: nobody has looked at it
  EXPECT_NE(kJunit.write(r, "").find("1 violations that have not been shrunk yet"), std::string::npos);
}

TEST(Junit, AnEntryOfAnEarlierRunIsATest) {
  const auto run = check_with_python("junit_counts.py", kJunit.write(testing::report_of_entries(), "out/bugzoo"));
  EXPECT_EQ(run.status, 0) << run.output;
  for (const char* line : {"'cpu' 'entry slug-new' failure 'is back on cpu 1.0'\n", "'cpu' 'entry slug-known' passed \n",
                           "'cpu' 'entry slug-fixed' passed \n", "'mine' 'entry slug-other' skipped 'does not run'\n"})
    EXPECT_NE(run.output.find(line), std::string::npos) << line << run.output;
}

// Equal failures of two variants are one finding, which carries the first one's name.
TEST(Junit, AFindingOfOneVariantStandsForTheOthers) {
  CampaignReport r = testing::sample_report();
  r.findings.resize(1);
  r.findings[0].variant = "other";
  r.findings[0].variants = {"other"};
  EXPECT_NE(kJunit.write(r, "").find("<failure"), std::string::npos);
  r.findings[0].status = FindingStatus::kKnown;
  EXPECT_EQ(kJunit.write(r, "").find("<failure"), std::string::npos);
}

TEST(Junit, IsXmlWhateverATargetSays) {
  const std::string xml = kJunit.write(testing::hostile_report(), "out/bugzoo");
  const auto run = check_with_python("junit_counts.py", xml);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_NE(run.output.find("<script>alert(1)</script>"), std::string::npos) << "as text";
  EXPECT_NE(check_with_python("junit_counts.py", xml + "<").status, 0);
  std::string miscounted = xml;
  miscounted.replace(miscounted.find("tests=\""), 7, "tests=\"9");
  EXPECT_NE(check_with_python("junit_counts.py", miscounted).status, 0);
  EXPECT_EQ(check_with_python("junit_counts.py", kJunit.write({}, "")).status, 0);
}

}  // namespace
}  // namespace normfuzz
