#include <gtest/gtest.h>

#include "harness/explain/ablation.h"
#include "harness/explain/suspects.h"
#include "harness/shrink.h"
#include "tests/harness/broken_kernel.h"

namespace normfuzz {
namespace {

using namespace testing;
using Words = std::vector<std::string>;

struct Explained {
  ShrinkResult shrunk;
  Explanation explanation;
};

Explained explained(const Case& c, const Probe& probe) {
  EXPECT_TRUE(is_violation(probe(std::span(&c, 1))[0].judgement.verdict));
  Explained e{shrunk(c, probe), {}};
  e.explanation = explain(e.shrunk, *contract_named("standard", c.dtype()), probe);
  return e;
}

// Different random cases of one bug are one finding: same needs, family and match.
Explained check(const Departure& d, DType dtype, std::vector<std::int64_t> shape, double mean, const Words& needs,
                const std::string& family, const std::string& text) {
  Explained last;
  for (const std::uint64_t seed : {1, 2, 3}) {
    last = explained(random_case("layer_norm", dtype, shape, mean, seed), probe_of(departing(d)));
    EXPECT_EQ(last.explanation.needs, needs) << "seed " << seed << ": " << last.explanation.sentence;
    EXPECT_EQ(last.explanation.bug_family, family) << last.explanation.sentence;
    EXPECT_NE(last.explanation.sentence.find(text), std::string::npos) << last.explanation.sentence;
  }
  return last;
}

TEST(Explain, SampleVariance) { check({.divisor_loss = 1}, DType::kF32, {3, 17}, 0, {}, "statistics", "matches the variance over n - 1"); }
TEST(Explain, EpsilonDropped) { check({.drop_epsilon = true}, DType::kF32, {3, 17}, 0, {"epsilon"}, "epsilon", "matches epsilon dropped"); }
TEST(Explain, EpsilonFixed) {
  check({.fix_epsilon = true}, DType::kF32, {3, 17}, 0, {"epsilon"}, "epsilon", "matches epsilon fixed at 1e-5");
}
TEST(Explain, ShiftedWeight) {
  check({.shift_weight = true}, DType::kF32, {3, 17}, 0, {"weight"}, "parameters", "matches the next element's weight");
}
TEST(Explain, SixteenBitsTellFormulasApart) {
  check({.shift_weight = true}, DType::kBF16, {3, 17}, 0, {"weight"}, "parameters", "matches the next element's weight");
  check({.fix_epsilon = true}, DType::kF16, {3, 17}, 0, {"epsilon"}, "epsilon", "matches epsilon fixed at 1e-5");
}
TEST(Explain, DroppedBias) { check({.drop_bias = true}, DType::kF32, {3, 17}, 0, {"bias"}, "parameters", "matches the bias ignored"); }
TEST(Explain, DroppedTail) {
  check({.tail_of = 4, .tail_is = 1}, DType::kF32, {3, 17}, 0, {"width tail"}, "width and tails",
        "matches columns behind the last multiple of 4 left out of the sums");
}
TEST(Explain, OnePassVariance) {
  const Explained e =
      check({.one_pass = true}, DType::kF32, {3, 17}, 3000, {"mean offset"}, "cancellation", "consistent with one-pass variance");
  EXPECT_EQ(e.explanation.admitted_by.substr(0, 33), "consistent with one-pass variance");
}
TEST(Explain, OneFeature) {
  const Explained e =
      check({.folded_fma = true}, DType::kF16, {3, 1}, 60000, {"columns", "mean offset"}, "folded affine", "consistent with folded affine");
  EXPECT_NE(e.explanation.sentence.find("layer_norm of one feature in f16 returns "), std::string::npos) << e.explanation.sentence;
  EXPECT_NE(e.explanation.sentence.find(" instead of the bias 0"), std::string::npos) << e.explanation.sentence;
}

TEST(Explain, CrashAtThreeColumns) {
  const auto kernel = [](const RowInputs& row, double* y, Outcome& o) {
    departing({})(row, y, o);
    if (row.n == 3) {
      o.kind = OutcomeKind::kCrashed;
      o.signal = 11;
    }
  };
  const Explanation e = explained(random_case("layer_norm", DType::kF32, {4, 3}, 0, 1), probe_of(kernel)).explanation;
  EXPECT_EQ(e.needs, Words{"columns"});
  EXPECT_EQ(e.bug_family, "crash");
  EXPECT_EQ(e.sentence, "layer_norm of 3 columns in f32 crashes (killed by signal 11 (Segmentation fault)); needs columns.");
}

TEST(Explain, MemoryNeedsRowsAndStrides) {
  const auto memory = [](const Case& c, Outcome& o) {
    const Tensor& x = *c.input("x");
    const auto axis = static_cast<std::size_t>(std::max(0, x.rank() - 2));
    if (x.rank() >= 2 && x.shape[axis] > 1 && x.strides[axis] > x.shape.back()) {
      o.memory.overrun = "y";
      o.memory.detail = "y: padding changed";
    }
  };
  Case c = random_case("layer_norm", DType::kF32, {5, 7}, 0, 1);
  c.input("x")->strides = {9, 1};
  const Explanation e = explained(c, probe_of(departing({}), memory)).explanation;
  EXPECT_EQ(e.needs, (Words{"rows", "strides"}));
  EXPECT_EQ(e.bug_family, "layout and alignment");
  EXPECT_NE(e.sentence.find("breaks memory (y: padding changed)"), std::string::npos) << e.sentence;
}

TEST(Explain, NanByRangeNeedsScale) {
  const auto kernel = [](const RowInputs& row, double* y, Outcome& o) {
    departing({})(row, y, o);
    for (std::int64_t i = 0; i < row.n; ++i)
      if (std::fabs(row.x[i]) > 0x1p64) y[i] = std::nan("");
  };
  Case c = random_case("layer_norm", DType::kF32, {2, 1}, 0, 1);
  c.input("x")->set_value(0, 1.9e19);
  const Explanation e = explained(c, probe_of(kernel)).explanation;
  EXPECT_EQ(e.needs, (Words{"columns", "mean offset", "scale"}));
  EXPECT_EQ(e.bug_family, "range");
}

TEST(Explain, UnsupportedAnswersProveNothing) {
  Case c = random_case("layer_norm", DType::kF16, {1, 4}, 0, 1);
  c.set_input("weight", std::nullopt);
  c.set_input("bias", std::nullopt);
  const Probe only_f16 = [](std::span<const Case> cases) {
    std::vector<Examination> out(cases.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool knows = cases[i].dtype() == DType::kF16;
      out[i].judgement.verdict = knows ? Verdict::kContract : Verdict::kUnsupported;
      out[i].judgement.law = knows ? "standard" : "";
    }
    return out;
  };
  ShrinkResult r;
  r.shrunk = c;
  r.reproduced = true;
  r.examination = only_f16(std::span(&c, 1))[0];
  EXPECT_EQ(needs_of(r, only_f16), Words{});
}

TEST(Suspects, CorrectOutputMatchesNoWrongFormula) {
  const Case c = random_case("layer_norm", DType::kF32, {2, 5}, 0, 1);
  EXPECT_TRUE(matching_formulas(c, run_kernel(c, departing({})), *contract_named("standard", DType::kF32)).empty());
}

TEST(Suspects, WhatNoContractAdmitsIsNotAdmitted) {
  const Case c = random_case("layer_norm", DType::kF32, {1, 5}, 0, 1);
  const Outcome wrong = run_kernel(c, [](const RowInputs& row, double* y, Outcome&) { std::fill(y, y + row.n, 1e3); });
  EXPECT_FALSE(admitting_contract(c, wrong, *contract_named("standard", DType::kF32)));
}

}  // namespace
}  // namespace normfuzz
