#include "cli/table.h"

#include <gtest/gtest.h>

namespace normfuzz {
namespace {

TEST(Table, ColumnsAndNumbers) {
  EXPECT_EQ(table({{"name", "n", ""}, {"a", "10", "x"}, {"long name", "7", ""}}, {1}),
            "name        n\n"
            "a          10  x\n"
            "long name   7\n");
  EXPECT_EQ(table({}), "");
}

TEST(Table, TheLastColumnWrapsUnderItself) {
  const std::string words(60, 'w');
  EXPECT_EQ(table({{"k", words + " " + words}}), "k  " + words + "\n   " + words + "\n");
  const std::string too_long(150, 'w');  // where there is room a word is never broken
  EXPECT_EQ(table({{"k", too_long}}), "k  " + too_long + "\n");
  const std::string wide(78, 'k'), blanks(80, ' ');
  EXPECT_EQ(table({{wide, std::string(25, 'w')}}), wide + "  " + std::string(20, 'w') + "\n" + blanks + std::string(5, 'w') + "\n");
}

TEST(Table, WrappedAndJoined) {
  EXPECT_EQ(wrapped("a b", 0), "a b");
  EXPECT_EQ(wrapped(std::string(50, 'a') + " " + std::string(49, 'b'), 0), std::string(50, 'a') + " " + std::string(49, 'b'));
  EXPECT_EQ(wrapped(std::string(50, 'a') + " " + std::string(50, 'b'), 0), std::string(50, 'a') + "\n" + std::string(50, 'b'));
  EXPECT_EQ(joined({"a", "b"}), "a, b");
  EXPECT_EQ(joined({}), "");
}

}  // namespace
}  // namespace normfuzz
