// corpus/public: its files are what its script gives, and what the reported bugs compute on them is a finding.
#include <gtest/gtest.h>

#include <map>

#include "core/case_io.h"
#include "harness/judge.h"
#include "tests/core/cross_check.h"
#include "tests/public_cases.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;
using testing::case_files_in;

bool run_make(const testing::TemporaryDirectory& directory, const std::string& arguments) {
  return testing::run_python(directory, "import subprocess, sys\nsys.exit(subprocess.run([sys.executable, '" NORMFUZZ_SOURCE_DIR
                                        "/corpus/public/make.py', " +
                                            arguments + "]).returncode)\n");
}

// The verdict on a case whose `expect` is what a kernel of the standard contract is said to have given.
Verdict verdict_on(const Case& c) {
  Outcome outcome;
  outcome.kind = OutcomeKind::kOk;
  for (const std::string_view name : find_op(c.op)->outputs)
    if (const auto it = c.expect.find(std::string(name)); it != c.expect.end()) outcome.outputs.push_back(*it);
  return CaseJudge(c).judge(outcome, *contract_named("standard", c.dtype())).verdict;
}

TEST(PublicCorpus, TheScriptGivesTheFilesAndSeesAChangedBit) {
  NORMFUZZ_NEED_CROSS_CHECK_PYTHON();
  const testing::TemporaryDirectory directory, copy;
  EXPECT_TRUE(run_make(directory, "'--check'"));
  fs::copy(NORMFUZZ_SOURCE_DIR "/corpus/public", copy.path(), fs::copy_options::recursive);
  Case c = *read_case(copy.file("ln-three-features.json"));
  c.expect.at("y").set_bits(1, c.expect.at("y").bits(1) ^ 1);
  ASSERT_TRUE(save_case(c, copy.file("ln-three-features.json")));
  EXPECT_FALSE(run_make(directory, "'--check', '" + copy.path() + "'"));
}

// What the default contract permits: one unit more than 1; a constant row of huge values, which a law judges and no bound; a mean of 400
// deviations; NaN for 0/0; and anything where squares leave the range of float32.
TEST(PublicCorpus, ReportedBugsAreFindings) {
  NORMFUZZ_NEED_CROSS_CHECK_PYTHON();
  const std::map<std::string, Verdict> permitted = {
      {"bn-constant-1e10", Verdict::kCertified},
      {"cos-arange-84", Verdict::kCertified},
      {"l2-zero-row", Verdict::kCertified},
      {"ln-eps-0-constant-row", Verdict::kCertified},
      {"ln-mean-plus-millis", Verdict::kCertified},
      {"cos-zero-eps-product", Verdict::kRangeLimit},
      {"l2-1e30", Verdict::kRangeLimit},
      {"lp-norm-1e30", Verdict::kRangeLimit},
      {"rms-tiny-1e-30", Verdict::kUndecided},
  };
  const testing::TemporaryDirectory directory, wrong;
  ASSERT_TRUE(run_make(directory, "'--wrong', '" + wrong.path() + "'"));
  const auto files = case_files_in(wrong.path());
  EXPECT_GE(files.size(), testing::kLeastPublicCases);
  for (const std::string& file : files) {
    const auto c = read_case(file);
    ASSERT_TRUE(c) << c.error();
    const std::string name = fs::path(file).stem();
    const Verdict verdict = verdict_on(*c);
    const auto it = permitted.find(name);
    if (it == permitted.end())
      EXPECT_TRUE(is_violation(verdict)) << name << ": " << name_of(verdict);
    else
      EXPECT_EQ(verdict, it->second) << name << ": " << name_of(verdict);
    EXPECT_FALSE(is_violation(verdict_on(*read_case(NORMFUZZ_SOURCE_DIR "/corpus/public/" + name + ".json")))) << name;
  }
}

}  // namespace
}  // namespace normfuzz
