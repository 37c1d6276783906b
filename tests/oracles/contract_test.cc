#include "oracles/contract.h"

#include <gtest/gtest.h>

namespace normfuzz {
namespace {

TEST(Contract, TheLadderIsKnownByName) {
  for (const auto rung : contract_ladder())
    for (const DType d : kAllDTypes) EXPECT_TRUE(contract_named(rung, d)) << rung;
}

TEST(Contract, AccumulationFollowsTheStorage) {
  EXPECT_EQ(contract_named("standard", DType::kBF16)->accumulate, DType::kF32);
  EXPECT_EQ(contract_named("standard", DType::kF64)->accumulate, DType::kF64);
  EXPECT_EQ(contract_named("native_accumulate", DType::kF16)->accumulate, DType::kF16);
  EXPECT_EQ(contract_named("f64_accumulate", DType::kF32)->accumulate, DType::kF64);
}

TEST(Contract, AnUnknownNameListsTheKnownOnes) {
  const auto c = contract_named("exactish", DType::kF32);
  ASSERT_FALSE(c);
  EXPECT_NE(c.error().find("exactish"), std::string::npos);
  EXPECT_NE(c.error().find("two_pass"), std::string::npos);
}

TEST(Contract, ModifiersSetTheirField) {
  Contract c = *contract_named("standard", DType::kF32);
  EXPECT_TRUE(apply_modifier(c, "affine", "folded"));
  EXPECT_TRUE(c.folded_affine);
  EXPECT_TRUE(apply_modifier(c, "moments", "two_pass, welford_tree(5)"));
  EXPECT_EQ(c.moments, unsigned{kTwoPass | kWelfordTree});
  EXPECT_EQ(c.welford_tree_height, 5);
  EXPECT_TRUE(apply_modifier(c, "rsqrt_ulps", "16"));
  EXPECT_EQ(c.rsqrt_ulps, 16);
  EXPECT_TRUE(apply_modifier(c, "accumulate", "bf16"));
  EXPECT_EQ(c.accumulate, DType::kBF16);
  EXPECT_TRUE(apply_modifier(c, "ftz", "yes"));
  EXPECT_TRUE(c.flush_to_zero);
}

TEST(Contract, BadModifiersNameFieldValueAndExpectation) {
  Contract c;
  for (const auto& [field, value] : std::vector<std::pair<std::string, std::string>>{{"affine", "sideways"},
                                                                                     {"rsqrt_ulps", "-1"},
                                                                                     {"rsqrt_ulps", "4x"},
                                                                                     {"moments", ""},
                                                                                     {"moments", "welford_tree(0)"},
                                                                                     {"moments", "guess"},
                                                                                     {"accumulate", "f8"},
                                                                                     {"ftz", "maybe"},
                                                                                     {"no_such_field", "1"}}) {
    const auto status = apply_modifier(c, field, value);
    ASSERT_FALSE(status) << field;
    EXPECT_NE(status.error().find(field), std::string::npos);
    EXPECT_NE(status.error().find("expected"), std::string::npos);
  }
}

}  // namespace
}  // namespace normfuzz
