#include "core/hex_float.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/generators.h"

namespace normfuzz {
namespace {

TEST(HexFloat, WritesTheShortestNormalizedForm) {
  EXPECT_EQ(hex_from_value(0.0), "0x0p+0");
  EXPECT_EQ(hex_from_value(-0.0), "-0x0p+0");
  EXPECT_EQ(hex_from_value(40000), "0x1.388p+15");
  EXPECT_EQ(hex_from_value(3), "0x1.8p+1");
  EXPECT_EQ(hex_from_value(-0.5), "-0x1p-1");
  EXPECT_EQ(hex_from_value(0x1.fffffffffffffp+1023), "0x1.fffffffffffffp+1023");
  EXPECT_EQ(hex_from_value(0x1p-1074), "0x1p-1074");
  EXPECT_EQ(hex_from_value(0x1.8p-1073), "0x1.8p-1073");
  EXPECT_EQ(hex_from_value(0x0.fffffffffffffp-1022), "0x1.ffffffffffffep-1023");
  EXPECT_EQ(hex_from_value(HUGE_VAL), "inf");
  EXPECT_EQ(hex_from_value(-HUGE_VAL), "-inf");
  EXPECT_EQ(hex_from_value(std::nan("7")), "nan");
}

RC_GTEST_PROP(HexFloatProperty, ReadsBackToTheSameBits, ()) {
  const double v = *testing::any_value(DType::kF64);
  const std::string text = hex_from_value(v);
  const Result<double> back = value_from_hex(text);
  RC_ASSERT(back);
  RC_ASSERT(std::bit_cast<std::uint64_t>(*back) == bits_from_value(DType::kF64, v));
  if (std::isfinite(v)) RC_ASSERT(std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)) == std::bit_cast<std::uint64_t>(v));
}

// The reader against the C library's, on texts with redundant zeros, capitals, shifted points and explicit signs.
RC_GTEST_PROP(HexFloatProperty, AgreesWithTheCLibrary, ()) {
  const auto digits = [](const char* alphabet) {
    return *rc::gen::resize(20, rc::gen::container<std::string>(rc::gen::elementOf(std::string(alphabet))));
  };
  std::string text = *rc::gen::element<std::string>("", "-", "+");
  text += *rc::gen::element<std::string>("0x", "0X");
  text += "0" + digits("0123456789abcdefABCDEF").substr(0, 12);
  if (*rc::gen::arbitrary<bool>()) text += "." + digits("0000000000008c");
  if (*rc::gen::arbitrary<bool>()) text += *rc::gen::element<std::string>("p", "P-", "p+") + std::to_string(*rc::gen::inRange(0, 1200));
  const double expected = std::strtod(text.c_str(), nullptr);
  const Result<double> read = value_from_hex(text);
  if (read) {
    RC_ASSERT(std::bit_cast<std::uint64_t>(*read) == std::bit_cast<std::uint64_t>(expected));
  } else {
    RC_ASSERT(read.error().find("exactly") != std::string::npos);  // such a text is well-formed, so only rounding may be refused
    RC_CLASSIFY(true, "inexact");
  }
}

TEST(HexFloat, ReadsAnySpelling) {
  EXPECT_EQ(*value_from_hex("0x1.0000000000000p+2"), 4);
  EXPECT_EQ(*value_from_hex("0X.8"), 0.5);
  EXPECT_EQ(*value_from_hex("+0xA.p-1"), 5);
  EXPECT_EQ(*value_from_hex("0x0.0000000000001p-1022"), 0x1p-1074);
  EXPECT_EQ(*value_from_hex("0x" + std::string(5000, '0') + "1." + std::string(5000, '0')), 1);
  EXPECT_EQ(*value_from_hex("0x1" + std::string(1000, '0') + "p-4000"), 1);
  EXPECT_EQ(*value_from_hex("0x0p+99999999999999999999999"), 0);
  EXPECT_TRUE(std::signbit(*value_from_hex("-0x0p+0")));
  EXPECT_EQ(*value_from_hex("inf"), HUGE_VAL);
  EXPECT_EQ(*value_from_hex("-inf"), -HUGE_VAL);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(*value_from_hex("nan")), 0x7ff8000000000000u);
}

TEST(HexFloat, RefusesWhatIsNotHexadecimal) {
  for (const char* text :
       {"",        "1",       "1.5",   "0x",   "0xp+1", "0x.",      "0x1.8p", "0x1.8p+", "0x1.8q+1", "0x1..8", "0x1p+1 ",
        " 0x1p+1", "0x1p+1f", "--0x1", "+inf", "INF",   "infinity", "-nan",   "nan(1)",  "0x1p0x1",  "0b1",    "0x1p+1\n"}) {
    const Result<double> r = value_from_hex(text);
    ASSERT_FALSE(r) << text;
    EXPECT_NE(r.error().find("expected a C hexadecimal float"), std::string::npos) << r.error();
  }
}

TEST(HexFloat, RefusesWhatADoubleCannotHold) {
  for (const char* text : {"0x1p+1024", "0x1p-1075", "0x1.00000000000008p+0", "0x1.8p-1074", "0x1p+99999999999999999999",
                           "-0x1p-99999999999999999999", "0x123456789abcdef01", "0x1.00000000000000000000000001p+0"}) {
    const Result<double> r = value_from_hex(text);
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error(), in_quotes(text) + ", expected a number that f64 holds exactly");
  }
}

TEST(Decimal, TakesExactValuesOnly) {
  EXPECT_EQ(*value_from_decimal("0.5"), 0.5);
  EXPECT_EQ(*value_from_decimal("2.0"), 2);
  EXPECT_EQ(*value_from_decimal("1e22"), 1e22);
  EXPECT_EQ(*value_from_decimal("-12.5e-1"), -1.25);
  EXPECT_EQ(*value_from_decimal("0.0e5"), 0);
  EXPECT_EQ(*value_from_decimal("9007199254740992"), 0x1p53);
  EXPECT_TRUE(std::signbit(*value_from_decimal("-0")));
  for (const char* text : {"0.1", "1e23", "1e-5", "9007199254740993", "1e400", "1e-400", "5e-324", "0.30000000000000004"})
    EXPECT_FALSE(value_from_decimal(text)) << text;
}

RC_GTEST_PROP(DecimalProperty, ExactExpansionsAreTakenAndNothingBesideThem, ()) {
  const double v = *rc::gen::suchThat(testing::any_value(DType::kF64), [](double x) { return std::isfinite(x) && x != 0; });
  char text[2048];
  std::snprintf(text, sizeof text, "%.1080f", v);
  const Result<double> exact = value_from_decimal(text);
  RC_ASSERT(exact);
  RC_ASSERT(*exact == v);
  RC_ASSERT(!value_from_decimal(std::string(text) + "1"));
}

TEST(InQuotes, IsOneShortLineOfPrintableCharacters) {
  EXPECT_EQ(in_quotes("abc"), "\"abc\"");
  EXPECT_EQ(in_quotes("a\nb\xff\x1b[31m"), "\"a?b??[31m\"");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "\"" + std::string(60, 'x') + "...\"");
}

}  // namespace
}  // namespace normfuzz
