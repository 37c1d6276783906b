#include "harness/attack/climb.h"

#include <gtest/gtest.h>

namespace normfuzz {
namespace {

Contract contract_of(std::string_view rung, DType storage, std::string_view field = "", std::string_view value = "") {
  Contract c = *contract_named(rung, storage);
  if (!field.empty()) {
    EXPECT_TRUE(apply_modifier(c, field, value));
  }
  return c;
}

RowCandidate row_of(DType storage, std::vector<double> x, double epsilon) {
  RowCandidate row;
  row.op = "layer_norm";
  row.storage = row.weight_dtype = storage;
  row.weight.assign(x.size(), 1);
  row.bias.assign(x.size(), 0);
  row.x = std::move(x);
  row.epsilon = epsilon;
  return row;
}

constexpr double kEpsilon = 0x1.4f8b58p-17;  // 1e-5 in float32

// ERROR_MODEL.md, 'Laws beside the bounds': fma(x, r, -x r) of one feature 60000 is 0.992, not the bias.
TEST(AttackScore, FoldedKernelBreaksTheCentredContract) {
  const RowCandidate row = row_of(DType::kF16, {60000}, kEpsilon);
  KernelOptions folded_kernel;
  folded_kernel.association = Association::kFoldedMean;
  folded_kernel.fma = true;
  EXPECT_GT(attack_score(row, folded_kernel, contract_of("two_pass", DType::kF16), 1).ratio, 1);
  EXPECT_LE(attack_score(row, folded_kernel, contract_of("two_pass", DType::kF16, "affine", "folded"), 1).ratio, 1);
  EXPECT_LE(attack_score(row, KernelOptions{}, contract_of("two_pass", DType::kF16), 1).ratio, 1);
}

// ONNX, LayerNormalization-17: the second stage is in the type of x. Its casts show where the bias takes the product away.
TEST(AttackScore, CastsBeforeWeightAndBiasBreakAContractWithoutThem) {
  RowCandidate row = row_of(DType::kF16, {0, 1, 3}, kEpsilon);
  row.weight = {1.19921875, 1.19921875, 1.19921875};
  row.bias = {1.28125, 0.3203125, -1.6015625};
  KernelOptions casts;
  casts.cast_before_weight = true;
  const auto ratio = [&](const Contract& c) { return attack_score(row, casts, c, 1).ratio; };
  EXPECT_GT(ratio(contract_of("two_pass", DType::kF16)), 1);
  EXPECT_LE(ratio(contract_of("two_pass", DType::kF16, "before_weight", "yes")), 1);
  const double before_weight = ratio(contract_of("two_pass", DType::kF16));
  casts.cast_before_bias = true;
  EXPECT_NE(ratio(contract_of("two_pass", DType::kF16)), before_weight);
  EXPECT_LE(ratio(contract_of("two_pass", DType::kF16, "before_weight", "yes")), 1);
}

// The public report of 40000..40003: a variance of mean(x^2) - mean^2 in float32.
TEST(AttackScore, OnePassKernelBreaksTheStandardContract) {
  const RowCandidate row = row_of(DType::kF32, {40000, 40001, 40002, 40003}, kEpsilon);
  KernelOptions one_pass;
  one_pass.moments = MomentsMethod::kOnePassClamped;
  EXPECT_GT(attack_score(row, one_pass, contract_of("standard", DType::kF32), 1).ratio, 1);
  EXPECT_LE(attack_score(row, one_pass, contract_of("standard", DType::kF32, "moments", "one_pass"), 1).ratio, 1);
}

// A range that the contract `robust` promises: the plain kernel overflows on squares of 1e30, the scaled one does not.
TEST(AttackScore, PlainKernelBreaksTheRobustContract) {
  const RowCandidate row = row_of(DType::kF32, {0x1p100, 0x1p99, -0x1p100, 0x1p98}, kEpsilon);
  KernelOptions plain, scaled;
  scaled.scaled = true;
  const Contract robust = contract_of("robust", DType::kF32);
  EXPECT_GT(attack_score(row, plain, robust, 1).ratio, 1);
  EXPECT_LE(attack_score(row, scaled, robust, 1).ratio, 1);
  EXPECT_EQ(attack_score(row, plain, contract_of("standard", DType::kF32), 1).finite, 0) << "a statistic may overflow: no finite bound";
}

TEST(AttackScore, ScaledBoundScalesTheRatio) {
  const RowCandidate row = row_of(DType::kF32, {0.1f, 0.7f, -0.3f, 0.9f}, kEpsilon);
  const Contract contract = contract_of("two_pass", DType::kF32);
  const double whole = attack_score(row, KernelOptions{}, contract, 1).ratio;
  ASSERT_GT(whole, 0);
  EXPECT_EQ(attack_score(row, KernelOptions{}, contract, 0.5).ratio, 2 * whole);
}

TEST(Climb, ResultIsReproducible) {
  const Contract contract = contract_of("standard", DType::kF32);
  const ClimbSetting setting{Arena::kPlain, "layer_norm", DType::kF32, contract};
  const ClimbResult a = climb(Stream(7), setting), b = climb(Stream(7), setting);
  EXPECT_EQ(digest(a.row.to_case()), digest(b.row.to_case()));
  EXPECT_EQ(a.score.ratio, b.score.ratio);
  EXPECT_EQ(attack_score(a.row, a.kernel, contract, 1).ratio, a.score.ratio);
  EXPECT_TRUE(allows(contract, a.kernel, a.row.size()));
}

}  // namespace
}  // namespace normfuzz
