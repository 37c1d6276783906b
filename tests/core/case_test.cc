#include "core/case.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "tests/generators.h"

namespace normfuzz {
namespace {

Case example() {
  Case c;
  c.op = "layer_norm";
  c.params["epsilon"] = 0x1.4f8b58p-17;
  c.params["normalized_axis"] = std::int64_t{-1};
  Tensor x = Tensor::zeros(DType::kF32, {2, 2});
  for (int i = 0; i < 4; ++i) x.set_value(i, i);
  c.set_input("x", x);
  c.set_input("weight", std::nullopt);
  return c;
}

// Stored findings, databases and the generator's own golden values rest on these.
TEST(Digest, IsWhatItWasYesterday) {
  EXPECT_EQ(digest(example()), "281c1011caa15668c599b39071538253");
  EXPECT_EQ(digest(*example().input("x")), "a3d2fb5dab603d538ff9fea0d013face");
  EXPECT_EQ(digest(Case{}), "323939ecefa4feae87c8cddc58a5fe2d");
  EXPECT_EQ(digest(*read_case(NORMFUZZ_SOURCE_DIR "/corpus/public/ln-large-mean-40000.json")), "577207e6293c55e15e74155ade3c8b17");
  EXPECT_EQ(digest(*read_case(NORMFUZZ_SOURCE_DIR "/corpus/public/rms-bf16-one-plus-weight.json")), "ab8117ed5e648d4cdd26a1bd7198940b");
}

TEST(Digest, DoesNotSeeTextOrderOrAbsentTensors) {
  const Case c = example();
  Case other = c;
  other.source = "s";
  other.note = "n";
  other.provenance = Provenance{1, 2, 3, "gaussian"};
  other.expect["y"] = *c.input("x");
  other.inputs = {{"bias", std::nullopt}, {"x", *c.input("x")}};
  EXPECT_EQ(digest(other), digest(c));
  Tensor weight = Tensor::zeros(DType::kF32, {2});
  Case ab = c, ba = c;
  ab.inputs = {{"x", *c.input("x")}, {"weight", weight}};
  ba.inputs = {{"weight", weight}, {"x", *c.input("x")}};
  EXPECT_EQ(digest(ab), digest(ba));
}

TEST(Digest, SeesEveryPartOfTheCall) {
  std::vector<Case> variants(15, example());
  variants[1].op = "rms_norm";
  variants[2].params["epsilon"] = 0.0;
  variants[3].params["epsilon"] = -0.0;
  variants[4].params.erase("normalized_axis");
  variants[5].params["layout"] = std::string("nchw");
  variants[6].input("x")->shape = {4, 1};
  variants[7].input("x")->strides = {3, 1};
  variants[8].input("x")->offset = 1;
  variants[9].input("x")->misalign = 4;
  variants[10].input("x")->set_value(0, -0.0);
  variants[11].set_input("weight", Tensor::zeros(DType::kF32, {2}));
  variants[12].set_input("bias", Tensor::zeros(DType::kF32, {2}));
  variants[13].property = PropertyRef{"p", {}};
  variants[14].property = PropertyRef{"p", {{"k", "v"}}};
  std::set<std::string> digests;
  for (const Case& c : variants) digests.insert(digest(c));
  EXPECT_EQ(digests.size(), variants.size());
}

RC_GTEST_PROP(DigestProperty, ChangesWithEveryBit, ()) {
  Case c = *testing::any_case();
  Tensor& x = *c.input("x");
  const std::string before = digest(c);
  const std::int64_t element = *rc::gen::inRange<std::int64_t>(0, x.size());
  const int bit = *rc::gen::inRange(0, 8 * static_cast<int>(x.element_bytes()));
  x.set_bits(element, x.bits(element) ^ (std::uint64_t{1} << bit));
  RC_ASSERT(digest(c) != before);
}

RC_GTEST_PROP(DigestProperty, FollowsTheContentThroughAFile, ()) {
  const Case c = *testing::any_case();
  RC_ASSERT(digest(*parse_case(write_case(c), "c")) == digest(c));
}

TEST(Case, FindsItsParts) {
  Case c = example();
  EXPECT_EQ(c.epsilon(), 0x1.4f8b58p-17);
  EXPECT_EQ(c.integer("normalized_axis", 7), -1);
  EXPECT_EQ(c.integer("axis", 7), 7);
  EXPECT_EQ(c.text("layout", "nchw"), "nchw");
  EXPECT_EQ(c.input("weight"), nullptr);
  EXPECT_EQ(c.input("none"), nullptr);
  c.set_input("weight", Tensor::zeros(DType::kF16, {2}));
  EXPECT_EQ(c.inputs.size(), 2u);
  EXPECT_EQ(c.input("weight")->dtype, DType::kF16);
}

TEST(Case, IsFiledUnderTheDtypeOfX) {
  Case c;
  EXPECT_EQ(c.dtype(), DType::kF32);
  c.set_input("weight", Tensor::zeros(DType::kF64, {2}));
  EXPECT_EQ(c.dtype(), DType::kF64);
  c.set_input("x", Tensor::zeros(DType::kBF16, {2}));
  EXPECT_EQ(c.dtype(), DType::kBF16);
}

TEST(Params, EachHasOneKindAndARange) {
  EXPECT_EQ(find_param("nothing"), nullptr);
  EXPECT_TRUE(find_param("epsilon")->accepts(0));
  EXPECT_FALSE(find_param("epsilon")->accepts(1e-5));  // not a float
  EXPECT_FALSE(find_param("epsilon")->accepts(-1));
  EXPECT_FALSE(find_param("weight_offset")->accepts(0.5));
  EXPECT_TRUE(find_param("p")->accepts(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(find_param("p")->accepts(0.5));
  for (const char* name : {"epsilon", "weight_offset", "p", "momentum", "learning_rate"}) {
    EXPECT_EQ(find_param(name)->kind, ParamKind::kNumber);
    EXPECT_FALSE(find_param(name)->accepts(std::numeric_limits<double>::quiet_NaN())) << name;
  }
}

}  // namespace
}  // namespace normfuzz
