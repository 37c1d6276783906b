// What a campaign counts must not depend on how the work was cut into pieces.
#include "harness/tally.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "oracles/contract.h"
#include "tests/harness/sample_campaign.h"

namespace normfuzz {
namespace {

using testing::add_sample;
using testing::Draw;
using testing::sample_case;

Tally tally_of(std::uint64_t begin, std::uint64_t end) {
  Tally t;
  for (std::uint64_t i = begin; i < end; ++i) add_sample(t, i);
  return t;
}

Tally merged(Tally a, const Tally& b) {
  a.merge(b);
  return a;
}

Tally reread(const Tally& t) {
  const auto read = parse_tally(write_tally(t), "test");
  EXPECT_TRUE(read) << read.error();
  return read ? *read : Tally{};
}

TEST(Tally, MergeIsAssociativeAndCommutative) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    Draw draw(i);
    const std::uint64_t p = draw.below(60), q = p + draw.below(60), r = q + draw.below(60);
    const Tally a = tally_of(0, p), b = tally_of(p, q), c = tally_of(q, r);
    EXPECT_EQ(merged(a, b), merged(b, a)) << i;
    EXPECT_EQ(merged(merged(a, b), c), merged(a, merged(b, c))) << i;
    EXPECT_EQ(merged(merged(c, a), b), tally_of(0, r)) << i;
    EXPECT_EQ(merged(a, Tally{}), a) << i;
  }
}

TEST(Tally, CountsWhatItWasTold) {
  Tally t;
  Judgement j;
  j.verdict = Verdict::kContract;
  j.rows = 3;
  j.elements = 12;
  j.filtered_rows = 2;
  j.unbounded = 5;
  j.worst_ratio = 0.5;
  j.worst_ulps = 0.25;
  t.add("cpu", sample_case(9, DType::kF16, "gaussian"), "standard", j, true);
  j.verdict = Verdict::kCertified;
  j.worst_ratio = 0.5;
  j.worst_ulps = 8;
  t.add("cpu", sample_case(4, DType::kF16, "near_max"), "standard", j);
  j = {};
  j.verdict = Verdict::kUnsupported;
  j.detail = "no f16";
  t.add("torch", sample_case(4, DType::kF16, "gaussian"), "standard", j);

  const OpTally& cpu = t.entries.at({"cpu", "layer_norm", DType::kF16});
  EXPECT_EQ(cpu.cases(), 2);
  EXPECT_EQ(cpu.certified(), 1);
  EXPECT_EQ(cpu.violations(), 1);
  EXPECT_EQ(cpu.rows, 6);
  EXPECT_EQ(cpu.mpfr_rows, 2);
  EXPECT_EQ(cpu.audited_rows, 2);
  EXPECT_EQ(cpu.unbounded, 10);
  EXPECT_EQ(cpu.ratio, (Worst{0.5, {7, 4}}));  // the earlier of equal ones
  EXPECT_EQ(cpu.ulps, (Worst{8, {7, 4}}));
  EXPECT_EQ(t.entries.at({"torch", "layer_norm", DType::kF16}).unsupported.named().at("no f16"), 1);
  EXPECT_EQ(t.cases(), 3);
  EXPECT_EQ(t.certified(), 1);
  EXPECT_EQ(t.violations(), 1);
  EXPECT_EQ(t.bounds.at({"layer_norm", DType::kF16, "standard", false}).elements, 12);
  EXPECT_EQ(t.bounds.at({"layer_norm", DType::kF16, "standard", true}).unbounded, 5);
}

