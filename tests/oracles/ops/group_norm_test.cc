// group_norm and instance_norm: their rows are those of layer_norm, their weights go by channel.
#include <gtest/gtest.h>

#include "oracles/ops/op.h"
#include "oracles/oracle.h"
#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

using testing::tensor;

// A case on images with values that differ everywhere.
Case images(const std::string& op, std::vector<std::int64_t> shape, std::int64_t channels, std::map<std::string, ParamValue> params) {
  Case c;
  c.op = op;
  c.params = std::move(params);
  c.params["epsilon"] = testing::kEpsilon;
  Tensor x = Tensor::zeros(DType::kF32, std::move(shape)), weight = Tensor::zeros(DType::kF32, {channels}), bias = weight;
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, static_cast<double>((i * 37) % 101) - 40);
  for (std::int64_t i = 0; i < channels; ++i) {
    weight.set_value(i, 1.5 + static_cast<double>(i));
    bias.set_value(i, 0.25 * static_cast<double>(i));
  }
  c.set_input("x", std::move(x));
  c.set_input("weight", std::move(weight));
  c.set_input("bias", std::move(bias));
  return c;
}

// layer_norm of one row, with its weights and biases element by element.
std::vector<double> layer_norm_of(const Case& c, const std::vector<std::int64_t>& elements, const std::vector<std::int64_t>& channels) {
  const auto n = static_cast<std::int64_t>(elements.size());
  Case row;
  row.op = "layer_norm";
  row.params["epsilon"] = c.epsilon();
  Tensor x = Tensor::zeros(DType::kF32, {n}), weight = x, bias = x;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    x.set_bits(i, c.input("x")->bits(elements[at]));
    weight.set_bits(i, c.input("weight")->bits(channels[at]));
    bias.set_bits(i, c.input("bias")->bits(channels[at]));
  }
  row.set_input("x", std::move(x));
  row.set_input("weight", std::move(weight));
  row.set_input("bias", std::move(bias));
  return exact_outputs(row)->at("y").values();
}

// Rows by hand: of [2, 6, 2] or [2, 2, 6] in `groups` groups.
void expect_rows_of_layer_norm(const Case& c, std::int64_t groups, bool channels_last) {
  constexpr std::int64_t kChannels = 6, kPositions = 2;
  ASSERT_TRUE(validate(c)) << validate(c).error();
  const Tensor y = exact_outputs(c)->at("y");
  for (std::int64_t sample = 0; sample < 2; ++sample)
    for (std::int64_t g = 0; g < groups; ++g) {
      std::vector<std::int64_t> elements, channels;
      for (std::int64_t m = 0; m < kChannels / groups; ++m)
        for (std::int64_t p = 0; p < kPositions; ++p) {
          const std::int64_t channel = g * (kChannels / groups) + m, sample_at = sample * kChannels * kPositions;
          channels.push_back(channel);
          elements.push_back(sample_at + (channels_last ? p * kChannels + channel : channel * kPositions + p));
        }
      const std::vector<double> due = layer_norm_of(c, elements, channels);
      for (std::size_t i = 0; i < due.size(); ++i) EXPECT_EQ(y.value(elements[i]), due[i]) << "sample " << sample << " group " << g;
    }
}

TEST(GroupNorm, RowsAreThoseOfLayerNormWithWeightsByChannel) {
  for (const std::int64_t groups : {1, 2, 3, 6}) {
    expect_rows_of_layer_norm(images("group_norm", {2, 6, 2}, 6, {{"groups", groups}}), groups, false);
    expect_rows_of_layer_norm(images("group_norm", {2, 2, 6}, 6, {{"groups", groups}, {"layout", std::string("nhwc")}}), groups, true);
  }
}

TEST(InstanceNorm, IsOneChannelPerGroup) {
  expect_rows_of_layer_norm(images("instance_norm", {2, 6, 2}, 6, {}), 6, false);
  expect_rows_of_layer_norm(images("instance_norm", {2, 2, 6}, 6, {{"layout", std::string("nhwc")}}), 6, true);
}

TEST(GroupNorm, ErrorsNameTheField) {
  const auto error_of = [](const Case& c) { return validate(c) ? std::string() : validate(c).error(); };
  EXPECT_EQ(error_of(images("group_norm", {2, 6, 2}, 6, {})), "params.groups: missing, expected a divisor of the 6 channels");
  EXPECT_EQ(error_of(images("group_norm", {2, 6, 2}, 6, {{"groups", std::int64_t{4}}})),
            "params.groups: 4, expected a divisor of the 6 channels");
  EXPECT_EQ(error_of(images("group_norm", {6}, 6, {{"groups", std::int64_t{2}}})),
            "inputs.x.shape: rank 1, expected 2 to 5 (batch, channels, positions)");
  EXPECT_EQ(error_of(images("instance_norm", {2, 6}, 6, {})), "inputs.x.shape: rank 2, expected 3 to 5 (batch, channels, positions)");
  EXPECT_EQ(error_of(images("instance_norm", {2, 6, 2}, 2, {})), "inputs.weight.shape: [2], expected the number of channels [6]");
  EXPECT_EQ(error_of(images("instance_norm", {2, 6, 2}, 6, {{"groups", std::int64_t{2}}})),
            "params.groups: not a parameter of instance_norm, expected one of epsilon, layout");
}

}  // namespace
}  // namespace normfuzz
