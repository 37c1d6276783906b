#include "reports/grades.h"

#include <gtest/gtest.h>

#include "tests/reports/sample_report.h"

namespace normfuzz::testing {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Grades, AGradePerOpAndTypeThenTheLaws) {
  CampaignReport r = sample_report();
  const std::string page = grades_markdown(r, "normfuzz grade --targets cpu");
  EXPECT_TRUE(contains(page, "\n    normfuzz grade --targets cpu\n")) << page;
  EXPECT_TRUE(contains(page, "| op | f32 | f16 |\n|---|---|---|\n| layer_norm | f64_accumulate | - |\n")) << page;  // `faithful` was broken
  EXPECT_TRUE(contains(page, "- constant row -> bias: no: layer_norm f32 2 of 7\n")) << page;
  EXPECT_TRUE(contains(page, "- equal rows -> equal bits: yes\n")) << page;
  EXPECT_TRUE(contains(page, "## Not available\n")) << page;
}

TEST(Grades, WhatATargetSaysIsText) {
  CampaignReport r = sample_report();
  r.targets.push_back({"odd", "1.0 | <b>@somebody\n# x", ""});
  const std::string page = grades_markdown(r, "normfuzz grade");
  EXPECT_FALSE(contains(page, "<b>"));
  EXPECT_FALSE(contains(page, "\n# x"));
}

}  // namespace
}  // namespace normfuzz::testing
