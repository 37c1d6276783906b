#include "reports/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "tests/reports/sample_report.h"

namespace normfuzz {
namespace {

using testing::sample_report;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The line that begins with these words, spaces folded; empty: there is none.
std::string line_with(const std::string& text, const std::string& beginning) {
  for (const std::string& line : lines_of(text)) {
    std::istringstream in(line);
    std::string folded;
    for (std::string word; in >> word;) folded += (folded.empty() ? "" : " ") + word;
    if (folded.starts_with(beginning)) return folded;
  }
  return "";
}

std::string without_colours(std::string text) {
  for (std::size_t at; (at = text.find('\x1b')) != std::string::npos;) text.erase(at, text.find('m', at) - at + 1);
  return text;
}

TEST(CampaignText, FitsTheTerminal) {
  CampaignReport r = sample_report();
  // The widest names and counts there are.
  OpTally& wide = r.tally.entries[{"onnxruntime:with_a_long_variant_name", "channel_layer_norm_backward", DType::kBF16}];
  wide.verdicts.fill(123'456'789'012);
  wide.ratio = {1e300, {}};
  wide.ulps = {std::numeric_limits<double>::infinity(), {}};
  wide.ladder_cases = 1;
  for (const char* rung : {"faithful", "f64_accumulate", "robust", "two_pass", "standard", "one_pass"}) wide.broken_rungs[rung].count = 1;
  for (const std::string& line : lines_of(campaign_text(r, false))) EXPECT_LE(line.size(), kReportColumns) << line;
  r.tally.entries[{"onnxruntime:with_a_long_variant_name", "channel_layer_norm_backward", DType::kF32}] = wide;
  const std::string text = campaign_text(r, false);
  EXPECT_EQ(line_with(text, "channel_layer_norm_backward"), "channel_layer_norm_backward");  // once, above its dtypes
  EXPECT_EQ(text.find("channel_layer_norm_backward"), text.rfind("channel_layer_norm_backward"));
  for (const char* dtype : {"bf16 ", "f32 "}) EXPECT_NE(line_with(text, dtype).find("native_accumulate"), std::string::npos) << dtype;
}

TEST(CampaignText, ColoursOnlyWhereAsked) {
  const CampaignReport r = sample_report();
  const std::string plain = campaign_text(r, false), coloured = campaign_text(r, true);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(coloured, plain);
  EXPECT_EQ(without_colours(coloured), plain);
}

TEST(CampaignText, TableSaysWhatWasCounted) {
  const std::string text = campaign_text(sample_report(), false);
  EXPECT_EQ(line_with(text, "cpu"), "cpu normfuzz 0.1.0");
  EXPECT_EQ(line_with(text, "op type"), "op type cases certified viol. open/range unsup. ratio ulps grade");
  EXPECT_EQ(line_with(text, "layer_norm f32"), "layer_norm f32 1 1 0 0/0 0 0.375 1.500 f64_accumulate");
  EXPECT_EQ(line_with(text, "layer_norm f16"), "layer_norm f16 1 0 0 0/0 1 - - -");
  const std::string mutants = text.substr(text.find("mutants:one_pass 0.1.0"));
  EXPECT_EQ(line_with(mutants, "layer_norm f32"), "layer_norm f32 1 0 1 0/0 0 0.375 1.500 -");
  EXPECT_EQ(line_with(mutants, "layer_norm f16"), "layer_norm f16 2 0 0 0/1 1 0.375 1.500 -");
  EXPECT_TRUE(line_with(text, "unsupported: layer_norm f16 (1): float16 needs a processor").size() > 0) << text;
  EXPECT_EQ(line_with(text, "rejected:"), "rejected: layer_norm f16 (1): epsilon 0");
}

TEST(CampaignText, FindingsLawsBoundsAndTheEnd) {
  const std::string text = campaign_text(sample_report(), false);
  EXPECT_EQ(line_with(text, "mutants-f32-standard"), "mutants-f32-standard");
  EXPECT_EQ(line_with(text, "contract (new)"), "contract (new): needs a mean offset; consistent with one-pass variance");
  EXPECT_EQ(line_with(text, "range_limit (known)"), "range_limit (known): needs a mean offset; consistent with one-pass variance");
  EXPECT_EQ(line_with(text, "mutants layer_norm"), "mutants layer_norm f32:one_pass, 4 cases, first: seed 7 index 3 (gaussian)");
  EXPECT_EQ(line_with(text, "out/bugzoo"), "out/bugzoo/mutants-f32-standard");
  EXPECT_NE(text.find("constant row -> bias\n   cpu layer_norm: f32 no (2 of 7 rows broken)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("equal rows -> equal bits\n   cpu layer_norm: f32 yes\n"), std::string::npos) << text;
  EXPECT_EQ(line_with(text, "layer_norm standard ordinary"), "layer_norm standard ordinary: f32 75.00 % 4.500");
  EXPECT_NE(text.find("12 rows, 48 elements (12 with an infinite bound); the filter certified 75.0 % of the rows"), std::string::npos)
      << text;
  EXPECT_NE(text.find("5 cases in 12.5 s, seed 7: 1 certified, 1 violations; 2 findings, 1 new\n"), std::string::npos) << text;
  EXPECT_EQ(lines_of(text).back(), "skipped: torch (not set up, run ./normfuzz setup torch)");
}

TEST(CampaignText, SaysWhenInterruptedOrSharded) {
  CampaignReport r = sample_report();
  r.interrupted = true;
  r.shard = 2;
  r.shards = 5;
  const std::string text = campaign_text(r, false);
  EXPECT_NE(text.find("interrupted, everything saved: 5 cases"), std::string::npos) << text;
  EXPECT_NE(text.find("shard 2/5"), std::string::npos) << text;
}

TEST(CampaignText, WhatBecameOfEarlierEntries) {
  CampaignReport r = sample_report();
  r.findings.back().status_note = "waiver 'w': a reason (source)";
  r.announcements = {{"slug-a", "cpu", EntryState::kKnown, "reproduces on cpu 1.0"},
                     {"slug-b", "cpu", EntryState::kFixed, "no longer reproduces on cpu 1.0"},
                     {"slug-c", "cpu", EntryState::kNotApplicable, "does not run: this processor has no avx2"},
                     {"slug-d", "cpu", EntryState::kNew, "is back on cpu 1.0, and no waiver names it"}};
  const std::string text = campaign_text(r, false);
  EXPECT_EQ(line_with(text, "waiver 'w'"), "waiver 'w': a reason (source)");
  EXPECT_NE(text.find("entries of earlier runs\n"
                      " new: slug-d is back on cpu 1.0, and no waiver names it\n"
                      " fixed: slug-b no longer reproduces on cpu 1.0\n"
                      " not applicable: slug-c does not run: this processor has no avx2\n"
                      " known: 1 more that still reproduce\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2 findings, 1 new; of earlier runs 1 new, 1\n    fixed\n"), std::string::npos) << text;
}

TEST(CampaignText, OfAnEmptyCampaign) {
  CampaignReport r;
  r.seed = 1;
  EXPECT_EQ(campaign_text(r, false), "0 cases in 0.0 s, seed 1: 0 certified, 0 violations; 0 findings, 0 new\n");
}

TEST(ElementsText, ShowsBitsAndDecimals) {
  const std::vector<ElementEvidence> elements = {{"y", 2, 0.5, 0.75, 0x1p-20, 3, ElementVerdict::kViolation},
                                                 {"y", 3, std::numeric_limits<double>::quiet_NaN(), 1, 1, 0, ElementVerdict::kWithin}};
  const std::string text = elements_text(elements, 1, false);
  EXPECT_NE(text.find("y[2]     got   0x1p-1 (0.5)"), std::string::npos) << text;
  EXPECT_NE(text.find("exact 0x1.8p-1 (0.75)"), std::string::npos) << text;
  EXPECT_NE(text.find("error 3.000 ulps, allowed 0x1p-20 (9.53674316e-07)"), std::string::npos) << text;
  EXPECT_NE(text.find("and 1 more elements"), std::string::npos) << text;
  EXPECT_NE(elements_text(elements, 2, false).find("got   nan"), std::string::npos);
  EXPECT_EQ(without_colours(elements_text(elements, 2, true)), elements_text(elements, 2, false));
}

}  // namespace
}  // namespace normfuzz
