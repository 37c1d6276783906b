#include "oracles/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/case_io.h"
#include "tests/oracles/make_case.h"
#include "tests/public_cases.h"

namespace normfuzz {
namespace {

using testing::case_of;
using testing::kEpsilon;
using testing::tensor;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> exact(const Case& c, Reading reading = Reading::kTotalized) {
  const auto outputs = exact_outputs(c, reading);
  if (!outputs) {
    ADD_FAILURE() << outputs.error();
    return {};
  }
  return outputs->at("y").values();
}

std::vector<std::string> decimal(const Case& c, int digits) { return exact_decimal(c, digits)->at("y"); }

// Bit for bit up to the payload of a NaN; unlike ==, tells the zeros apart.
void expect_same(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "y[" << i << "] = " << got[i];
    } else {
      EXPECT_EQ(hex_from_value(got[i]), hex_from_value(expected[i])) << "y[" << i << "]";
    }
  }
}

TEST(Oracle, PublicCasesGiveTheirRecordedResult) {
  const auto files = testing::public_case_files();
  EXPECT_GE(files.size(), testing::kLeastPublicCases);
  for (const std::string& file : files) {
    const auto c = read_case(file);
    ASSERT_TRUE(c) << c.error();
    const auto outputs = exact_outputs(*c);
    ASSERT_TRUE(outputs) << outputs.error();
    EXPECT_EQ(*outputs, c->expect) << file;
    for (const auto& [name, recorded] : c->expect) {
      Case wrong = *c;  // the comparison can fail
      wrong.expect.at(name).set_bits(recorded.size() - 1, recorded.bits(recorded.size() - 1) ^ 1);
      EXPECT_NE(*outputs, wrong.expect) << file << " " << name;
    }
  }
}

TEST(Oracle, ZeroDenominatorUnderBothReadings) {
  Case c = case_of("layer_norm", DType::kF32, 2, {3, 3, 3, 1, 2, 3}, 0);
  c.set_input("bias", tensor(DType::kF32, {3}, {1, -0.0, 2}));
  const auto f32 = [](double v) { return value_from_bits(DType::kF32, bits_from_value(DType::kF32, v)); };
  const std::vector<double> row = {f32(1 - std::sqrt(1.5)), 0.0, f32(2 + std::sqrt(1.5))};
  expect_same(exact(c), {1, 0.0, 2, row[0], row[1], row[2]});
  expect_same(exact(c, Reading::kIeee), {kNan, kNan, kNan, row[0], row[1], row[2]});
  expect_same(exact(case_of("rms_norm", DType::kF64, 1, {0, -0.0}, 0)), {0.0, 0.0});
  expect_same(exact(case_of("rms_norm", DType::kF64, 1, {0, -0.0}, 0), Reading::kIeee), {kNan, kNan});
}

TEST(Oracle, NanAndInfiniteRows) {
  expect_same(exact(case_of("layer_norm", DType::kF32, 3, {1, kNan, 1, kInf, 2, 2}, kEpsilon)), {kNan, kNan, kNan, kNan, 0.0, 0.0});
  expect_same(exact(case_of("rms_norm", DType::kF32, 2, {1, kNan, -kInf, 5}, kEpsilon)), {kNan, kNan, kNan, 0.0});
}

TEST(Oracle, NanAndInfiniteParameters) {
  Case c = case_of("layer_norm", DType::kF32, 1, {-1, 0, 1, -1, 1}, kEpsilon);
  c.set_input("weight", tensor(DType::kF32, {5}, {kInf, kInf, -kInf, kNan, kInf}));
  c.set_input("bias", tensor(DType::kF32, {5}, {0, 0, 7, 0, -kInf}));
  expect_same(exact(c), {-kInf, kNan, -kInf, kNan, kNan});  // 0 * inf and inf - inf
  c.set_input("weight", std::nullopt);
  c.set_input("bias", tensor(DType::kF32, {5}, {kInf, kNan, -kInf, 0, 0}));
  const auto y = exact(c);
  expect_same({y[0], y[1], y[2]}, {kInf, kNan, -kInf});
}

