#include "harness/guided_state.h"

#include <gtest/gtest.h>

#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

WorstInput input(double ratio, std::uint8_t draw, const std::string& regime = "gaussian") {
  return {"rms_norm", DType::kF16, regime, ratio, {0, 0, 0, 3, 5, draw}};
}

TEST(WorstPool, KeepsTheTwentyWorstOfEachRegime) {
  WorstPool pool;
  for (std::uint8_t i = 0; i < 50; ++i) pool.add(input(i % 7 + 1, i));
  EXPECT_TRUE(pool.add(input(0.5, 1, "ramp")));
  const auto& kept = pool.by_regime().at("gaussian");
  ASSERT_EQ(kept.size(), WorstPool::kPerRegime);
  EXPECT_EQ(kept.front().ratio, 7);
  EXPECT_EQ(kept.back().ratio, 5);  // seven 7s, seven 6s, six of the 5s
  EXPECT_FALSE(pool.add(input(1, 99)));
  EXPECT_FALSE(pool.add(kept.front()));
}

TEST(WorstPool, OrderOfComingDoesNotMatter) {
  WorstPool up, down;
  for (std::uint8_t i = 0; i < 60; ++i) {
    up.add(input(i % 5 + 1, i));
    down.add(input((59 - i) % 5 + 1, static_cast<std::uint8_t>(59 - i)));
  }
  EXPECT_EQ(up.all(), down.all());
}

TEST(WorstInputs, TextKeepsThem) {
  const std::vector<WorstInput> inputs = {input(0x1.8p-3, 1), input(0x1p-1074, 2, "ramp")};
  const auto read = parse_worst("# a comment\n\n" + write_worst(inputs), "file");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, inputs);
}

TEST(WorstInputs, AMalformedLineIsNamed) {
  const std::string good = write_worst(std::vector{input(1, 1)});
  for (const char* bad : {"rms_norm f16 gaussian 0x1p+0", "no_norm f16 gaussian 0x1p+0 00", "rms_norm f8 gaussian 0x1p+0 00",
                          "rms_norm f16 gaussian -0x1p+0 00", "rms_norm f16 gaussian nan 00", "rms_norm f16 gaussian 0x1p+0 0",
                          "rms_norm f16 gaussian 0x1p+0 zz", "rms_norm f16 gaussian 0x1p+0 00 1"}) {
    const auto read = parse_worst(good + bad + "\n", "worst.txt");
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().rfind("worst.txt line 2: ", 0), 0U) << read.error();
  }
}

TEST(WorstInputs, ARecipeIsACaseOfItsOpAndDtype) {
  const Case c = case_of_recipe("lp_norm", DType::kBF16, std::vector<std::uint8_t>{9, 0, 200, 1, 7, 1, 3});
  EXPECT_EQ(c.op, "lp_norm");
  EXPECT_EQ(c.dtype(), DType::kBF16);
  EXPECT_TRUE(validate(c));
  EXPECT_EQ(c.source, "recipe 0900c801070103");
}

}  // namespace
}  // namespace normfuzz
