// What a finding of a property leaves behind: the theorem in its entry, its statement with the case's numbers, a line of the report.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "reports/bugzoo.h"
#include "reports/json.h"
#include "reports/text.h"
#include "tests/harness/broken_kernel.h"
#include "tests/oracles/theorems/run_property.h"
#include "tests/temporary_directory.h"

namespace normfuzz {
namespace {

using namespace testing;

std::string text_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// rms_norm without a weight is half as long again as it should be.
NamedTensors too_long(const Case& c) {
  NamedTensors out = correct(c);
  Tensor& y = out[0].second;
  for (std::int64_t i = 0; !c.input("weight") && i < y.size(); ++i) y.set_value(i, 1.5 * y.value(i));
  return out;
}

Finding finding_of(const char* id, const PropertyArgs& args) {
  Case c = random_case("rms_norm", DType::kF32, {1, 2}, 0, 1);
  c.property = PropertyRef{id, args};
  CaseJudge judge(c);
  const Contract contract = *contract_named("standard", DType::kF32);
  const RunPlan plan = plan_runs(c, judge.rows(), contract, {});
  std::vector<Outcome> outcomes;
  for (const Case* run : plan.runs()) {
    outcomes.emplace_back();
    outcomes.back().kind = OutcomeKind::kOk;
    outcomes.back().outputs = too_long(*run);
  }
  Examination e = judge_runs(judge, plan, outcomes, contract, {});
  Finding f;
  f.target = "framework";
  f.op = c.op;
  f.law = e.judgement.law;
  f.verdict = e.judgement.verdict;
  f.failure = e.judgement.failure;
  f.shrunk = c;
  f.judgement = std::move(e.judgement);
  f.outcome = std::move(e.outcome);
  f.slug = slug_of(f);
  return f;
}

TEST(PropertyEntry, NamesTheTheoremItsRunsAndItsStatement) {
  const Finding f = finding_of("rms.output_rms_one", {});
  ASSERT_EQ(f.law, "rms.output_rms_one");
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_entry(f, directory.path()));
  const std::string readme = text_of(directory.file(f.slug + "/README.md")), lean = text_of(directory.file(f.slug + "/contract.lean"));
  const Property& p = *find_property(f.law);
  for (const std::string_view part :
       {p.statement, p.premises, p.does_not_prove, std::string_view("## Runs"), std::string_view("run 2: epsilon"),
        std::string_view("weight absent"), std::string_view("Got, expected by the theorem, allowed")})
    EXPECT_NE(readme.find(part), std::string::npos) << part << "\n" << readme;
  for (const char* part :
       {"A statement, not a checked proof", "noncomputable def xs0 : List ℝ := [", "noncomputable def run1 (i : ℕ) : ℝ := rmsNorm xs1",
        "def n : ℕ := 2", "((List.range n).map fun j => run1 j ^ 2).sum = n * (meanSquare xs1 / (meanSquare xs1 + epsilon1))",
        "def divergence : Prop :="})
    EXPECT_NE(lean.find(part), std::string::npos) << part << "\n" << lean;
  EXPECT_FALSE(text_of(directory.file(f.slug + "/repro.sh")).empty());
  EXPECT_NE(text_of(directory.file(f.slug + "/case.json")).find("\"property\":{\"id\":\"rms.output_rms_one\""), std::string::npos);
}

TEST(PropertyEntry, StatesNumbersOfTheArguments) {
  Finding f = finding_of("rms.output_rms_one", {});
  f.law = "rms.scale_drift";
  f.shrunk.property = PropertyRef{f.law, {{"c", "0x1p+1"}}};
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_entry(f, directory.path()));
  const std::string lean = text_of(directory.file(f.slug + "/contract.lean"));
  EXPECT_NE(lean.find("noncomputable def c : ℝ := (2 : ℝ)"), std::string::npos) << lean;
  EXPECT_NE(lean.find("epsilon0 / c ^ 2"), std::string::npos) << lean;
}

// A law about bits has no statement over the reals, and the file says so.
TEST(PropertyEntry, SaysWhyNothingIsStated) {
  Finding f = finding_of("rms.output_rms_one", {});
  f.law = "bit.layout";
  f.verdict = Verdict::kBitwise;
  f.shrunk.property = PropertyRef{f.law, {{"mode", "spaced"}}};
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_entry(f, directory.path()));
  EXPECT_NE(text_of(directory.file(f.slug + "/contract.lean")).find("nothing to state here"), std::string::npos);
  EXPECT_NE(text_of(directory.file(f.slug + "/README.md")).find("claims (layout)"), std::string::npos);
}

TEST(PropertyReport, CountsAndNamesTheTargets) {
  const Case c = random_case("rms_norm", DType::kF32, {1, 2}, 0, 1);
  CampaignReport r;
  r.tally.note_property("cpu", c, {"bit.layout", true, false, true});
  r.tally.note_property("torch", c, {"bit.layout", true, true, false});
  r.tally.note_property("mutants:no_root", c, {"norm.triangle", true, true, true});
  r.tally.note_property("mutants:no_root", c, {"norm.triangle"});
  const std::string text = properties_text(r.tally);
  EXPECT_NE(text.find(" bit.layout                       2   100.0  torch 1 (not claimed)\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" norm.triangle                    2    50.0  mutants:no_root 1\n"), std::string::npos) << text;
  EXPECT_EQ(properties_text({}), "");
  EXPECT_NE(campaign_text(r, false).find(text), std::string::npos);
  const std::string json = run_json(r);
  EXPECT_NE(json.find(R"({"id":"norm.triangle","target":"mutants:no_root","tried":2,"met":1,"violations":1,"unclaimed":0)"),
            std::string::npos)
      << json;
}

TEST(TheoremListing, IsVacuousBelowOneInAHundred) {
  TheoremListing t;
  t.sum.tried = 999;
  EXPECT_FALSE(t.vacuous());
  t.sum.tried = 1000;
  t.sum.met = 9;
  EXPECT_TRUE(t.vacuous());
  t.sum.met = 10;
  EXPECT_FALSE(t.vacuous());
}

}  // namespace
}  // namespace normfuzz
