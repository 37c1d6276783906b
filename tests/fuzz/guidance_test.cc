// Guidance notes what is new about a case and nothing about one it has seen.
#include "fuzz/guidance.h"

#include <gtest/gtest.h>

#include "fuzz/extra_counters.h"
#include "harness/recipe/build_case.h"

namespace normfuzz::fuzzing {
namespace {

Case case_of(const Recipe& r) { return build_case(*find_family("layer_norm"), r); }

std::size_t features_after(const Case& c) {
  note_case(c, traits_of(c));
  return features_set();
}

TEST(Guidance, TraitsOfACase) {
  Recipe r;
  r.dtype = 1;
  r.cols = 12;  // 13 columns
  const CaseTraits plain = traits_of(case_of(r));
  EXPECT_EQ(plain.cols_modulo, 5);
  EXPECT_EQ(plain.cancelled_bits, 0);
  r.edits = {{EditKind::kMean, kAllRows, 10}};
  const CaseTraits moved = traits_of(case_of(r));
  EXPECT_GE(moved.cancelled_bits, 10);  // 2^10 spreads, each more than a standard deviation
  EXPECT_LE(moved.cancelled_bits, 14);
  r.edits = {{EditKind::kConstant, kAllRows, 0}};
  EXPECT_EQ(traits_of(case_of(r)).cancelled_bits, 64);
  r.edits = {{EditKind::kPlant, kAllRows, 2}};
  EXPECT_EQ(traits_of(case_of(r)).specials & 1, 1);
  r.edits.clear();
  r.epsilon_form = 240;
  r.epsilon = 8;
  EXPECT_EQ(traits_of(case_of(r)).epsilon_beside, 8);
}

TEST(Guidance, ANewKindOfCaseSetsNewFeatures) {
  clear_features();
  EXPECT_EQ(features_set(), 0u);
  Recipe r;
  r.cols = 15;
  const std::size_t first = features_after(case_of(r));
  EXPECT_GT(first, 20u);
  EXPECT_EQ(features_after(case_of(r)), first);  // the same again is no news
  r.edits = {{EditKind::kMean, kAllRows, 12}};
  const std::size_t second = features_after(case_of(r));
  EXPECT_GT(second, first);
  r.cols = 31;
  EXPECT_GT(features_after(case_of(r)), second);
  clear_features();
}

TEST(Guidance, AWorseRatioIsNews) {
  clear_features();
  Recipe r;
  const Case c = case_of(r);
  const CaseTraits t = traits_of(c);
  Examination e;
  e.judgement.worst_ratio = 0.01;
  note_result(c, t, e);
  const std::size_t first = features_set();
  note_result(c, t, e);
  EXPECT_EQ(features_set(), first);
  e.judgement.worst_ratio = 0.02;
  note_result(c, t, e);
  EXPECT_GT(features_set(), first);
  clear_features();
}

}  // namespace
}  // namespace normfuzz::fuzzing
