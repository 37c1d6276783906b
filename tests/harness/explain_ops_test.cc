// Every op's own bugs: found, shrunk and named.
#include <gtest/gtest.h>

#include "core/case_io.h"
#include "harness/explain/suspects.h"
#include "harness/shrink.h"
#include "harness/shrink/simplicity.h"
#include "oracles/case_bounds.h"
#include "oracles/kernels/kernel.h"
#include "tests/harness/broken_ops.h"

namespace normfuzz {
namespace {

using namespace testing;
using Words = std::vector<std::string>;
using Params = std::map<std::string, ParamValue>;

const std::string kInside = "add_inside";

struct Expected {
  std::string op;
  Break at;
  std::vector<std::int64_t> shape;
  Params params;
  std::int64_t elements;  // at most, after shrinking
  Words needs;
  std::string family, text;
};

class OpBug : public ::testing::TestWithParam<Expected> {};

TEST_P(OpBug, IsShrunkAndNamed) {
  const Expected& x = GetParam();
  const Probe probe = probe_of(x.at);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Case c = random_case_of(x.op, DType::kF32, x.shape, x.params, seed);
    ASSERT_TRUE(validate(c)) << validate(c).error();
    ASSERT_FALSE(is_violation(probe_of(Break::kNothing)(std::span(&c, 1))[0].judgement.verdict)) << "the kernel itself is wrong";
    ASSERT_TRUE(is_violation(probe(std::span(&c, 1))[0].judgement.verdict)) << "the bug does not show";
    const ShrinkResult r = shrunk(c, probe);
    ASSERT_TRUE(r.reproduced);
    EXPECT_TRUE(validate(r.shrunk));
    EXPECT_LE(main_input(r.shrunk).size(), x.elements) << write_case(r.shrunk);
    EXPECT_LE(simplicity(r.shrunk), simplicity(c));
    const Explanation e = explain(r, *contract_named("standard", DType::kF32), probe);
    EXPECT_EQ(e.needs, x.needs) << e.sentence << "\n" << write_case(r.shrunk);
    EXPECT_EQ(e.bug_family, x.family) << e.sentence << "\n" << write_case(r.shrunk);
    EXPECT_NE(e.sentence.find("; matches " + x.text + "."), std::string::npos) << e.sentence << "\n" << write_case(r.shrunk);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OpBug,
    ::testing::Values(
        Expected{"channel_layer_norm", Break::kWholeMap, {2, 4, 3, 3}, {}, 4, {"rows"}, "axis and layout", "whole-map LayerNorm"},
        Expected{"channel_layer_norm",
                 Break::kWholeMap,
                 {2, 3, 3, 4},
                 {{"layout", "nhwc"}},
                 4,
                 {"rows"},
                 "axis and layout",
                 "whole-map LayerNorm"},
        Expected{"channel_layer_norm",
                 Break::kOtherLayout,
                 {2, 3, 3, 4},
                 {{"layout", "nhwc"}},
                 6,
                 {"rows"},
                 "axis and layout",
                 "NHWC read as NCHW"},
        Expected{"channel_layer_norm",
                 Break::kOtherLayout,
                 {3, 3, 4},
                 {{"layout", "nhwc"}},
                 6,
                 {"rows"},
                 "axis and layout",
                 "NHWC read as NCHW"},
        Expected{"channel_layer_norm", Break::kSampleVariance, {2, 4, 3, 3}, {}, 2, {}, "statistics", "the variance over n - 1"},
        Expected{"channel_layer_norm",
                 Break::kEpsilonOutside,
                 {2, 4, 3, 3},
                 {{"epsilon", 0.125}},
                 2,
                 {"epsilon"},
                 "epsilon",
                 "epsilon added to the root instead of under it"},
        Expected{"layer_norm_backward", Break::kMeanOfG, {3, 6}, {}, 2, {}, "backward terms", "the term mean(g) left out"},
        Expected{
            "layer_norm_backward", Break::kMeanOfGXhat, {3, 6}, {}, 2, {"cotangent"}, "backward terms", "the term mean(g xhat) left out"},
        Expected{"rms_norm_backward", Break::kMeanOfGXhat, {3, 6}, {}, 1, {}, "backward terms", "the term mean(g xhat) left out"},
        Expected{"channel_layer_norm_backward", Break::kMeanOfG, {2, 3, 2, 2}, {}, 2, {}, "backward terms", "the term mean(g) left out"},
        Expected{"layer_norm_backward", Break::kLastRowOnly, {3, 6}, {}, 4, {"rows"}, "reduction over rows", "the last row only"},
        Expected{"layer_norm_backward", Break::kWeightOfDy, {3, 6}, {}, 3, {"cotangent", "weight"}, "parameters", "the weight ignored"},
        Expected{"rms_norm_backward", Break::kEpsilon, {3, 6}, {{"epsilon", 1.0}}, 1, {"epsilon"}, "epsilon", "epsilon dropped"},
        Expected{"layer_norm_backward", Break::kSampleVariance, {3, 6}, {}, 2, {"cotangent"}, "statistics", "the variance over n - 1"},
        Expected{"layer_norm_backward", Break::kBiasFromDx, {3, 6}, {}, 2, {}, "backward terms", "sums of dx"},
        Expected{"layer_norm_sgd", Break::kWrongSign, {3, 6}, {{"learning_rate", 0.125}}, 2, {}, "update", "a step of the opposite sign"},
        Expected{"rms_norm_sgd",
                 Break::kSquaredRate,
                 {3, 6},
                 {{"learning_rate", 0.125}},
                 1,
                 {"learning rate"},
                 "update",
                 "the learning rate squared"},
        Expected{"lp_norm", Break::kOtherP, {3, 6}, {}, 2, {}, "norm", "the L1 norm"},
        Expected{"lp_norm", Break::kL2ForL1, {3, 6}, {{"p", 1.0}}, 2, {"p"}, "norm", "the L2 norm"},
        Expected{"lp_norm", Break::kRoot, {3, 6}, {{"axis", std::int64_t{0}}}, 1, {}, "norm", "the root left out"},
        Expected{"lp_norm",
                 Break::kMagnitude,
                 {3, 6},
                 {{"p", std::numeric_limits<double>::infinity()}},
                 1,
                 {"p"},
                 "norm",
                 "the largest element instead of the largest magnitude"},
        Expected{"rms", Break::kSampleVariance, {3, 6}, {}, 2, {}, "statistics", "the mean over n - 1"},
        Expected{"rms", Break::kRoot, {3, 6}, {}, 1, {}, "norm", "the root left out"},
        Expected{"distance", Break::kMagnitude, {3, 6}, {}, 1, {}, "norm", "differences of magnitudes"},
        Expected{"cosine", Break::kLengthOfB, {3, 6}, {}, 1, {}, "norm", "the length of b left out"},
        Expected{"lp_normalize", Break::kOtherP, {3, 6}, {}, 2, {}, "norm", "the L1 norm"},
        Expected{"lp_normalize",
                 Break::kEpsilonOutside,
                 {3, 6},
                 {{"epsilon", 0.125}, {"epsilon_mode", kInside}},
                 1,
                 {"epsilon"},
                 "epsilon",
                 "epsilon added outside of the root"}),
    [](const auto& info) { return info.param.op + std::to_string(info.index); });

// What is right matches nothing, whatever the op.
TEST(OpSuspects, CorrectOutputMatchesNoWrongFormula) {
  for (const OpInfo* op : all_ops()) {
    const Case c = any_case_of(*op, 1);
    ASSERT_TRUE(validate(c)) << op->name << ": " << validate(c).error();
    EXPECT_TRUE(matching_formulas(c, exact_outcome(c), *contract_named("standard", DType::kF32)).empty()) << op->name;
  }
}

Outcome outcome_of(const Case& c, const KernelOptions& kernel) {
  const CaseRows rows(c);
  Outcome o;
  o.kind = OutcomeKind::kOk;
  o.outputs = find_op(c.op)->output_layouts(c);
  for (std::int64_t s = 0; s < rows.slices(); ++s) {
    const Doubles v = run_kernel(kernel, rows, s, DType::kF32);
    for (std::int64_t i = 0; i < rows.slice_size(s); ++i) {
      const OutputElement e = rows.element(s, i);
      o.outputs[static_cast<std::size_t>(e.output)].second.set_value(e.index, v[static_cast<std::size_t>(i)]);
    }
  }
  return o;
}

// A folded xhat is named where a kernel uses it without promising it: of one feature the gradients are exactly zero otherwise.
TEST(OpSuspects, AFoldedXhatIsNamed) {
  const Contract two_pass = *contract_named("two_pass", DType::kF32);
  KernelOptions xhat;
  xhat.folded_xhat = xhat.fma = true;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Case c = random_case_of("layer_norm_backward", DType::kF32, {1, 1}, {}, seed);
    c.set_input("x", mapped(*c.input("x"), [](double v) { return v + 3000; }));
    EXPECT_FALSE(is_violation(CaseJudge(c).judge(outcome_of(c, {}), two_pass).verdict)) << seed;
    const Outcome o = outcome_of(c, xhat);
    if (!is_violation(CaseJudge(c).judge(o, two_pass).verdict)) continue;
    ++found;
    EXPECT_EQ(admitting_contract(c, o, two_pass)->text, "consistent with a folded xhat") << seed;
  }
  EXPECT_GT(found, 0);
}

// So is a folded gradient: its own bound is wider where x is large beside its spread.
TEST(OpSuspects, AFoldedGradientIsNamed) {
  const Contract two_pass = *contract_named("two_pass", DType::kF32);
  Contract folded = two_pass, folded_xhat = two_pass;
  folded.folded_backward = folded_xhat.folded_xhat = true;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Case c = random_case_of("layer_norm_backward", DType::kF32, {1, 4}, {}, seed);
    c.set_input("x", mapped(*c.input("x"), [](double v) { return v + 3000; }));
    Outcome o = outcome_of(c, {});
    CaseBounds strict(c, two_pass), wide(c, folded), other(c, folded_xhat);
    const double floor = std::max(strict.of("dx", 0).allowed, other.of("dx", 0).allowed), most = wide.of("dx", 0).allowed;
    if (!(most > 1.5 * floor)) continue;
    o.outputs[0].second.set_value(0, strict.of("dx", 0).head + (floor + most) / 2);
    ASSERT_TRUE(is_violation(CaseJudge(c).judge(o, two_pass).verdict)) << seed;
    const auto suspect = admitting_contract(c, o, two_pass);
    ASSERT_TRUE(suspect) << seed;
    EXPECT_EQ(suspect->text, "consistent with a folded backward") << seed;
    ++found;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace normfuzz
