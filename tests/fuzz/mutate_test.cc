// Mutations are changes to the case, reach the places that bugs hide in, and are the same for the same seed.
#include "harness/recipe/mutate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/recipe/build_case.h"

namespace normfuzz::fuzzing {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(Mutate, APureFunctionOfItsArguments) {
  const Bytes a = random_bytes(1), b = random_bytes(2);
  EXPECT_NE(a, b);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(mutate(a, seed), mutate(a, seed));
    EXPECT_EQ(cross(a, b, seed), cross(a, b, seed));
    EXPECT_EQ(random_bytes(seed), random_bytes(seed));
  }
  EXPECT_NE(mutate(a, 1), mutate(a, 2));
}

TEST(Mutate, StaysAShortRecipe) {
  Bytes bytes;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    bytes = mutate(bytes, seed);
    ASSERT_LE(bytes.size(), kMaxRecipeBytes);
    ASSERT_EQ(encode(decode(bytes)), bytes);
  }
  ASSERT_LE(cross(bytes, random_bytes(1), 1).size(), kMaxRecipeBytes);
}

TEST(Mutate, NearlyAlwaysChangesTheRecipe) {
  int same = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) same += mutate(random_bytes(seed), seed) == encode(decode(random_bytes(seed)));
  EXPECT_LT(same, 100);
}

TEST(Mutate, ReachesRareShapesAndEdits) {
  int tails = 0, very_tall = 0, no_weight = 0, beside = 0, planted = 0, moved = 0;
  const Bytes start = random_bytes(3);
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Recipe r = decode(mutate(start, seed));
    tails += r.cols >> 8 == 254;
    very_tall += r.rows >> 8 == 255;
    no_weight += (r.absent & 3) == kNoWeight;
    beside += r.epsilon_form >= 240;
    for (const Edit& e : r.edits) {
      planted += e.kind == EditKind::kPlant;
      moved += e.kind == EditKind::kMean && e.place == kAllRows;
    }
  }
  for (const int count : {tails, very_tall, no_weight, beside, planted, moved}) EXPECT_GT(count, 10);
}

TEST(Cross, TakesEveryFieldFromAParent) {
  Recipe p, q;
  p.op = p.dtype = p.regime = 1;
  p.cols = p.rows = p.geometry = p.call = 1;
  q.op = q.dtype = q.regime = 2;
  q.cols = q.rows = q.geometry = q.call = 2;
  q.edits = {{EditKind::kScale, 0, 1}};
  int from_p = 0, with_edit = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Recipe r = decode(cross(encode(p), encode(q), seed));
    for (const int field : {int{r.op}, int{r.dtype}, int{r.regime}, int{r.cols}, int{r.rows}, int{r.geometry}, int{r.call}}) {
      ASSERT_TRUE(field == 1 || field == 2);
      from_p += field == 1;
    }
    with_edit += !r.edits.empty();
  }
  EXPECT_GT(from_p, 250);
  EXPECT_LT(from_p, 450);
  EXPECT_GT(with_edit, 20);
  EXPECT_LT(with_edit, 95);
}

}  // namespace
}  // namespace normfuzz::fuzzing