TEST(Tally, ReadsBackExactly) {
  const Tally t = tally_of(0, 300);
  EXPECT_EQ(reread(t), t);
  EXPECT_EQ(reread(Tally{}), Tally{});
  // Equality sees every field: the round trip above would be worth nothing otherwise.
  const std::vector<std::function<void(OpTally&)>> changes = {
      [](OpTally& e) { ++e.verdicts[3]; },
      [](OpTally& e) { ++e.rows; },
      [](OpTally& e) { ++e.elements; },
      [](OpTally& e) { ++e.unbounded; },
      [](OpTally& e) { ++e.range_limited; },
      [](OpTally& e) { ++e.filtered_rows; },
      [](OpTally& e) { ++e.mpfr_rows; },
      [](OpTally& e) { ++e.audited_rows; },
      [](OpTally& e) { e.unsupported.add("a"); },
      [](OpTally& e) { e.rejected.add_other(1); },
      [](OpTally& e) { e.ratio.value = std::nextafter(e.ratio.value, 2); },
      [](OpTally& e) { ++e.ulps.where.index; },
      [](OpTally& e) {
        e.first_range_limit = CaseRef{~std::uint64_t{0}, 5};
      },
      [](OpTally& e) { ++e.ladder_cases; },
      [](OpTally& e) { ++e.broken_rungs["robust"].count; },
      [](OpTally& e) { ++e.laws["equal_rows"].broken; },
      [](OpTally& e) { ++e.errors.kept["gaussian"].ulps; },
      [](OpTally& e) {
        e.errors.broken["near_max"] = {kBucketOfInfinity, 3};
      },
      [](OpTally& e) { e.errors.by_width[40][-7] = 2; },
      [](OpTally& e) { ++e.errors.by_scale[kBucketOfInfinity][3]; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Tally changed = t;
    changes[i](changed.entries.begin()->second);
    EXPECT_NE(changed, t) << i;
    EXPECT_EQ(reread(changed), changed) << i;
  }
  Tally changed = t;
  ++changed.bounds.begin()->second.histogram[-17];
  EXPECT_NE(changed, t);
  EXPECT_EQ(reread(changed), changed);
  changed = t;
  ++changed.coverage[{"gaussian", 4, true}];
  EXPECT_NE(changed, t);
  EXPECT_EQ(reread(changed), changed);
}

TEST(Tally, InfiniteAndExtremeValuesReadBack) {
  Tally t;
  Judgement j;
  j.rows = j.elements = 1;
  j.worst_ulps = std::numeric_limits<double>::infinity();
  j.worst_ratio = std::numeric_limits<double>::denorm_min();
  Case c = sample_case(0, DType::kF64, "gaussian");
  c.provenance->seed = ~std::uint64_t{0};
  c.provenance->index = ~std::uint64_t{0} - 1;
  t.add("label \"with\" quotes", c, "standard", j);
  EXPECT_EQ(reread(t), t);
}

TEST(Tally, RefusesWhatIsNoTally) {
  const auto error = [](std::string_view text) {
    const auto read = parse_tally(text, "out/campaign.db: tally");
    return read ? std::string("accepted") : read.error();
  };
  EXPECT_NE(error("").find("out/campaign.db: tally: document: empty"), std::string::npos);
  EXPECT_NE(error("[1]").find("an object around it"), std::string::npos);
  EXPECT_NE(error(R"({"entries":7})").find("entries: the integer 7, expected an array"), std::string::npos) << error(R"({"entries":7})");
  EXPECT_NE(error(R"({"entries":[{"target":"cpu","op":"rms_norm","dtype":"f8"}]})").find("\"f8\", expected f64"), std::string::npos);
  EXPECT_NE(error(R"({"entries":[{"target":"a","op":"b","dtype":"f32","verdicts":{"fine":1}}]})").find("name of a verdict"),
            std::string::npos);
  EXPECT_NE(error(R"({"entries":[{"target":"a","op":"b","dtype":"f32","rows":1.5}]})").find("rows:"), std::string::npos);
  EXPECT_NE(error(R"({"coverage":[["gaussian",1]]})").find("expected [regime, octave, several rows, cases]"), std::string::npos);
  const auto errors = [&](const std::string& map) {
    return error(R"({"entries":[{"target":"a","op":"b","dtype":"f32","errors":)" + map + "}]}");
  };
  EXPECT_NE(errors(R"({"kept":{"gaussian":[1]}})").find("expected [ratio, ulps]"), std::string::npos);
  EXPECT_NE(errors(R"({"width":{"wide":{}}})").find("width: \"wide\", expected a number"), std::string::npos);
  EXPECT_NE(errors(R"({"scale":{"1":2}})").find("expected cases by octave"), std::string::npos);
  const std::string whole = write_tally(tally_of(0, 20));
  for (std::size_t n = 0; n < whole.size(); n += 7) EXPECT_NE(error(whole.substr(0, n)), "accepted") << n;
}

TEST(Reasons, KeepsTheFirstEightAndLosesNoCount) {
  ReasonCounts all, odd, even;
  for (int i = 0; i < 40; ++i) {
    const std::string reason = "reason " + std::to_string(10 + (i * 7) % 40);
    all.add(reason, i);
    (i % 2 ? odd : even).add(reason, i);
  }
  EXPECT_EQ(all.named().size(), ReasonCounts::kMaxReasons);
  EXPECT_EQ(all.total(), 39 * 40 / 2);
  odd.merge(even);
  EXPECT_EQ(odd, all);
}

TEST(Reasons, AreOneLineOfPlainText) {
  ReasonCounts r;
  r.add("a\nb\xe2\x82");
  EXPECT_EQ(r.named().begin()->first, "a b??");
}

TEST(Grade, IsTheFirstRungThatNoCaseBroke) {
  Tally t;
  const Case c = sample_case(3, DType::kF32, "gaussian");
  t.mention("cpu", "layer_norm", DType::kF32);
  OpTally& e = t.entries.at({"cpu", "layer_norm", DType::kF32});
  EXPECT_EQ(e.grade(), "-");
  t.note_ladder("cpu", c, {});
  EXPECT_EQ(e.grade(), contract_ladder()[0]);
  t.note_ladder("cpu", c, std::vector<std::string_view>{contract_ladder()[0], contract_ladder()[2]});
  EXPECT_EQ(e.grade(), contract_ladder()[1]);
  EXPECT_EQ(e.broken_rungs.at("faithful"), (Seen{1, {7, 3}}));
  t.note_ladder("cpu", sample_case(2, DType::kF32, "gaussian"), contract_ladder());
  EXPECT_EQ(e.grade(), "none");
  EXPECT_EQ(e.broken_rungs.at("faithful"), (Seen{2, {7, 2}}));
}

TEST(Bounds, EveryBoundFallsIntoTheBucketAroundIt) {
  Draw draw(1);
  for (int i = 0; i < 2000; ++i) {
    const double bound = std::ldexp(1 + draw.fraction(), static_cast<int>(draw.below(200)) - 100);
    BoundShare share;
    share.note(bound);
    const double middle = *share.median_ulps();
    // A bucket is a quarter of its octave wide; its middle is at most an eighth away.
    EXPECT_LE(std::fabs(bound - middle), std::ldexp(1.0, std::ilogb(bound) - 3)) << bound;
  }
}

TEST(Bounds, MedianAndShare) {
  BoundShare s;
  EXPECT_FALSE(s.median_ulps());
  EXPECT_FALSE(s.finite_share());
  s.note(0);
  EXPECT_EQ(*s.median_ulps(), 0);
  for (const double v : {1.0, 1.0, 1024.0}) s.note(v);
  EXPECT_EQ(*s.median_ulps(), 1.125);
  s.note(std::numeric_limits<double>::infinity());
  s.note(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(*s.median_ulps(), 1.125);
  EXPECT_EQ(*s.finite_share(), 0.8);  // one of five: what is no number is no bound
  s.elements = 8;
  s.unbounded = 2;
  EXPECT_EQ(*s.finite_share(), 0.75);
}

TEST(Bounds, AreInUnitsOfTheOutputType) {
  const Case c = sample_case(0, DType::kF16, "gaussian");
  Tally t;
  // One unit in the last place of f16 at 1.5 is 2^-10; below the normal numbers it is 2^-24.
  const std::vector<ElementEvidence> elements = {{"y", 0, 0, 1.5, 0x1p-10, 0, ElementVerdict::kWithin},
                                                 {"y", 1, 0, 0, 0x1p-24, 0, ElementVerdict::kWithin},
                                                 {"y", 2, 0, std::numeric_limits<double>::quiet_NaN(), 1, 0, ElementVerdict::kWithin}};
  t.note_bounds(c, "standard", elements);
  const auto& histogram = t.bounds.at({"layer_norm", DType::kF16, "standard", false}).histogram;
  EXPECT_EQ(histogram, (std::map<int, std::int64_t>{{0, 2}}));
}

}  // namespace
}  // namespace normfuzz
