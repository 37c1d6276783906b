#include "reports/escape.h"

#include <gtest/gtest.h>

#include "tests/reports/sample_report.h"

namespace normfuzz {
namespace {

const std::string kBroken = "\xef\xbf\xbd";

TEST(CleanText, KeepsWhatIsText) {
  for (const std::string text : {"", "plain", "tab\tline\n", "é ∞ 𝄞 \xef\xbf\xbd", "\xed\x9f\xbf\xee\x80\x80"})
    EXPECT_EQ(clean_text(text), text);
}

TEST(CleanText, ReplacesWhatIsNot) {
  for (const std::string text : {"\x01", "\x7f", "\xff", "\xc0", "\xf5", "\xc2\x85", "\xe2\x80\xae", "\xef\xbf\xbf", "\xef\xbf\xbe"})
    EXPECT_EQ(clean_text("a" + text + "b"), "a" + kBroken + "b") << text;
  EXPECT_EQ(clean_text(std::string_view("\0", 1)), kBroken);
  EXPECT_EQ(clean_text("\xe2\x82"), kBroken + kBroken);                // ends in half a character
  EXPECT_EQ(clean_text("\xe2\x82z"), kBroken + kBroken + "z");         // the next one is kept
  EXPECT_EQ(clean_text("\xed\xa0\x80"), kBroken + kBroken + kBroken);  // a surrogate
  EXPECT_EQ(clean_text("\xc0\xaf"), kBroken + kBroken);                // a longer form than needed
  EXPECT_EQ(clean_text("\xf0\x80\x80\x80"), kBroken + kBroken + kBroken + kBroken);
}

TEST(HtmlText, HasNoMarkup) {
  EXPECT_EQ(html_text("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(html_text("a\nb"), "a\nb");
  EXPECT_EQ(xml_attribute("a\n<\tb"), "a&#10;&lt;&#9;b");
  for (const char c : {'<', '>', '"', '\'', '\x01'}) EXPECT_EQ(html_text(testing::kHostile).find(c), std::string::npos) << c;
}

TEST(MarkdownText, IsOneLineWithoutMarkup) {
  const std::string text = markdown_text(testing::kHostile);
  for (const char c : {'<', '>', '|', '`', '*', '@', '\n', '\t', '"', '\\'}) EXPECT_EQ(text.find(c), std::string::npos) << c << text;
  EXPECT_EQ(text.find("://"), std::string::npos) << text;
  EXPECT_EQ(markdown_text("a_b #1"), "a&#95;b &#35;1");
}

TEST(UriPath, EncodesWhatALinkCannotHold) {
  EXPECT_EQ(uri_path("../out/bugzoo/a-b_c.d"), "../out/bugzoo/a-b_c.d");
  EXPECT_EQ(uri_path("a b\"<?#%\xff"), "a%20b%22%3C%3F%23%25%FF");
}

}  // namespace
}  // namespace normfuzz
