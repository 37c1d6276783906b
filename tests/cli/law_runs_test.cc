#include "cli/law_runs.h"

#include <gtest/gtest.h>

#include <limits>

#include "oracles/ops/op.h"
#include "oracles/oracle.h"
#include "tests/harness/broken_ops.h"
#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

Outcome answered(const Tensor& y) {
  Outcome o;
  o.kind = OutcomeKind::kOk;
  o.outputs.emplace_back("y", y);
  return o;
}

const LawRun& run_of(const std::vector<LawRun>& runs, const std::string& law) {
  for (const LawRun& r : runs)
    if (r.law == law) return r;
  ADD_FAILURE() << law;
  return runs.front();
}

class LawRuns : public ::testing::Test {
 protected:
  LawCounts note(const LawRun& run, const Tensor& base, const Tensor& related) {
    GradeNotes notes;
    note_law_run(run, answered(base), answered(related), CaseRows(case_), notes);
    return notes.laws[run.law];
  }
  const Case case_ = testing::case_of("layer_norm", DType::kF32, 3, {1, 2, 3, 4, 5, 6}, testing::kEpsilon);
  const std::vector<LawRun> runs_ = law_runs(case_);
};

// The related cases hold the same elements, in another batch, layout or alignment or under other threads, and are cases that may be run.
TEST_F(LawRuns, RelatedCasesAreTheSameRows) {
  ASSERT_EQ(runs_.size(), 4U);
  for (const LawRun& r : runs_) EXPECT_TRUE(validate(r.related)) << r.law;
  const Tensor& x = *case_.input("x");
  const Tensor& alone = *run_of(runs_, "batch_invariance").related.input("x");
  EXPECT_EQ(alone.values(), (std::vector<double>{5, 6}));
  const Tensor& spaced = *run_of(runs_, "layout").related.input("x");
  EXPECT_EQ(spaced.values(), x.values());
  EXPECT_EQ(spaced.strides, (std::vector<std::int64_t>{4, 2}));
  const Tensor& shifted = *run_of(runs_, "alignment").related.input("x");
  EXPECT_EQ(shifted.values(), x.values());
  EXPECT_EQ(shifted.misalign, 4);
  Case strided = case_;
  strided.input("x")->strides = {8, 3};
  EXPECT_TRUE(run_of(law_runs(strided), "layout").related.input("x")->dense());
  EXPECT_EQ(law_runs(testing::case_of("rms_norm", DType::kF16, 1, {1, 2}, 0)).size(), 3U);  // one row: no batch to vary
}

TEST_F(LawRuns, OneBitIsABrokenRow) {
  const Tensor y = testing::tensor(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, std::numeric_limits<double>::quiet_NaN()});
  const LawRun &batch = run_of(runs_, "batch_invariance"), &layout = run_of(runs_, "layout");
  Tensor last = testing::tensor(DType::kF32, {1, 2}, {5, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(note(batch, y, last).held, 1);
  last.set_bits(0, last.bits(0) ^ 1);
  EXPECT_EQ(note(batch, y, last).broken, 1);
  EXPECT_EQ(note(layout, y, y).held, 3);
  Tensor wrong = y;
  wrong.set_bits(3, wrong.bits(3) ^ 1);
  EXPECT_EQ(note(layout, y, wrong).held, 2);
  EXPECT_EQ(note(layout, y, wrong).broken, 1);
}

// Of every op: related cases are valid, a kernel that computes rows alike keeps the laws, and one wrong bit breaks them.
TEST(LawRunsOfOps, HoldForExactOutputsAndBreakByOneBit) {
  for (const OpInfo* op : all_ops()) {
    Case c = normfuzz::testing::any_case_of(*op, 1);
    if (!op->affine() && !op->forward_map() && op->formula != Formula::kLayerNormGraph) c.params["axis"] = std::int64_t{0};
    const Outcome base = normfuzz::testing::exact_outcome(c);
    const CaseRows rows(c);
    std::size_t laws = 0;
    for (const LawRun& run : law_runs(c)) {
      ASSERT_TRUE(validate(run.related)) << op->name << " " << run.law;
      Outcome related = normfuzz::testing::exact_outcome(run.related);
      GradeNotes notes;
      note_law_run(run, base, related, rows, notes);
      EXPECT_EQ(notes.laws[run.law].broken, 0) << op->name << " " << run.law;
      EXPECT_EQ(notes.laws[run.law].held, run.law == "batch_invariance" ? CaseRows(run.related).rows() : rows.slices())
          << op->name << " " << run.law;
      related.outputs[0].second.set_bits(0, related.outputs[0].second.bits(0) ^ 1);
      GradeNotes wrong;
      note_law_run(run, base, related, rows, wrong);
      EXPECT_EQ(wrong.laws[run.law].broken, 1) << op->name << " " << run.law;
      ++laws;
    }
    EXPECT_EQ(laws, op->shape == OutputShape::kUpdate ? 3U : 4U) << op->name;
  }
}

TEST_F(LawRuns, WhatDidNotRunCountsNothing) {
  GradeNotes notes;
  Outcome refused;
  refused.kind = OutcomeKind::kRejected;
  note_law_run(runs_.front(), answered(*case_.input("x")), refused, CaseRows(case_), notes);
  EXPECT_TRUE(notes.laws.empty());
}

}  // namespace
}  // namespace normfuzz
