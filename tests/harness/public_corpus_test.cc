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
  for (const auto& [name, tensor] : c.expect) outcome.outputs.emplace_back(name, tensor);
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

// A bound cannot tell everything: a constant row of huge values (the law of constant rows does), what rounds as the contract may, and what
// leaves the range of float32.
TEST(PublicCorpus, ReportedBugsAreFindings) {
  NORMFUZZ_NEED_CROSS_CHECK_PYTHON();
  const std::map<std::string, Verdict> permitted = {};
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
    EXPECT_EQ(verdict_on(*read_case(NORMFUZZ_SOURCE_DIR "/corpus/public/" + name + ".json")), Verdict::kCertified) << name;
  }
}

}  // namespace
}  // namespace normfuzz
