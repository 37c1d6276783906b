#include "core/json_document.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/generators.h"

namespace normfuzz {
namespace {

std::string error_of(std::string_view text) {
  const Result<JsonDocument> r = JsonDocument::parse(text, "f");
  return r ? "" : r.error();
}

TEST(JsonDocument, KeepsEveryKindOfValue) {
  const Result<JsonDocument> d = JsonDocument::parse(R"({"a":[null,true,-3,18446744073709551615,1.50,"x\u00e9",[]],"":{"b":{}}})", "f");
  ASSERT_TRUE(d) << d.error();
  const JsonValue root = d->root();
  ASSERT_EQ(root.kind(), JsonKind::kObject);
  EXPECT_EQ(root.count(), 2);
  JsonValue v = root.find("a")->first();
  EXPECT_EQ(v.kind(), JsonKind::kNull);
  v = v.next();
  EXPECT_EQ(v.kind(), JsonKind::kBoolean);
  v = v.next();
  EXPECT_EQ(v.integer(), -3);
  v = v.next();
  EXPECT_EQ(v.kind(), JsonKind::kUnsigned);
  EXPECT_EQ(v.unsigned_integer(), ~std::uint64_t{0});
  v = v.next();
  EXPECT_EQ(v.text(), "1.50");
  v = v.next();
  EXPECT_EQ(v.text(), "x\xc3\xa9");
  v = v.next();
  EXPECT_EQ(v.count(), 0);
  EXPECT_EQ(root.find("")->find("b")->kind(), JsonKind::kObject);
  EXPECT_FALSE(root.find("c"));
}

TEST(JsonDocument, IntegersNeverBecomeDoubles) {
  const Result<JsonDocument> d = JsonDocument::parse(
      "[9223372036854775807,-9223372036854775808,9223372036854775808,18446744073709551616,-9223372036854775809,-0,0]", "f");
  ASSERT_TRUE(d);
  JsonValue v = d->root().first();
  EXPECT_EQ(v.integer(), INT64_MAX);
  v = v.next();
  EXPECT_EQ(v.integer(), INT64_MIN);
  v = v.next();
  EXPECT_EQ(v.kind(), JsonKind::kUnsigned);
  v = v.next();
  EXPECT_EQ(v.text(), "18446744073709551616");
  v = v.next();
  EXPECT_EQ(v.text(), "-9223372036854775809");
  v = v.next();
  EXPECT_EQ(v.kind(), JsonKind::kDecimal);
  EXPECT_EQ(v.text(), "-0");
  v = v.next();
  EXPECT_EQ(v.kind(), JsonKind::kInteger);
}

TEST(JsonDocument, RefusesRepeatedNamesAtAnyDepth) {
  EXPECT_EQ(error_of(R"({"a":1,"b":2,"a":3})"), "f: document: field \"a\" twice in one object, expected once");
  EXPECT_EQ(error_of(R"([{"k":{"a":1,"\u0061":2}}])"), "f: document: field \"a\" twice in one object, expected once");
  EXPECT_EQ(error_of(R"([{"a":1},{"a":1}])"), "");
}

TEST(JsonDocument, RefusesDepthWithoutUsingTheStack) {
  EXPECT_EQ(error_of(std::string(10'000'000, '[')), "f: document: nesting deeper than 32, expected less");
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(error_of(objects), "f: document: nesting deeper than 32, expected less");
  EXPECT_EQ(error_of(std::string(32, '[') + std::string(32, ']')), "");
}

TEST(JsonDocument, RefusesMoreValuesThanAnyCaseHas) {
  std::string text = "[0";
  for (int i = 0; i < 1 << 23; ++i) text += ",0";
  EXPECT_EQ(error_of(text + "]"), "f: document: more than 8388608 values, expected fewer");
}

TEST(JsonDocument, RefusesWhatIsNotJsonInOneLine) {
  for (const char* text :
       {"",     " \n",   "{",          "[1,]",  "{\"a\":1", "nul",        "[1] 2",    "{'a':1}",   "[01]",          "[+1]",   "[.5]",
        "[1.]", "[NaN]", "[Infinity]", "[0x1]", "// c\n1",  "[\"\xff\"]", "[\"\n\"]", "[\"\\x\"]", "[\"\\ud800\"]", "[1e999]"}) {
    const std::string error = error_of(text);
    EXPECT_TRUE(error.starts_with("f: document: ")) << text << ": " << error;
    EXPECT_NE(error.find("expected"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

// Every prefix of a valid text is refused: a truncated file is never half-read.
TEST(JsonDocument, RefusesEveryTruncation) {
  const std::string text = R"({"a":[1,"x",{"b":null}],"c":-1.5e3})";
  ASSERT_EQ(error_of(text), "");
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_NE(error_of(text.substr(0, n)), "") << n;
}

RC_GTEST_PROP(JsonString, AnyBytesGiveATextThatIsRead, (const std::string& bytes)) {
  std::string literal;
  append_json_string(literal, bytes);
  const Result<JsonDocument> d = JsonDocument::parse(literal, "f");
  RC_ASSERT(d);
  RC_ASSERT(d->root().kind() == JsonKind::kString);
}

RC_GTEST_PROP(JsonString, PlainTextComesBack, ()) {
  const std::string text = *testing::any_text() + "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  std::string literal;
  append_json_string(literal, text);
  RC_ASSERT(JsonDocument::parse(literal, "f")->root().text() == text);
}

TEST(JsonString, BytesThatAreNotUtf8AreReplaced) {
  std::string literal;
  append_json_string(literal, "a\xff\xc0\x80\xed\xa0\x80z");  // a stray byte, an overlong form, a surrogate
  EXPECT_EQ(literal, R"("a\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdz")");
}

}  // namespace
}  // namespace normfuzz