// Integers whose variance is a square but whose mean 1/5 is no dyadic number: every enclosure straddles the exact result
// (-1/2, -1/2, -1/2, -1/2, 2) for ever, so a tie is decided by the separation bound alone.
TEST(Oracle, TiesGoToEven) {
  Case c = case_of("layer_norm", DType::kF16, 1, {0, 0, 0, 0, 1}, 0);
  c.set_input("weight", tensor(DType::kF32, {5}, {2 + 0x1p-10, 2 + 3 * 0x1p-10, -(2 + 0x1p-10), 0, 0x1.ffep+14}));
  expect_same(exact(c), {-1, -(1 + 0x1p-9), 1, 0.0, kInf});  // 1 + ulp/2, 1 + 3 ulp/2, 65520: max + ulp/2
  c.set_input("weight", tensor(DType::kF32, {5}, {2 + 0x1.001p-10, 2 + 0x1.ffep-11, 0x1p-23, 0x1.4p-23, 0x1.ffdffep+14}));
  expect_same(exact(c), {-(1 + 0x1p-10), -1, -0x1p-24, -0x1p-24, 65504});  // just off the ties; subnormals: 1 and 1.25 times 2^-24
  c.set_input("weight", tensor(DType::kF32, {5}, {0x1p-24, 0x1.000002p-24, 0x1.8p-22, 0, 0}));
  expect_same(exact(c), {-0.0, -0x1p-24, -0x1p-23 - 0x1p-24, 0.0, 0.0});  // half the smallest subnormal; 3 of them exactly
  Case wide = case_of("layer_norm", DType::kF64, 1, {0, 0, 0, 0, 1}, 0);
  wide.set_input("weight", tensor(DType::kF64, {5}, {2, 2, 2, 2, 1}));
  wide.set_input("bias", tensor(DType::kF64, {5}, {0x1p-54, 0x1.0000000000001p-54, -0x1p-53, -0x1.8p-52, 0}));
  expect_same(exact(wide), {-1, -1 + 0x1p-53, -1, -1 - 0x1p-51, 2});
}

TEST(Oracle, ExactZeroIsPositiveAndATinyResultKeepsItsSign) {
  Case c = case_of("rms_norm", DType::kF64, 1, {1, -1}, 0);
  c.set_input("weight", tensor(DType::kF64, {2}, {1, 1}));
  c.set_input("bias", tensor(DType::kF64, {2}, {-1, 1}));
  expect_same(exact(c), {0.0, 0.0});
  Case tiny = case_of("rms_norm", DType::kF32, 1, {0x1p-149, -0x1p-149}, 100);
  tiny.set_input("weight", tensor(DType::kF32, {2}, {0x1p-3, 0x1p-3}));
  expect_same(exact(tiny), {0.0, -0.0});
}

// sqrt(3/2), from its continued fraction to 50 digits.
TEST(Oracle, Decimal) {
  const Case c = case_of("layer_norm", DType::kF32, 1, {1, 2, 3}, 0);
  EXPECT_EQ(decimal(c, 50), (std::vector<std::string>{"-1.2247448713915890490986420373529456959829737403283e+0", "0",
                                                      "1.2247448713915890490986420373529456959829737403283e+0"}));
  EXPECT_EQ(decimal(c, 1), (std::vector<std::string>{"-1e+0", "0", "1e+0"}));
  Case special = case_of("layer_norm", DType::kF32, 1, {0, 0, 0, 0, 1}, 0);
  special.set_input("weight", tensor(DType::kF32, {5}, {0.5, 1.5, kNan, kInf, 1}));
  EXPECT_EQ(decimal(special, 1), (std::vector<std::string>{"-2e-1", "-8e-1", "nan", "-inf", "2e+0"}));  // 0.25 and 0.75: to even
  EXPECT_EQ(decimal(special, 2)[0], "-2.5e-1");
}

TEST(Oracle, ErrorsNameTheField) {
  const auto unknown = exact_outputs(case_of("softmax", DType::kF32, 1, {1}, kEpsilon));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().find("op: 'softmax'"), std::string::npos);
  EXPECT_FALSE(exact_outputs(case_of("layer_norm", DType::kF32, 1, {1}, kNan)));
  EXPECT_FALSE(exact_decimal(case_of("layer_norm", DType::kF32, 1, {1}, kEpsilon), 0));
  EXPECT_FALSE(exact_decimal(case_of("layer_norm", DType::kF32, 1, {1}, kEpsilon), kMaxDigits + 1));
}

}  // namespace
}  // namespace normfuzz
