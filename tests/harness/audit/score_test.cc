// A policy that sees nothing kills no mutant, a strict one kills an obvious one, no correct kernel dies.
#include "harness/audit/score.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/audit/presets.h"
#include "targets/mutants/catalogue.h"

namespace normfuzz {
namespace {

const Target& mutants_target() {
  static const Target target = *load_target_file(NORMFUZZ_BINARY_DIR "/targets/mutants/mutants.so");
  return target;
}

std::unique_ptr<Worker> mutant(const std::string& name) {
  for (const Variant& v : mutants_target().variants)
    if (v.name == name) return Worker::create({mutants_target(), v}, {});
  return nullptr;
}

std::unique_ptr<Worker> correct_kernel() {
  const Target target = *load_target_file(NORMFUZZ_BINARY_DIR "/targets/cpu/cpu.so");
  return Worker::create({target, target.variants.front()}, {});
}

AuditScope scope_of(const std::string& name) {
  for (const MutantEntry& m : mutant_catalogue())
    if (m.name == name) return {m.ops, m.dtypes};
  return {};
}

AuditResult by_policy(const TestPolicy& policy, const std::string& name, std::int64_t cases = 12) {
  const auto reference = correct_kernel(), kernel = mutant(name);
  const bool correct = scope_of(name).ops.empty();
  const auto control = mutant("two_pass");
  return put_to_policy(policy, scope_of(name), *kernel, *reference, correct ? nullptr : control.get(), {.cases = cases});
}

AuditResult by_normfuzz(const std::string& name, std::int64_t cases) {
  return put_to_normfuzz(scope_of(name), *mutant(name), mutants_target(), {.cases = cases});
}

// Small cases in one type.
TestPolicy small_policy(double rtol, double atol) {
  return {
      .name = "small", .source = "here", .tolerances = {{DType::kF32, Direction::kBoth, rtol, atol}}, .hidden = {16, 64}, .batch = {1, 4}};
}

TEST(Score, AStrictPolicyKillsAnObviousMutant) {
  for (const char* name : {"squared_scale", "sample_variance", "wrong_axis", "no_projection", "gradients_swapped"}) {
    const AuditResult r = by_policy(small_policy(1e-5, 1e-5), name);
    EXPECT_GT(r.killed_at, 0) << name;
    EXPECT_EQ(r.cases, r.killed_at) << name;
    EXPECT_FALSE(r.how.empty()) << name;
  }
}

TEST(Score, AHopelessPolicyKillsNone) {
  for (const char* name : {"squared_scale", "sample_variance", "no_projection"}) {
    const AuditResult r = by_policy(small_policy(0, 1e30), name);
    EXPECT_EQ(r.killed_at, 0) << name << ' ' << r.how;
    EXPECT_EQ(r.cases, 12) << name;
  }
}

// A policy may also be too strict for a correct kernel: a false alarm.
TEST(Score, AnImpossiblePolicyRejectsACorrectKernel) { EXPECT_GT(by_policy(small_policy(0, 0), "two_pass").killed_at, 0); }

// The same rows through the correct kernel fail as well: that kills no mutant.
TEST(Score, AFalseAlarmKillsNobody) { EXPECT_EQ(by_policy(small_policy(0, 0), "aligned_loads").killed_at, 0); }

TEST(Score, NoControlDies) {
  for (const char* name : {"two_pass", "welford", "pairwise"}) {
    EXPECT_EQ(by_policy(small_policy(1e-4, 1e-4), name, 46).how, "") << name;
    EXPECT_EQ(by_normfuzz(name, 184).how, "") << name;
  }
}

TEST(Score, WithoutAReductionVllmsTestsPass) {
  EXPECT_EQ(by_policy(*find_policy_preset("vllm"), "no_reduction").how, "");
  const AuditResult ours = by_normfuzz("no_reduction", 12);
  EXPECT_GT(ours.killed_at, 0);
}

TEST(Score, WhatAPolicyDoesNotTestIsNotTested) {
  EXPECT_FALSE(by_policy(small_policy(0, 1), "squares_in_f16").tested());              // f16 alone
  EXPECT_FALSE(by_policy(*find_policy_preset("gradcheck"), "dropped_tail").tested());  // forward alone
}

TEST(Score, TheSameSeedTellsTheSame) {
  const AuditResult once = by_normfuzz("epsilon_maximum", 60), again = by_normfuzz("epsilon_maximum", 60);
  EXPECT_EQ(once.killed_at, again.killed_at);
  EXPECT_EQ(once.how, again.how);
}

// What only further runs of the same case show.
TEST(Score, LawsKillWhatNoToleranceSees) {
  EXPECT_NE(by_normfuzz("alternating_order", 200).how.find("bit.determinism"), std::string::npos);
  EXPECT_NE(by_normfuzz("input_overwritten", 20).how.find("bit.memory.input"), std::string::npos);
  EXPECT_EQ(by_policy(small_policy(1e-4, 1e-4), "input_overwritten").how, "");
}

}  // namespace
}  // namespace normfuzz
