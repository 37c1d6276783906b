// Verdicts on outcomes made by hand: each law has an outcome that breaks it and one that keeps it.
#include "harness/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/examine.h"
#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

using testing::case_of;
using testing::kEpsilon;
using testing::tensor;

Contract standard(DType d) { return *contract_named("standard", d); }

Outcome ok(const Case& c, const std::vector<double>& y) {
  Outcome o;
  o.kind = OutcomeKind::kOk;
  o.outputs.emplace_back("y", tensor(c.dtype(), c.input("x")->shape, y));
  return o;
}

Judgement judged(const Case& c, const Outcome& o, const Contract& k) { return CaseJudge(c).judge(o, k, true); }

// mean 0, variance 9/4, epsilon 7/4: y = +-0.75 exactly.
Case exact_case() { return case_of("layer_norm", DType::kF32, 1, {1.5, -1.5}, 1.75); }

TEST(Judge, ExactResultIsCertified) {
  const Case c = exact_case();
  const Judgement j = judged(c, ok(c, {0.75, -0.75}), standard(DType::kF32));
  EXPECT_EQ(j.verdict, Verdict::kCertified);
  EXPECT_EQ(j.elements, 2);
  EXPECT_EQ(j.filtered_rows, 1);
}

TEST(Judge, AnErrorBeyondTheBoundIsAContractVerdictWithEvidence) {
  const Case c = exact_case();
  const Judgement j = judged(c, ok(c, {0.75, -0.7501}), standard(DType::kF32));
  EXPECT_EQ(j.verdict, Verdict::kContract);
  EXPECT_EQ(j.law, "standard");
  EXPECT_EQ(j.failure, FailureClass::kWrong);
  EXPECT_EQ(j.violations, 1);
  ASSERT_EQ(j.evidence.size(), 1u);
  EXPECT_EQ(j.evidence[0].index, 1);
  EXPECT_EQ(j.evidence[0].exact, -0.75);
}

TEST(Judge, NaNOutranksWrong) {
  const Case c = exact_case();
  EXPECT_EQ(judged(c, ok(c, {0.8, std::nan("")}), standard(DType::kF32)).failure, FailureClass::kNan);
  EXPECT_EQ(judged(c, ok(c, {std::nan(""), 0.8}), standard(DType::kF32)).failure, FailureClass::kNan);
}

TEST(Judge, OneFeatureMustBeTheBiasWhateverTheInput) {
  for (const double x : {0.0, -0.0, 60000.0, 1.9e19, 0x1p-149, 0x1.fffffep127}) {
    Case c = case_of("layer_norm", DType::kF32, 1, {x}, kEpsilon);
    c.set_input("bias", tensor(DType::kF32, {1}, {0.5}));
    EXPECT_EQ(judged(c, ok(c, {0.5}), standard(DType::kF32)).verdict, Verdict::kCertified) << x;
    const Judgement j = judged(c, ok(c, {std::nextafterf(0.5f, 1)}), standard(DType::kF32));
    EXPECT_EQ(j.verdict, Verdict::kTheorem) << x;
    EXPECT_EQ(j.law, "ln.one_feature_forward");
  }
}

TEST(Judge, TheSignOfAZeroBiasIsFree) {
  Case c = case_of("layer_norm", DType::kF32, 1, {3}, kEpsilon);
  c.set_input("bias", tensor(DType::kF32, {1}, {-0.0}));
  EXPECT_EQ(judged(c, ok(c, {0.0}), standard(DType::kF32)).verdict, Verdict::kCertified);
}

TEST(Judge, AFoldedOneFeatureIsJudgedByItsBound) {
  const Case c = case_of("layer_norm", DType::kF32, 1, {60000}, kEpsilon);
  Contract folded = standard(DType::kF32);
  folded.folded_affine = true;
  EXPECT_NE(judged(c, ok(c, {0.5}), folded).verdict, Verdict::kTheorem);
  EXPECT_EQ(judged(c, ok(c, {0.5}), standard(DType::kF32)).verdict, Verdict::kTheorem);
}

TEST(Judge, OneFeatureWithEpsilonZeroIsReportedNotFailed) {
  const Case c = case_of("layer_norm", DType::kF32, 1, {3}, 0);
  EXPECT_EQ(judged(c, ok(c, {std::nan("")}), standard(DType::kF32)).verdict, Verdict::kUndecided);
}

