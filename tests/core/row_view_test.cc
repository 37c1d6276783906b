#include "core/row_view.h"

#include <gtest/gtest.h>

#include <set>

namespace normfuzz {
namespace {

// Every view must visit each element once: a bijection from (row, col) to the logical indices.
void expect_covers(const RowView& view, std::int64_t size) {
  std::set<std::int64_t> seen;
  for (std::int64_t row = 0; row < view.rows(); ++row)
    for (std::int64_t col = 0; col < view.cols(); ++col) seen.insert(view.index(row, col));
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), size);
  EXPECT_EQ(view.rows() * view.cols(), size);
  EXPECT_EQ(*seen.begin(), 0);
  EXPECT_EQ(*seen.rbegin(), size - 1);
}

TEST(RowView, TrailingDimensionsAreContiguousRows) {
  const RowView view({{2, 12}}, {{3, 4}, {4, 1}});
  EXPECT_EQ(view.rows(), 2);
  EXPECT_EQ(view.cols(), 12);
  EXPECT_TRUE(view.contiguous());
  EXPECT_EQ(view.index(1, 5), 17);
  expect_covers(view, 24);
}

TEST(RowView, ParametersAreTheInnerIndexOrTheChannels) {
  const RowView trailing({{2, 12}}, {{3, 4, 4}, {4, 1, 1}});
  EXPECT_TRUE(trailing.parameter_by_column());
  EXPECT_EQ(trailing.parameters(), 12);
  EXPECT_EQ(trailing.parameter(1, 5), 5);
  // [2, 6, 5] in 3 groups of 2 channels: rows (n, group), columns (member, position).
  const RowView groups({{2, 30}, {3, 10, 2}}, {{2, 5, 1}, {5, 1}});
  EXPECT_FALSE(groups.parameter_by_column());
  EXPECT_EQ(groups.parameters(), 6);
  EXPECT_EQ(groups.parameter(4, 7), 3);  // second sample, group 1, member 1
  EXPECT_EQ(groups.index(4, 7), 30 + 10 + 5 + 2);
  expect_covers(groups, 60);
  // Without channels there are no weights.
  EXPECT_EQ(RowView({{2, 0}, {1, 0, 0}}, {{0, 1, 1}}).parameters(), 0);
}

TEST(RowView, ChannelsAtOnePositionAreStrided) {
  // Shape [2, 3, 4] (n, c, w): a row is the three channels at one (n, w).
  const RowView view({{2, 12}, {4, 1}}, {{3, 4}});
  EXPECT_EQ(view.rows(), 8);
  EXPECT_EQ(view.cols(), 3);
  EXPECT_FALSE(view.contiguous());
  EXPECT_EQ(view.index(5, 2), 12 + 1 + 8);
  expect_covers(view, 24);
}

TEST(RowView, ChannelOverTheBatchHasSplitInnerAxes) {
  const RowView view({{3, 4}}, {{2, 12}, {4, 1}});
  EXPECT_FALSE(view.contiguous());
  EXPECT_EQ(view.index(2, 5), 8 + 12 + 1);
  expect_covers(view, 24);
}

TEST(RowView, NoOuterAxisIsOneRowAndAxesOfExtentOneDoNotMatter) {
  EXPECT_EQ(RowView({}, {{5, 1}}).rows(), 1);
  EXPECT_TRUE(RowView({{2, 5}}, {{1, 77}, {5, 1}}).contiguous());
  EXPECT_EQ(RowView({{7, 1}}, {}).cols(), 1);
}

}  // namespace
}  // namespace normfuzz
