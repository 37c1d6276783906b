// add_rms_norm: the norm of a sum that no double may hold, and the contract's word on what the norm sees of it.
#include <gtest/gtest.h>

#include <limits>

#include "oracles/bound.h"
#include "oracles/ops/op.h"
#include "oracles/oracle.h"
#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

using testing::tensor;

Case sum_of(DType d, const std::vector<double>& x, const std::vector<double>& residual, double epsilon) {
  Case c = testing::case_of("add_rms_norm", d, 1, x, epsilon);
  c.inputs.clear();
  c.set_input("x", tensor(d, {1, static_cast<std::int64_t>(x.size())}, x));
  c.set_input("residual", tensor(d, {1, static_cast<std::int64_t>(x.size())}, residual));
  c.set_input("weight", std::nullopt);
  return c;
}

TEST(AddRmsNorm, ExactValuesAreOfTheUnroundedSum) {
  // h = (1 + 2^-60, 1 + 2^-60) is no double; its norm is (1, 1) exactly.
  const auto outputs = *exact_outputs(sum_of(DType::kF64, {1, 1}, {0x1p-60, 0x1p-60}, 0));
  EXPECT_EQ(outputs.at("y").values(), (std::vector<double>{1, 1}));
  EXPECT_EQ(outputs.at("residual_new").values(), (std::vector<double>{1, 1}));
  // Cancelled to its last bit, and nothing lost.
  const auto cancelled = *exact_outputs(sum_of(DType::kF32, {0x1.000002p0, 0}, {-1, 0}, 0));
  EXPECT_EQ(cancelled.at("residual_new").values(), (std::vector<double>{0x1p-23, 0}));
  EXPECT_EQ(cancelled.at("y").value(0), static_cast<double>(std::sqrt(2.0F)));
}

TEST(AddRmsNorm, ARowThatCancelsIsZero) {
  const Case c = sum_of(DType::kF32, {3, -1}, {-3, 1}, 0);
  EXPECT_EQ(exact_outputs(c)->at("y").values(), (std::vector<double>{0, 0}));
  EXPECT_TRUE(std::isnan(exact_outputs(c, Reading::kIeee)->at("y").value(0)));
  EXPECT_EQ(exact_outputs(c)->at("residual_new").values(), (std::vector<double>{0, 0}));
  EXPECT_EQ(slice_bounds(CaseRows(c), 0, *contract_named("standard", DType::kF32))[0].limit, Limit::kZeroDenominator);
}

// Of f16: the sum 2049 + 1/2 rounds to 2050 in f16, which moves y by 2^-13 relatively: only a contract that lets the norm see the rounded
// sum allows that much.
TEST(AddRmsNorm, TheContractSaysWhetherTheNormSeesTheRoundedSum) {
  const Case c = sum_of(DType::kF64, {2049, 1}, {0.5, 0}, 1);
  Case narrow = c;
  narrow.inputs.clear();
  narrow.set_input("x", tensor(DType::kF16, {1, 2}, {2048, 1}));
  narrow.set_input("residual", tensor(DType::kF16, {1, 2}, {0.75, 0}));
  narrow.set_input("weight", std::nullopt);
  Contract contract = *contract_named("two_pass", DType::kF16);
  const double strict = slice_bounds(CaseRows(narrow), 0, contract)[1].allowed;
  for (const char* value : {"rounded", "any"}) {
    ASSERT_TRUE(apply_modifier(contract, "residual", value));
    EXPECT_GT(slice_bounds(CaseRows(narrow), 0, contract)[1].allowed, 1.5 * strict) << value;
    // residual_new is the rounded sum whatever the norm sees.
    EXPECT_LT(slice_bounds(CaseRows(narrow), 1, contract)[0].allowed, 1.01);
  }
  EXPECT_FALSE(apply_modifier(contract, "residual", "sometimes"));
}

TEST(AddRmsNorm, NumbersThatAreNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Case c = sum_of(DType::kF32, {kInfinity, 1, 2}, {1, 1, 1}, 1);
  const auto outputs = *exact_outputs(c);
  EXPECT_TRUE(std::isnan(outputs.at("y").value(0)));
  EXPECT_EQ(outputs.at("y").value(1), 0);  // over an infinite length
  EXPECT_EQ(outputs.at("residual_new").values(), (std::vector<double>{kInfinity, 2, 3}));
  const Contract contract = *contract_named("standard", DType::kF32);
  const CaseRows rows(c);
  ASSERT_EQ(rows.slices(), 2);
  EXPECT_EQ(slice_bounds(rows, 0, contract)[0].expect, Expectation::kNotFinite);
  EXPECT_EQ(slice_bounds(rows, 0, contract)[1].expect, Expectation::kAnything);
  EXPECT_EQ(slice_bounds(rows, 1, contract)[0].expect, Expectation::kNotFinite);
  EXPECT_EQ(slice_bounds(rows, 1, contract)[1].expect, Expectation::kValue);
  const Case opposite = sum_of(DType::kF32, {kInfinity, 1, 2}, {-kInfinity, 1, 1}, 1);
  EXPECT_EQ(slice_bounds(CaseRows(opposite), 0, contract)[1].expect, Expectation::kNan);
  EXPECT_EQ(slice_bounds(CaseRows(opposite), 1, contract)[0].expect, Expectation::kNan);
}

}  // namespace
}  // namespace normfuzz