TEST(Judge, LostSquaresAreARangeLimitAndAViolationOnlyUnderRobust) {
  const Case c = case_of("layer_norm", DType::kF32, 1, {1e30, -1e30}, kEpsilon);
  const Judgement j = judged(c, ok(c, {0, 0}), standard(DType::kF32));
  EXPECT_EQ(j.verdict, Verdict::kRangeLimit);
  EXPECT_EQ(j.range_limited, 2);
  EXPECT_EQ(judged(c, ok(c, {0, 0}), *contract_named("robust", DType::kF32)).verdict, Verdict::kContract);
  EXPECT_NE(judged(c, ok(c, {1, -1}), standard(DType::kF32)).verdict, Verdict::kRangeLimit);
}

TEST(Judge, MemoryOutranksNumbers) {
  const Case c = exact_case();
  Outcome o = ok(c, {9, 9});
  o.memory.overrun = "y";
  o.memory.detail = "y: byte 0 after the last element";
  const Judgement j = judged(c, o, standard(DType::kF32));
  EXPECT_EQ(j.verdict, Verdict::kTheorem);
  EXPECT_EQ(j.law, "bit.memory.overrun");
  EXPECT_EQ(j.failure, FailureClass::kMemory);
}

TEST(Judge, OutcomesThatAreNoResultKeepTheirName) {
  const Case c = exact_case();
  const auto verdict = [&](OutcomeKind kind) {
    Outcome o;
    o.kind = kind;
    return judged(c, o, standard(DType::kF32)).verdict;
  };
  EXPECT_EQ(verdict(OutcomeKind::kUnsupported), Verdict::kUnsupported);
  EXPECT_EQ(verdict(OutcomeKind::kRejected), Verdict::kRejected);
  EXPECT_EQ(verdict(OutcomeKind::kCrashed), Verdict::kCrashed);
  EXPECT_EQ(verdict(OutcomeKind::kTimedOut), Verdict::kTimedOut);
}

TEST(Judge, GradeLawsAreCountedNotFailed) {
  Case c = case_of("layer_norm", DType::kF32, 2, {5, 5, 5, 5, 5, 5}, kEpsilon);
  GradeNotes notes;
  CaseJudge(c).note_laws(ok(c, {0, 0, 0, 0, 0, 0x1p-20}), notes);
  EXPECT_EQ(notes.laws["constant_row"].held, 1);
  EXPECT_EQ(notes.laws["constant_row"].broken, 1);
  EXPECT_EQ(notes.laws["equal_rows"].broken, 1);
}

// The laws that need a second run.
Examination examined(const Case& c, const ExamineOptions& options, std::vector<std::vector<double>> ys) {
  CaseJudge judge(c);
  const Contract k = standard(c.dtype());
  const RunPlan plan = plan_runs(c, judge.rows(), k, options);
  EXPECT_EQ(plan.runs().size(), ys.size());
  std::vector<Outcome> outcomes;
  for (const auto& y : ys) outcomes.push_back(ok(c, y));
  return judge_runs(judge, plan, outcomes, k, options);
}

TEST(Examine, ARepeatedCallMustGiveTheSameBits) {
  const Case c = exact_case();
  EXPECT_EQ(examined(c, {.repeat = true}, {{0.75, -0.75}, {0.75, -0.75}}).judgement.verdict, Verdict::kCertified);
  const auto e = examined(c, {.repeat = true}, {{0.75, -0.75}, {0.75, std::nextafterf(-0.75f, 0)}});
  EXPECT_EQ(e.judgement.verdict, Verdict::kBitwise);
  EXPECT_EQ(e.judgement.law, "bit.determinism");
}

TEST(Examine, ANonFiniteRowMustNotReachAnother) {
  const double nan = std::nan("");
  const Case c = case_of("layer_norm", DType::kF32, 2, {nan, 1, 1.5, -1.5}, 1.75);
  EXPECT_EQ(examined(c, {.containment = true}, {{nan, nan, 0.75, -0.75}, {0, 0, 0.75, -0.75}}).judgement.verdict, Verdict::kCertified);
  const auto e = examined(c, {.containment = true}, {{nan, nan, 0.75, -0.75}, {0, 0, std::nextafterf(0.75f, 1), -0.75}});
  EXPECT_EQ(e.judgement.verdict, Verdict::kTheorem);
  EXPECT_EQ(e.judgement.law, "bit.containment");
}

TEST(Examine, NoPartnerWhereAllRowsAreFinite) {
  const Case c = exact_case();
  EXPECT_EQ(examined(c, {.containment = true}, {{0.75, -0.75}}).judgement.verdict, Verdict::kCertified);
}

}  // namespace
}  // namespace normfuzz
