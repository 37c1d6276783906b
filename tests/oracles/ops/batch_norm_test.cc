// batch_norm: inference element by element, training with its running statistics, on numbers that are exact by hand.
#include <gtest/gtest.h>

#include <limits>

#include "oracles/bound.h"
#include "oracles/ops/op.h"
#include "oracles/oracle.h"
#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

using testing::tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// Two channels of two samples: [N, C] = [2, 2].
Case batch(std::vector<double> x, std::vector<double> mean, std::vector<double> variance, double epsilon, bool training) {
  Case c;
  c.op = "batch_norm";
  c.params["epsilon"] = epsilon;
  c.params["training"] = std::int64_t{training};
  if (training) c.params["momentum"] = 0.25;
  c.set_input("x", tensor(DType::kF32, {2, 2}, x));
  c.set_input("weight", std::nullopt);
  c.set_input("bias", std::nullopt);
  c.set_input("running_mean", mean.empty() ? std::nullopt : std::optional(tensor(DType::kF32, {2}, mean)));
  c.set_input("running_var", variance.empty() ? std::nullopt : std::optional(tensor(DType::kF32, {2}, variance)));
  return c;
}

TEST(BatchNorm, InferenceIsEveryElementByTheRunningStatistics) {
  Case c = batch({5, 1, -3, 7}, {1, -1}, {3, 15}, 1, false);
  c.set_input("weight", tensor(DType::kF32, {2}, {2, 8}));
  c.set_input("bias", tensor(DType::kF32, {2}, {1, -1}));
  ASSERT_TRUE(validate(c)) << validate(c).error();
  const auto outputs = *exact_outputs(c);
  EXPECT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs.at("y").values(), (std::vector<double>{5, 3, -3, 15}));  // (5 - 1)/2 2 + 1, (1 + 1)/4 8 - 1, ..
}

// Channels (0, 4) and (1, 3): means 2 and 2, variances 4 and 1, of the sample 8 and 2.
TEST(BatchNorm, TrainingMovesTheRunningStatistics) {
  Case c = batch({0, 1, 4, 3}, {10, 2}, {8, 1}, 0, true);
  const auto population = *exact_outputs(c);
  EXPECT_EQ(population.at("y").values(), (std::vector<double>{-1, -1, 1, 1}));
  EXPECT_EQ(population.at("running_mean_new").values(), (std::vector<double>{8, 2}));
  EXPECT_EQ(population.at("running_var_new").values(), (std::vector<double>{7, 1}));
  c.params["variance"] = std::string("sample");
  EXPECT_EQ(exact_outputs(c)->at("running_var_new").values(), (std::vector<double>{8, 1.25}));
}

TEST(BatchNorm, NumbersThatAreNotFiniteStayWithTheirElement) {
  const Case c = batch({kNan, 1, 3, kInfinity}, {1, -1}, {3, 15}, 1, false);
  const Tensor y = exact_outputs(c)->at("y");
  EXPECT_TRUE(std::isnan(y.value(0)));
  EXPECT_EQ(y.value(1), 0.5);
  EXPECT_EQ(y.value(2), 1);
  EXPECT_EQ(y.value(3), kInfinity);
  const CaseRows rows(c);
  const Contract contract = *contract_named("standard", DType::kF32);
  const auto first = slice_bounds(rows, 0, contract), second = slice_bounds(rows, 1, contract);
  EXPECT_EQ(first[0].expect, Expectation::kNan);
  EXPECT_EQ(first[1].expect, Expectation::kValue);
  EXPECT_EQ(first[1].head, 1);
  EXPECT_EQ(second[0].expect, Expectation::kValue);
  EXPECT_EQ(second[1].expect, Expectation::kNotFinite);
  // Of training they take their channel, and its running statistics, along.
  const Case training = batch({kNan, 1, 3, 2}, {1, -1}, {3, 15}, 1, true);
  const auto outputs = *exact_outputs(training);
  EXPECT_TRUE(std::isnan(outputs.at("running_mean_new").value(0)));
  EXPECT_EQ(outputs.at("running_mean_new").value(1), -0.375);
  const CaseRows of_training(training);
  const auto statistics = slice_bounds(of_training, of_training.slices() - 1, contract);
  ASSERT_EQ(statistics.size(), 4U);
  EXPECT_EQ(statistics[0].expect, Expectation::kNan);
  EXPECT_EQ(statistics[1].expect, Expectation::kValue);
  EXPECT_EQ(statistics[2].expect, Expectation::kNan);
}

TEST(BatchNorm, ADivisionByZeroHasNoBound) {
  const Case c = batch({1, 1, 3, 2}, {1, -1}, {0, 15}, 0, false);
  EXPECT_EQ(exact_outputs(c)->at("y").value(0), 0);  // totalized
  const Tensor ieee = exact_outputs(c, Reading::kIeee)->at("y");
  EXPECT_TRUE(std::isnan(ieee.value(0)));
  EXPECT_EQ(ieee.value(2), kInfinity);
  EXPECT_EQ(slice_bounds(CaseRows(c), 0, *contract_named("standard", DType::kF32))[1].limit, Limit::kZeroDenominator);
}

TEST(BatchNorm, ErrorsNameTheField) {
  const auto error_of = [](const Case& c) { return validate(c) ? std::string() : validate(c).error(); };
  EXPECT_EQ(error_of(batch({1, 2, 3, 4}, {}, {}, 1, false)), "inputs.running_mean: null, expected a tensor because params.training is 0");
  EXPECT_EQ(error_of(batch({1, 2, 3, 4}, {}, {}, 1, true)), "");
  EXPECT_EQ(error_of(batch({1, 2, 3, 4}, {0, 0}, {}, 1, true)), "inputs.running_var: null, expected both or neither");
  EXPECT_EQ(error_of(batch({1, 2, 3, 4}, {0, 0}, {1, -1}, 1, false)), "inputs.running_var: a negative number, expected none below 0");
  Case c = batch({1, 2, 3, 4}, {0, 0}, {1, 1}, 1, true);
  c.params.erase("momentum");
  EXPECT_EQ(error_of(c).substr(0, 16), "params.momentum:");
  c = batch({1, 2, 3, 4}, {0, 0}, {1, 1}, 1, true);
  c.params["variance"] = std::string("sample");
  c.set_input("x", tensor(DType::kF32, {1, 2}, {1, 2}));
  EXPECT_EQ(error_of(c), "params.variance: sample of less than two numbers per channel");
}

}  // namespace
}  // namespace normfuzz
