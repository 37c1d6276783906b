// Test policies: their inputs are valid calls of every op, and their metrics pass and fail what they say.
#include "harness/audit/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "harness/audit/presets.h"

namespace normfuzz {
namespace {

TEST(PolicyCase, IsAValidCallOfEveryOp) {
  for (const TestPolicy& policy : policy_presets())
    for (const OpInfo* op : all_ops())
      for (std::uint64_t index = 0; index < 2; ++index) {
        const Case c = policy_case(policy, 1, op->name, DType::kF16, index);
        const Status valid = validate(c);
        ASSERT_TRUE(valid) << policy.name << ' ' << op->name << ": " << valid.error();
        EXPECT_EQ(c.dtype(), DType::kF16);
        EXPECT_LE(c.inputs.front().second->size(), 2 * kPolicyElements);
      }
}

TEST(PolicyCase, IsAFunctionOfSeedAndIndex) {
  const TestPolicy& policy = *find_policy_preset("pytorch");
  const auto digest_of = [&](std::uint64_t seed, std::uint64_t index) {
    return digest(policy_case(policy, seed, "rms_norm", DType::kF16, index));
  };
  EXPECT_EQ(digest_of(1, 0), digest_of(1, 0));
  EXPECT_NE(digest_of(1, 0), digest_of(2, 0));
  EXPECT_NE(digest_of(1, 0), digest_of(1, 1));
}

TEST(PolicyCase, FollowsThePolicy) {
  const Case vllm = policy_case(*find_policy_preset("vllm"), 1, "rms_norm", DType::kF32, 0);
  EXPECT_EQ(vllm.input("x")->shape.back(), 5120);
  for (const double v : vllm.input("x")->values()) EXPECT_LT(std::fabs(v), 9.0 / 10240);  // a normal number over twice the width
  const Case onednn = policy_case(*find_policy_preset("onednn"), 1, "layer_norm", DType::kF32, 0);
  EXPECT_EQ(onednn.epsilon(), 0.0625);
  for (const double v : onednn.input("x")->values()) EXPECT_EQ(v, std::nearbyint(v));
}

TEST(PolicyCase, InAnotherTypeIsTheSameCall) {
  const Case c = policy_case(*find_policy_preset("pytorch"), 1, "layer_norm", DType::kBF16, 0), wide = in_type(c, DType::kF64);
  EXPECT_EQ(wide.dtype(), DType::kF64);
  EXPECT_EQ(c.input("x")->values(), wide.input("x")->values());
  EXPECT_EQ(c.input("weight")->values(), wide.input("weight")->values());
}

TEST(Presets, EachIsNamedAndCited) {
  std::set<std::string> names;
  for (const TestPolicy& p : policy_presets()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_FALSE(p.source.empty() || p.tolerances.empty() || p.hidden.empty() || p.batch.empty()) << p.name;
  }
  for (const char* name : {"pytorch", "gradcheck", "jax", "onnx", "onnxruntime", "tensorflow", "triton", "liger", "transformer_engine",
                           "vllm", "flashinfer", "kernelbench", "onednn"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Presets, BenchdnnDoublesItsThresholdPerMissingDigit) {
  const TestPolicy& p = *find_policy_preset("onednn");
  EXPECT_EQ(p.tolerance("layer_norm", DType::kF32)->rtol, 5e-7);
  EXPECT_EQ(p.tolerance("layer_norm", DType::kF16)->rtol, 5e-7 * 8192);
  EXPECT_EQ(p.tolerance("layer_norm", DType::kBF16)->rtol, 5e-7 * 65536);
  EXPECT_EQ(p.tolerance("layer_norm", DType::kF64), nullptr);
}

TEST(Presets, DirectionsHaveTheirOwnTolerances) {
  const TestPolicy& p = *find_policy_preset("transformer_engine");
  EXPECT_EQ(p.tolerance("layer_norm", DType::kF32)->rtol, 5e-6);
  EXPECT_EQ(p.tolerance("layer_norm_backward", DType::kF32)->rtol, 5e-4);
  EXPECT_EQ(find_policy_preset("gradcheck")->tolerance("layer_norm", DType::kF64), nullptr);
}

// "y" of these values against another "y", under one metric.
bool passes(Metric metric, double rtol, double atol, const std::vector<double>& got, const std::vector<double>& expected) {
  const auto outputs = [](const std::vector<double>& values) {
    Tensor t = Tensor::zeros(DType::kF64, {static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) t.set_value(static_cast<std::int64_t>(i), values[i]);
    return NamedTensors{{"y", t}};
  };
  TestPolicy policy;
  policy.metric = metric;
  return rejection(policy, {DType::kF64, Direction::kBoth, rtol, atol}, outputs(got), outputs(expected)).empty();
}

TEST(Metric, ComparesAsItSays) {
  EXPECT_TRUE(passes(Metric::kAllclose, 0.5, 1, {16, 0}, {10, 1}));  // 6 and 1.5 allowed
  EXPECT_FALSE(passes(Metric::kAllclose, 0.5, 1, {17, 0}, {10, 1}));
  EXPECT_TRUE(passes(Metric::kRelative, 0.5, 0, {15, 0.5}, {10, 0}));
  EXPECT_FALSE(passes(Metric::kRelative, 0.5, 0, {15, 0.75}, {10, 0}));
  EXPECT_TRUE(passes(Metric::kMaxAbs, 9, 1, {1, 3}, {2, 4}));
  EXPECT_FALSE(passes(Metric::kMaxAbs, 9, 1, {1, 3}, {2, 5}));
  EXPECT_TRUE(passes(Metric::kCosine, 0, 0, {3, 4}, {3, 4}));
  EXPECT_FALSE(passes(Metric::kCosine, 0, 0.5, {1, 0}, {0, 1}));
}

// Why correlations are no metric: tt-metal#22994, twice the result passes.
TEST(Metric, CorrelationsDoNotSeeAScale) {
  EXPECT_TRUE(passes(Metric::kPcc, 0, 0.5, {2, 4, 6}, {1, 2, 3}));
  EXPECT_TRUE(passes(Metric::kCosine, 0, 0.5, {2, 4, 6}, {1, 2, 3}));
  EXPECT_FALSE(passes(Metric::kPcc, 0, 0.5, {3, 2, 1}, {1, 2, 3}));
}

TEST(Metric, NonFiniteValuesMustAgree) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const Metric m : {Metric::kAllclose, Metric::kRelative, Metric::kMaxAbs}) {
    EXPECT_TRUE(passes(m, 1, 1, {nan, infinity}, {nan, infinity}));
    EXPECT_FALSE(passes(m, 1, 1, {nan}, {1}));
    EXPECT_FALSE(passes(m, 1, 1, {1}, {nan}));
    EXPECT_FALSE(passes(m, 1, infinity, {infinity}, {-infinity}));
  }
  EXPECT_FALSE(passes(Metric::kPcc, 0, 1, {nan, 1}, {2, 1}));
}

TEST(Metric, NamesAreReadBack) {
  for (const Metric m : {Metric::kAllclose, Metric::kRelative, Metric::kMaxAbs, Metric::kCosine, Metric::kPcc})
    EXPECT_EQ(*metric_named(std::string(name_of(m))), m);
  for (const InputPolicy p : {InputPolicy::kRandn, InputPolicy::kUniform, InputPolicy::kIntegers, InputPolicy::kArange})
    EXPECT_EQ(*input_policy_named(std::string(name_of(p))), p);
  EXPECT_FALSE(metric_named("ulps"));
  EXPECT_FALSE(input_policy_named("zeros"));
}

}  // namespace
}  // namespace normfuzz
