#include "harness/error_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracles/case_rows.h"
#include "tests/harness/sample_campaign.h"

namespace normfuzz {
namespace {

using testing::Draw;
using testing::sample_case;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(QuarterOctave, EveryNumberFallsIntoTheBucketAroundIt) {
  Draw draw(1);
  for (int i = 0; i < 2000; ++i) {
    const double v = std::ldexp(1 + draw.fraction(), static_cast<int>(draw.below(2000)) - 1000);
    const double middle = middle_of_quarter_octave(quarter_octave(v));
    EXPECT_LE(std::fabs(v - middle), std::ldexp(1.0, std::ilogb(v) - 3)) << v;
    EXPECT_LE(quarter_octave(v), quarter_octave(std::nextafter(v, kInfinity))) << v;
  }
  EXPECT_EQ(quarter_octave(1), 0);
  EXPECT_EQ(quarter_octave(1.75), 3);
  EXPECT_EQ(quarter_octave(0.875), -1);
  EXPECT_EQ(middle_of_quarter_octave(quarter_octave(0)), 0);
  EXPECT_EQ(middle_of_quarter_octave(quarter_octave(kInfinity)), kInfinity);
}

Case case_of(const std::vector<double>& row, std::int64_t rows, DType dtype = DType::kF32) {
  Case c;
  c.op = "rms_norm";
  c.params["epsilon"] = 0x1p-10;
  const auto cols = static_cast<std::int64_t>(row.size());
  Tensor x = Tensor::zeros(dtype, {rows, cols});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, row[static_cast<std::size_t>(i % cols)]);
  c.set_input("x", x);
  c.set_input("weight", std::nullopt);
  return c;
}

CaseClass classify(const Case& c) { return class_of(c, CaseRows(c)); }

TEST(CaseClass, WidthTellsPowersOfTwoFromTheRest) {
  const auto width = [](std::size_t cols) { return classify(case_of(std::vector<double>(cols, 1), 1)).width; };
  EXPECT_EQ(width(1), 0);
  EXPECT_EQ(width(2), 2);
  EXPECT_EQ(width(3), 3);
  EXPECT_EQ(width(4), 4);
  EXPECT_EQ(width(7), 5);
  EXPECT_EQ(width(64), 12);
  EXPECT_EQ(width(65), 13);
  EXPECT_FALSE(classify(case_of({1}, 1)).several_rows);
  EXPECT_TRUE(classify(case_of({1}, 2)).several_rows);
}

TEST(CaseClass, ScaleIsThatOfTheLargestMagnitude) {
  const auto scale = [](std::vector<double> row, DType dtype) { return classify(case_of(row, 1, dtype)).scale; };
  EXPECT_EQ(scale({1, -0x1p+20, 3}, DType::kF32), 2);
  EXPECT_EQ(scale({0x1p-1}, DType::kF32), -1);
  EXPECT_EQ(scale({0x1p-8}, DType::kF32), -1);
  EXPECT_EQ(scale({0x1.8p-9}, DType::kF32), -2);
  EXPECT_EQ(scale({0x1p-24}, DType::kF16), -12);
  EXPECT_EQ(scale({0x1p+1000}, DType::kF64), 31);
  EXPECT_EQ(scale({0, -0.0}, DType::kF32), kBucketOfZero);
  EXPECT_EQ(scale({1, std::nan(""), 2}, DType::kF32), kBucketOfInfinity);
  EXPECT_EQ(scale({1, -kInfinity}, DType::kF32), kBucketOfInfinity);
  std::vector<double> long_row(700, 1);
  long_row[650] = 0x1p+9;  // beyond the first chunk
  EXPECT_EQ(scale(long_row, DType::kF32), 1);
}

TEST(ErrorMap, KeepsTheWorstOfEachRegimeAndTheSpreadOverEachClass) {
  const Case c = sample_case(1, DType::kF32, "gaussian");
  Judgement j;
  j.worst_ratio = 0.5;
  j.worst_ulps = 4;
  ErrorMap map;
  map.note(c, {3, false, -2}, j);
  j.worst_ratio = 0.25;
  j.worst_ulps = 16;
  map.note(c, {5, false, -2}, j);
  EXPECT_EQ(map.kept.at("gaussian"), (ErrorMap::Point{-4, 8}));
  j.worst_ulps = 0.7;
  map.note(c, {5, false, -2}, j);
  EXPECT_EQ(map.by_width, (ErrorMap::Spread{{3, {{2, 1}}}, {5, {{4, 1}, {-1, 1}}}}));
  EXPECT_EQ(map.by_scale, (ErrorMap::Spread{{-2, {{2, 1}, {4, 1}, {-1, 1}}}}));
  EXPECT_TRUE(map.broken.empty());
  ErrorMap nothing;
  nothing.note(c, {3, false, -2}, Judgement{});
  EXPECT_EQ(nothing, ErrorMap{});
}

TEST(ErrorMap, AViolationIsShownByItsWorstElement) {
  const Case c = sample_case(1, DType::kF32, "near_max");
  Judgement j;
  j.verdict = Verdict::kContract;
  j.evidence = {{"y", 0, 3, 1, 0.5, 8, ElementVerdict::kViolation}, {"y", 1, 3, 1, 1, 4, ElementVerdict::kViolation}};
  ErrorMap map;
  map.note(c, {}, j);
  EXPECT_EQ(map.broken.at("near_max"), (ErrorMap::Point{8, 12}));
  j.evidence = {{"y", 0, kInfinity, 1, 0.5, kInfinity, ElementVerdict::kViolation}};
  map.note(c, {}, j);
  EXPECT_EQ(map.broken.at("near_max"), (ErrorMap::Point{kBucketOfInfinity, kBucketOfInfinity}));
  j.evidence = {{"y", 0, 3, 1, 0, 8, ElementVerdict::kViolation}};  // a law allows nothing
  ErrorMap law;
  law.note(c, {}, j);
  EXPECT_EQ(law.broken.at("near_max"), (ErrorMap::Point{kBucketOfInfinity, 12}));
  j.verdict = Verdict::kRangeLimit;  // no violation
  ErrorMap limit;
  limit.note(c, {}, j);
  EXPECT_EQ(limit, ErrorMap{});
}

TEST(Coverage, CountsGeneratedCases) {
  Tally t;
  t.note_coverage(sample_case(1, DType::kF32, "gaussian"), {6, true, 0});
  t.note_coverage(sample_case(2, DType::kF16, "gaussian"), {7, true, 5});
  t.note_coverage(sample_case(3, DType::kF16, "gaussian"), {7, false, 5});
  EXPECT_EQ(t.coverage, (std::map<CoverageKey, std::int64_t>{{{"gaussian", 3, true}, 2}, {{"gaussian", 3, false}, 1}}));
}

}  // namespace
}  // namespace normfuzz
