// normfuzz audit: the tables add up, fit a terminal, and say how to get them again.
#include <gtest/gtest.h>

#include "tests/cli/run_program.h"

namespace normfuzz::testing {
namespace {

// Small and fast: two rows of 64 in float32.
std::vector<std::string> arguments(const std::string& tolerance, const std::string& mutants, bool json) {
  std::vector<std::string> a = {"audit", "--rtol",   tolerance, "--atol",  tolerance, "--hidden",  "64",   "--batch",
                                "2",     "--dtypes", "f32",     "--cases", "20",      "--mutants", mutants};
  if (json) a.emplace_back("--json");
  return a;
}

const std::string kSome = "two_pass,squared_scale,sample_variance,squares_in_f16,input_overwritten,no_projection";

TEST(Audit, SumsAddUp) {
  const Ran ran = run_program(arguments("1e-5", kSome, true));
  ASSERT_EQ(ran.status, 0) << ran.err;
  const JsonDocument document = json_of(ran);
  const JsonValue policy = document.root().find("policies")->first(), mutants = *document.root().find("mutants");
  std::int64_t killed = 0, not_tested = 0, controls = 0;
  JsonValue m = mutants.first();
  for (std::int64_t i = 0; i < mutants.count(); ++i, m = i < mutants.count() ? m.next() : m) {
    const JsonValue r = *m.find("policies")->find("yours");
    if (m.find("family")->text().empty())
      ++controls;
    else if (r.find("cases")->integer() == 0)
      ++not_tested;
    else
      killed += r.find("killed_at")->integer() > 0;
  }
  EXPECT_EQ(mutants.count(), 6);
  EXPECT_EQ(controls, policy.find("controls")->integer());
  EXPECT_EQ(killed, policy.find("killed")->integer());
  EXPECT_EQ(killed, 3);  // the overwritten input leaves the output as it should be
  EXPECT_EQ(not_tested, policy.find("not_tested")->integer());
  EXPECT_EQ(not_tested, 1);  // f16
  EXPECT_EQ(policy.find("mutants")->integer(), 5);
  EXPECT_EQ(policy.find("false_alarms")->integer(), 0);
  EXPECT_EQ(document.root().find("normfuzz")->find("same_cases")->find("false_alarms")->integer(), 0);
}

TEST(Audit, AHopelessPolicyKillsNone) {
  const JsonDocument document = json_of(run_program(arguments("1e30", "squared_scale,dropped_tail,heads_together", true)));
  EXPECT_EQ(document.root().find("policies")->first().find("killed")->integer(), 0);
}

TEST(Audit, TheTableFitsATerminalAndComesAgain) {
  const Ran ran = run_program(arguments("1e-5", kSome, false));
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_LE(longest_line(ran.out.substr(ran.out.find("\n\n"))), 100U) << ran.out;
  EXPECT_NE(ran.out.find("`normfuzz audit --rtol 1e-5"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("| squared_scale"), std::string::npos);
  EXPECT_NE(ran.out.find("not tested"), std::string::npos);
  EXPECT_EQ(run_program(arguments("1e-5", kSome, false)).out, ran.out);
}

TEST(Audit, AllPresetsFitATerminal) {
  const Ran ran =
      run_program({"audit", "--preset", "all", "--cases", "1", "--mutants", "squared_scale,cosine_product_under_root,two_pass"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_LE(longest_line(ran.out.substr(ran.out.find("\n\n"))), 100U) << ran.out;
}

TEST(Audit, RefusesWhatItDoesNotKnow) {
  for (const auto& [arguments, naming] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{"audit"}, "--rtol"},
                                                                     {{"audit", "--preset", "abacus"}, "abacus"},
                                                                     {{"audit", "--rtol", "-1"}, "--rtol"},
                                                                     {{"audit", "--atol", "1", "--metric", "ulps"}, "ulps"},
                                                                     {{"audit", "--atol", "1", "--input-policy", "zeros"}, "zeros"},
                                                                     {{"audit", "--atol", "1", "--hidden", "0"}, "--hidden"},
                                                                     {{"audit", "--atol", "1", "--mutants", "nobody"}, "nobody"}}) {
    const Ran ran = run_program(arguments);
    EXPECT_EQ(ran.status, 2) << ran.out;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(naming), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace normfuzz::testing
