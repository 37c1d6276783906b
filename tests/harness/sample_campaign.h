// Blocks of a campaign that never ran: a pure function of the block's number, so that any two ways of storing them can be compared.
#pragma once

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "harness/store.h"

namespace normfuzz::testing {

// Raw numbers of the engine only: distributions differ between libraries.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::int64_t count(std::uint64_t n) { return static_cast<std::int64_t>(below(n)); }
  double fraction() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

inline Case sample_case(std::uint64_t index, DType dtype, const std::string& regime) {
  Case c;
  c.op = "layer_norm";
  c.params["epsilon"] = 0x1p-10;
  Tensor x = Tensor::zeros(dtype, {1, 4});
  for (std::int64_t i = 0; i < 4; ++i) x.set_value(i, static_cast<double>((index + static_cast<std::uint64_t>(i)) % 100));
  c.set_input("x", x);
  c.set_input("weight", std::nullopt);
  c.provenance = Provenance{1, 7, index, regime};
  return c;
}

inline Judgement sample_judgement(Draw& draw) {
  Judgement j;
  j.verdict = static_cast<Verdict>(draw.below(kVerdicts));
  j.detail = "reason " + std::to_string(draw.below(30));
  if (j.verdict == Verdict::kUnsupported || j.verdict == Verdict::kRejected) return j;
  j.rows = 1 + draw.count(100);
  j.elements = 4 * j.rows;
  j.filtered_rows = draw.count(static_cast<std::uint64_t>(j.rows) + 1);
  j.unbounded = draw.count(3);
  j.range_limited = draw.count(2);
  j.worst_ratio = draw.fraction();
  j.worst_ulps = 1 / (draw.fraction() + 0x1p-60);
  return j;
}

inline void add_sample(Tally& tally, std::uint64_t index) {
  Draw draw(index);
  const DType dtype = kAllDTypes[draw.below(4)];
  const Case c = sample_case(index, dtype, draw.below(2) ? "gaussian" : "near_max");
  const std::string label = draw.below(2) ? "cpu" : "mutants:one_pass";
  const Judgement judgement = sample_judgement(draw);
  tally.add(label, c, "standard", judgement, draw.below(2));
  const CaseClass place{static_cast<int>(draw.below(12)), draw.below(2) != 0, static_cast<int>(draw.below(9)) - 4};
  tally.note_errors(label, c, place, judgement);
  tally.note_coverage(c, place);
  const ElementEvidence evidence{"y", 0, 1, draw.fraction() - 0.5, draw.fraction() * 1e-6, 0, ElementVerdict::kWithin};
  tally.note_bounds(c, "standard", std::vector{evidence});
  const std::vector<std::string_view> broken(draw.below(2), "faithful");
  tally.note_ladder(label, c, broken);
  GradeNotes notes;
  notes.laws["constant_row"] = {draw.count(5), draw.count(2)};
  tally.note_laws(label, c, notes);
}

inline constexpr std::uint64_t kSampleBlock = 8;  // indices

inline BlockResult sample_block(std::uint64_t block) {
  BlockResult result;
  result.block = block;
  result.seconds = 0.25;  // sums of it are exact
  for (std::uint64_t i = block * kSampleBlock; i < (block + 1) * kSampleBlock; ++i) {
    add_sample(result.tally, i);
    Draw draw(~i);
    if (draw.below(3)) continue;
    Candidate candidate{"mutants",          draw.below(2) ? "one_pass" : "",         sample_case(i, kAllDTypes[draw.below(4)], "gaussian"),
                        Verdict::kContract, draw.below(2) ? "standard" : "two_pass", FailureClass::kWrong,
                        1 + draw.count(3)};
    result.candidates.push_back(std::move(candidate));
  }
  return result;
}

inline CampaignSettings sample_settings(int shard = 0, int shards = 1) {
  return {7, 1, kSampleBlock, shard, shards, {"layer_norm"}, {"f32"}, {"cpu", "mutants:one_pass"}, "regime=all"};
}

// A finding that the sample candidate was shrunk to.
inline Finding sample_finding(const Candidate& c) {
  Finding f;
  f.target = c.target;
  f.variant = c.variant;
  f.version = "1.2 \"quoted\"";
  f.variants = {"", c.variant};
  f.op = c.original.op;
  f.law = c.law;
  f.dtype = c.original.dtype();
  f.verdict = c.verdict;
  f.failure = c.failure;
  f.needs = {"columns", "mean offset"};
  f.slug = c.target + "-" + std::string(name_of(f.dtype)) + "-" + c.law;
  f.explanation = "needs a mean offset";
  f.admitted_by = "consistent with one-pass variance";
  f.bug_family = "one-pass variance";
  f.shrunk = c.original;
  f.judgement.verdict = c.verdict;
  f.judgement.law = c.law;
  f.judgement.failure = c.failure;
  f.judgement.detail = "one sentence";
  f.judgement.elements = 4;
  f.judgement.evidence = {{"y", 3, -0.0, 0x1.8p-1074, std::numeric_limits<double>::infinity(), 1e300, ElementVerdict::kViolation},
                          {"y", 1, std::numeric_limits<double>::quiet_NaN(), 1, 2, 3, ElementVerdict::kLimit}};
  f.outcome.kind = OutcomeKind::kOk;
  f.outcome.message = "impl: jit";
  f.outcome.outputs.emplace_back("y", *c.original.input("x"));
  f.outcome.memory.detail = "y: byte 0";
  f.outcome.microseconds = 1.5;
  f.occurrences = c.occurrences;
  f.first_seed = c.original.provenance->seed;
  f.first_index = c.original.provenance->index;
  f.first_regime = c.original.provenance->regime;
  return f;
}

}  // namespace normfuzz::testing
