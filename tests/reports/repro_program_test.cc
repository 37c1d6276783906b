// The program of an entry, run against onnxruntime alone: it shows a divergence that is there, and none where there is none.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness/examine.h"
#include "reports/bugzoo.h"
#include "tests/temporary_directory.h"

namespace normfuzz {
namespace {

using testing::TemporaryDirectory;

struct Ended {
  int status = -1;
  std::string output;
};

Ended run_program(const std::string& python, const std::string& entry) {
  const std::string output = entry + "/output.txt";
  const int ended = std::system(("'" + python + "' '" + entry + "/repro.py' >'" + output + "' 2>&1").c_str());
  std::ostringstream text;
  text << std::ifstream(output).rdbuf();
  return {WIFEXITED(ended) ? WEXITSTATUS(ended) : -1, text.str()};
}

// group_norm of one group: 0, 2^-8, 0 above an offset.
Case group(double offset) {
  Case c;
  c.op = "group_norm";
  c.params["epsilon"] = 0x1.4f8b58p-17;  // 1e-5 in float32
  c.params["groups"] = std::int64_t{1};
  Tensor x = Tensor::zeros(DType::kF32, {1, 3});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, offset + (i == 1 ? 0x1p-8 : 0));
  c.set_input("x", std::move(x));
  c.set_input("weight", std::nullopt);
  c.set_input("bias", std::nullopt);
  return c;
}

class ReproProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto targets = load_targets(NORMFUZZ_BINARY_DIR "/targets");
    ASSERT_TRUE(targets) << targets.error();
    for (const Target& t : *targets)
      if (t.name == "onnxruntime") target_ = t;
    if (!target_.unavailable.empty()) GTEST_SKIP() << target_.unavailable;
  }

  Finding finding_of(const Case& c) const {
    const auto worker = Worker::create({target_, target_.variants[0]}, {});
    Examination e = std::move(examine(*worker, target_, std::span(&c, 1), {})[0]);
    Finding f;
    f.target = target_.name;
    f.op = c.op;
    f.law = e.judgement.law;
    f.verdict = e.judgement.verdict;
    f.failure = e.judgement.failure;
    f.shrunk = c;
    f.judgement = std::move(e.judgement);
    f.outcome = std::move(e.outcome);
    f.explanation = "a test";
    return f;
  }

  Ended run(Finding f) const {
    const TemporaryDirectory place;
    f.slug = "entry";
    EXPECT_TRUE(write_entry(f, place.path(), NORMFUZZ_BINARY_DIR "/targets"));
    return run_program(target_.python, place.file("entry"));
  }

  Target target_;
};

TEST_F(ReproProgram, ShowsADivergence) {
  const Finding f = finding_of(group(16));  // GroupNormalization takes its variance in one pass
  ASSERT_EQ(f.verdict, Verdict::kContract) << f.judgement.detail;
  const Ended r = run(f);
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_NE(r.output.find("  <- diverges\n"), std::string::npos) << r.output;
}

TEST_F(ReproProgram, SaysThatThereIsNone) {
  Finding f = finding_of(group(0));
  ASSERT_EQ(f.verdict, Verdict::kCertified) << f.judgement.detail;
  f.outcome.outputs[0].second.set_value(0, 9);  // as if the kernel had given this
  const Ended r = run(f);
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_NE(r.output.find("no divergence\n"), std::string::npos) << r.output;
}

}  // namespace
}  // namespace normfuzz
