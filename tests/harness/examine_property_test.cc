// The property of a case, put to its runs: which verdict, what is noted, how it shrinks, what is counted.
#include "harness/examine_property.h"

#include <gtest/gtest.h>

#include "harness/shrink.h"
#include "harness/tally.h"
#include "tests/harness/broken_kernel.h"
#include "tests/oracles/theorems/run_property.h"

namespace normfuzz {
namespace {

using namespace testing;

Outcome outcome_of(const Case& c, const Kernel& kernel) {
  Outcome o;
  o.kind = OutcomeKind::kOk;
  o.outputs = kernel(c);
  return o;
}

Examination examined(const Case& c, const Kernel& kernel, const Contract& contract) {
  CaseJudge judge(c);
  const ExamineOptions options{true, true, false};
  const RunPlan plan = plan_runs(c, judge.rows(), contract, options);
  std::vector<Outcome> outcomes;
  for (const Case* run : plan.runs()) outcomes.push_back(outcome_of(*run, kernel));
  return judge_runs(judge, plan, outcomes, contract, options);
}

Contract claiming(const char* law, bool claimed = true) {
  Contract c = *contract_named("standard", DType::kF32);
  c.claims[law] = claimed;
  return c;
}

// Correctly rounded where x is dense, the next number up where it is not: within every bound.
NamedTensors looks_at_strides(const Case& c) {
  NamedTensors out = correct(c);
  Tensor& y = out[0].second;
  if (!c.input("x")->dense())
    for (std::int64_t i = 0; i < y.size(); ++i) y.set_bits(i, next_up_bits(y.dtype, y.bits(i)));
  return out;
}

Case with_property(Case c, const char* id, PropertyArgs args) {
  c.property = PropertyRef{id, std::move(args)};
  return c;
}
const PropertyNote* note_of(const Examination& e, std::string_view id) {
  for (const PropertyNote& n : e.properties)
    if (n.id == id) return &n;
  return nullptr;
}

TEST(ExamineProperty, AClaimedLawIsAFinding) {
  const Case c = with_property(random_case("layer_norm", DType::kF32, {3, 8}, 0, 1), "bit.layout", {{"mode", "spaced"}});
  const Examination e = examined(c, looks_at_strides, claiming("layout"));
  EXPECT_EQ(e.judgement.verdict, Verdict::kBitwise);
  EXPECT_EQ(e.judgement.law, "bit.layout");
  EXPECT_TRUE(e.by_property);
  EXPECT_EQ(e.judgement.evidence.size(), kMaxEvidence);
  EXPECT_EQ(e.judgement.violations, 24);
  EXPECT_NE(e.judgement.detail.find("spaced"), std::string::npos) << e.judgement.detail;
  EXPECT_TRUE(note_of(e, "bit.layout")->broken);
  EXPECT_EQ(examined(c, correct, claiming("layout")).judgement.verdict, Verdict::kCertified);
}

TEST(ExamineProperty, AnUnclaimedLawIsALineOfTheGrade) {
  const Case c = with_property(random_case("layer_norm", DType::kF32, {3, 8}, 0, 1), "bit.layout", {{"mode", "spaced"}});
  const Examination e = examined(c, looks_at_strides, claiming("layout", false));
  EXPECT_EQ(e.judgement.verdict, Verdict::kCertified);
  EXPECT_FALSE(e.by_property);
  ASSERT_TRUE(note_of(e, "bit.layout"));
  EXPECT_TRUE(note_of(e, "bit.layout")->met);
  EXPECT_TRUE(note_of(e, "bit.layout")->broken);
  EXPECT_FALSE(note_of(e, "bit.layout")->judged);
}

TEST(ExamineProperty, ThreadsCostAProcessAndAreAskedWhereClaimed) {
  const Kernel sums_by_threads = [](const Case& c) {
    NamedTensors out = correct(c);
    if (c.threads > 1) out[0].second.set_bits(0, next_up_bits(out[0].second.dtype, out[0].second.bits(0)));
    return out;
  };
  const Case c = with_property(random_case("layer_norm", DType::kF32, {3, 8}, 0, 1), "bit.thread_count", {{"threads", "3"}});
  const Examination e = examined(c, sums_by_threads, claiming("thread_count"));
  EXPECT_EQ(e.judgement.verdict, Verdict::kBitwise);
  EXPECT_EQ(e.judgement.law, "bit.thread_count");
  EXPECT_EQ(e.judgement.violations, 1);
  EXPECT_EQ(examined(c, correct, claiming("thread_count")).judgement.verdict, Verdict::kCertified);
  EXPECT_FALSE(note_of(examined(c, sums_by_threads, claiming("thread_count", false)), "bit.thread_count"));
}

TEST(ExamineProperty, TheCaseItselfComesFirst) {
  const Kernel wrong = [](const Case& c) {
    NamedTensors out = correct(c);
    for (std::int64_t i = 0; i < out[0].second.size(); ++i) out[0].second.set_value(i, out[0].second.value(i) + 1);
    return out;
  };
  const Case c = with_property(random_case("rms_norm", DType::kF32, {3, 8}, 0, 1), "rms.output_rms_one", {});
  const Examination e = examined(c, wrong, claiming("layout"));
  EXPECT_EQ(e.judgement.verdict, Verdict::kContract);
  EXPECT_EQ(e.judgement.law, "standard");
  EXPECT_FALSE(e.by_property);
  EXPECT_TRUE(note_of(e, "rms.output_rms_one")->broken);
}

// Wrong in the derived call alone: what only a property can see.
TEST(ExamineProperty, ABoundIsBrokenByTheDerivedCall) {
  const Kernel wrong = [](const Case& c) {
    NamedTensors out = correct(c);
    if (!c.input("weight"))
      for (std::int64_t i = 0; i < out[0].second.size(); ++i) out[0].second.set_value(i, out[0].second.value(i) * 1.5);
    return out;
  };
  const Case c = with_property(random_case("rms_norm", DType::kF32, {3, 8}, 0, 1), "rms.output_rms_one", {});
  const Examination e = examined(c, wrong, claiming("layout"));
  EXPECT_EQ(e.judgement.verdict, Verdict::kContract);
  EXPECT_EQ(e.judgement.law, "rms.output_rms_one");
  EXPECT_TRUE(e.by_property);
  EXPECT_GT(e.judgement.evidence[0].allowed, 0);
}

TEST(ExamineProperty, ACrashOfTheDerivedCallIsTheProperty) {
  const Case c = with_property(random_case("layer_norm", DType::kF32, {3, 8}, 0, 1), "bit.layout", {{"mode", "spaced"}});
  CaseJudge judge(c);
  const Contract contract = claiming("layout");
  const RunPlan plan = plan_runs(c, judge.rows(), contract, {});
  ASSERT_EQ(plan.derived.size(), 1u);
  std::vector<Outcome> outcomes = {outcome_of(c, correct), Outcome{}};
  outcomes[1].kind = OutcomeKind::kCrashed;
  outcomes[1].signal = 11;
  const Examination e = judge_runs(judge, plan, outcomes, contract, {});
  EXPECT_EQ(e.judgement.verdict, Verdict::kCrashed);
  EXPECT_TRUE(e.by_property);
  EXPECT_NE(e.judgement.detail.find("run 2 of bit.layout"), std::string::npos) << e.judgement.detail;
  EXPECT_FALSE(note_of(e, "bit.layout")->met);
}

TEST(ExamineProperty, PremisesThatFailAskNothing) {
  for (const auto& [id, args] : std::vector<std::pair<const char*, PropertyArgs>>{{"bit.layout", {{"mode", "dense"}}},
                                                                                  {"bit.layout", {{"mode", "sideways"}}},
                                                                                  {"no.such_property", {}},
                                                                                  {"rms.scale_drift", {{"c", "0x1p+1"}}}}) {
    const Case c = with_property(random_case("layer_norm", DType::kF32, {3, 8}, 0, 1), id, args);
    const Examination e = examined(c, looks_at_strides, claiming("layout"));
    EXPECT_EQ(e.judgement.verdict, Verdict::kCertified) << id;
    EXPECT_FALSE(note_of(e, id)) << id;
  }
}

TEST(ExamineProperty, StandingLawsAreCounted) {
  Case c = random_case("layer_norm", DType::kF32, {3, 1}, 0, 1);
  const Examination one = examined(c, correct, claiming("layout"));
  EXPECT_TRUE(note_of(one, "ln.one_feature_forward")->met);
  EXPECT_FALSE(note_of(one, "bit.containment")->met);
  EXPECT_TRUE(note_of(one, "bit.memory")->met);
  EXPECT_TRUE(note_of(one, "bit.determinism")->met);
  for (const PropertyNote& n : one.properties) EXPECT_FALSE(n.broken) << n.id;
  const Kernel wrong = [](const Case& k) {
    NamedTensors out = correct(k);
    out[0].second.set_value(0, 99);
    return out;
  };
  EXPECT_TRUE(note_of(examined(c, wrong, claiming("layout")), "ln.one_feature_forward")->broken);
}

// The pair shrinks together: the case becomes small, the arguments stay, the derived call follows.
TEST(ExamineProperty, ShrinksAsAPair) {
  const Case c = with_property(random_case("layer_norm", DType::kF32, {5, 24}, 0, 7), "bit.layout", {{"mode", "spaced"}});
  const Contract contract = claiming("layout");
  const Probe probe = [&](std::span<const Case> cases) {
    std::vector<Examination> out;
    for (const Case& one : cases) out.push_back(examined(one, looks_at_strides, contract));
    return out;
  };
  const Judgement first = probe(std::span(&c, 1))[0].judgement;
  const ShrinkResult r = shrink(c, first.verdict, first.law, first.failure, probe, {});
  ASSERT_TRUE(r.reproduced);
  EXPECT_EQ(r.shrunk.property, c.property);
  EXPECT_EQ(r.examination.judgement.law, "bit.layout");
  EXPECT_LE(r.shrunk.input("x")->size(), 2);
  const Property& p = *find_property("bit.layout");
  EXPECT_TRUE(p.meets(r.shrunk, r.shrunk.property->args));
  const Explanation e = explain(r, contract, probe);
  EXPECT_EQ(e.bug_family, "layout");
  EXPECT_TRUE(e.admitted_by.empty()) << e.admitted_by;
}

TEST(PropertyTally, MergesAndRoundTrips) {
  const Case c = random_case("layer_norm", DType::kF32, {3, 8}, 0, 1);
  Tally a, b, both;
  const PropertyNote met{"bit.layout", true, false, true, ""}, broken{"bit.layout", true, true, true, "x"},
      unclaimed{"bit.layout", true, true, false, "x"}, tried{"bit.alignment"};
  a.note_property("cpu", c, met);
  a.note_property("cpu", c, broken);
  b.note_property("cpu", c, unclaimed);
  b.note_property("torch", c, tried);
  for (const PropertyNote& n : {met, broken, unclaimed}) both.note_property("cpu", c, n);
  both.note_property("torch", c, tried);
  a.merge(b);
  EXPECT_EQ(a, both);
  const PropertyTally& t = a.properties.at({"bit.layout", "cpu"});
  EXPECT_EQ(t.tried, 3);
  EXPECT_EQ(t.met, 3);
  EXPECT_EQ(t.violations, 1);
  EXPECT_EQ(t.unclaimed, 1);
  EXPECT_EQ(t.first.count, 2);
  EXPECT_EQ(a.properties.at({"bit.alignment", "torch"}).met, 0);
  const auto read = parse_tally(write_tally(a), "tally");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, a);
}

}  // namespace
}  // namespace normfuzz
