// The worked numbers of the sources: what a reader of them would check by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/generate/stream.h"
#include "oracles/bound.h"
#include "oracles/oracle.h"
#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

using testing::tensor;

Case norm_of(const char* op, const std::vector<double>& x, DType d = DType::kF64) {
  Case c;
  c.op = op;
  c.set_input("x", tensor(d, {static_cast<std::int64_t>(x.size())}, x));
  return c;
}
Case with_p(Case c, double p) {
  c.params["p"] = p;
  return c;
}

// The first element of y with so many significant digits.
std::string decimal(const Case& c, int digits, std::size_t at = 0) {
  const auto y = exact_decimal(c, digits);
  return y ? y->at("y")[at] : y.error();
}

TEST(WorkedNumbers, ThreeFour) {
  EXPECT_EQ(decimal(with_p(norm_of("lp_norm", {3, 4}), 2), 17), "5.0000000000000000e+0");
  EXPECT_EQ(decimal(with_p(norm_of("lp_norm", {3, 4}), 1), 17), "7.0000000000000000e+0");
  EXPECT_EQ(decimal(with_p(norm_of("lp_norm", {3, 4}), std::numeric_limits<double>::infinity()), 17), "4.0000000000000000e+0");
  const Case unit = with_p(norm_of("lp_normalize", {3, 4}), 2);
  EXPECT_EQ(decimal(unit, 17, 0), "6.0000000000000000e-1");
  EXPECT_EQ(decimal(unit, 17, 1), "8.0000000000000000e-1");
  const auto y = exact_outputs(unit);
  ASSERT_TRUE(y);
  EXPECT_EQ(y->at("y").value(0), 0.6);
  EXPECT_EQ(y->at("y").value(1), 0.8);
  Case distance;
  distance.op = "distance";
  distance.set_input("a", tensor(DType::kF32, {2}, {3, 4}));
  distance.set_input("b", tensor(DType::kF32, {2}, {0, 0}));
  EXPECT_EQ(decimal(distance, 3), "5.00e+0");
}

// One node of the graph changed: 2 / sqrt(mean(2^4)) and its inverse in place of 2 / sqrt(mean(2^2)).
TEST(WorkedNumbers, GraphOfZeroFour) {
  Case c = norm_of("layer_norm_graph", {0, 4});
  c.params["epsilon"] = 0.0;
  const auto with_pattern = [&](const char* pattern) {
    c.params["pattern"] = std::string(pattern);
    return decimal(c, 3, 1);
  };
  EXPECT_EQ(with_pattern("exact"), "1.00e+0");
  EXPECT_EQ(with_pattern("exponent_4"), "5.00e-1");
  EXPECT_EQ(with_pattern("swapped_sub"), "-1.00e+0");
  EXPECT_EQ(with_pattern("swapped_div"), "1.00e+0");
  c.params["epsilon"] = 0.25;
  EXPECT_EQ(with_pattern("swapped_div"), "1.03e+0");  // sqrt(4.25) / 2
}

TEST(WorkedNumbers, ThreeTwo) {
  EXPECT_EQ(decimal(with_p(norm_of("lp_norm", {3, 2}), 2), 3), "3.61e+0");
  EXPECT_EQ(decimal(with_p(norm_of("lp_norm", {3, 2}), 1), 3), "5.00e+0");
  EXPECT_EQ(decimal(norm_of("rms", {3, 2}), 3), "2.55e+0");
}

// An 8-number hidden state of RMS 1.36: normalized it has RMS 1 and length sqrt(8), whatever its scale.
TEST(WorkedNumbers, EightNumbersOfRms136) {
  const std::vector<double> state = {0.5, -1.0, 1.5, 2.0, -0.7, 1.1, -1.6, 1.74};
  EXPECT_EQ(decimal(norm_of("rms", state), 3), "1.36e+0");
  EXPECT_EQ(decimal(with_p(norm_of("lp_norm", state), 2), 3), "3.85e+0");
  for (const double scale : {1.0, 0.001, 300.0}) {
    std::vector<double> scaled = state;
    for (double& v : scaled) v *= scale;
    Case c = norm_of("rms_norm", scaled);
    c.params["epsilon"] = 0.0;
    const auto y = exact_outputs(c);
    ASSERT_TRUE(y);
    const std::vector<double> out = y->at("y").values();
    EXPECT_EQ(decimal(norm_of("rms", out), 3), "1.00e+0");
    EXPECT_EQ(decimal(with_p(norm_of("lp_norm", out), 2), 3), "2.83e+0");
  }
}

// 10 rows of 768 normal values times 50: every row of the LayerNorm has length 27.7.
TEST(WorkedNumbers, LengthsOfLayerNorm) {
  Case c;
  c.op = "layer_norm";
  c.params["epsilon"] = testing::kEpsilon;
  Tensor x = Tensor::zeros(DType::kF32, {10, 768});
  Stream s(768);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, 50 * s.gaussian());
  c.set_input("x", std::move(x));
  const auto y = exact_outputs(c);
  ASSERT_TRUE(y);
  Case lengths = with_p(norm_of("lp_norm", {}), 2);
  lengths.set_input("x", y->at("y"));
  for (std::size_t row = 0; row < 10; ++row) EXPECT_EQ(decimal(lengths, 3, row), "2.77e+1");
}

// Stage 1 of ConvNeXt has 56 x 56 = 3,136 statistics per example and site; of its 22 sites (18 blocks, 3 between the stages, the head
// behind the pooling) 21 are channel-wise.
TEST(WorkedNumbers, SitesOfConvNext) {
  const auto statistics = [](std::int64_t side) {
    Case c;
    c.op = "channel_layer_norm";
    c.params["epsilon"] = 1e-6F;
    c.set_input("x", Tensor::zeros(DType::kF32, {1, 96, side, side}));
    EXPECT_TRUE(validate(c));
    return CaseRows(c).rows();
  };
  EXPECT_EQ(statistics(56), 3136);
  int sites = 0, channelwise = 0;
  const auto count = [&](std::int64_t side, int times) {
    sites += times;
    channelwise += statistics(side) > 1 ? times : 0;
  };
  count(56, 3 + 1);
  count(28, 3 + 1);
  count(14, 9 + 1);
  count(7, 3);
  count(1, 1);
  EXPECT_EQ(sites, 22);
  EXPECT_EQ(channelwise, 21);
}

}  // namespace
}  // namespace normfuzz
