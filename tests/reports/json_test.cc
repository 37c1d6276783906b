// The objects of --json, read by a parser that is not the one that wrote them.
#include "reports/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/case_io.h"
#include "core/json_document.h"
#include "tests/reports/sample_report.h"

namespace normfuzz {
namespace {

using testing::sample_report;

// `path` of member names and array positions; the value's text: "7", "0.375", "x", "null", "true", "[3]", "{3}".
std::string at(const std::string& json, std::initializer_list<std::string> path) {
  const auto document = JsonDocument::parse(json, "test");
  if (!document) return document.error();
  JsonValue v = document->root();
  for (const std::string& step : path) {
    if (v.kind() == JsonKind::kArray) {
      const std::int64_t wanted = std::stoll(step);
      if (wanted >= v.count()) return "missing " + step;
      JsonValue element = v.first();
      for (std::int64_t i = 0; i < wanted; ++i) element = element.next();
      v = element;
    } else {
      const auto member = v.kind() == JsonKind::kObject ? v.find(step) : std::nullopt;
      if (!member) return "missing " + step;
      v = *member;
    }
  }
  switch (v.kind()) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBoolean:
      return v.integer() ? "true" : "false";
    case JsonKind::kInteger:
      return std::to_string(v.integer());
    case JsonKind::kUnsigned:
      return std::to_string(v.unsigned_integer());
    case JsonKind::kArray:
      return "[" + std::to_string(v.count()) + "]";
    case JsonKind::kObject:
      return "{" + std::to_string(v.count()) + "}";
    default:
      return std::string(v.text());
  }
}

TEST(RunJson, HasTheDocumentedFields) {
  const std::string json = run_json(sample_report());
  EXPECT_EQ(json.find('\n'), std::string::npos);
  EXPECT_EQ(at(json, {"cases"}), "5");
  EXPECT_EQ(at(json, {"certified"}), "1");
  EXPECT_EQ(at(json, {"seconds"}), "12.5");
  EXPECT_EQ(at(json, {"by_target"}), "[4]");
  EXPECT_EQ(at(json, {"by_target", "1", "target"}), "cpu");
  EXPECT_EQ(at(json, {"by_target", "0", "dtype"}), "f32");
  EXPECT_EQ(at(json, {"by_target", "0", "worst_ratio"}), "0.375");
  EXPECT_EQ(at(json, {"by_target", "0", "worst_ratio_case", "index"}), "3");
  EXPECT_EQ(at(json, {"by_target", "0", "grade"}), "f64_accumulate");
  EXPECT_EQ(at(json, {"by_target", "0", "laws", "constant_row", "broken"}), "2");
  EXPECT_EQ(at(json, {"by_target", "1", "rejected_reasons", "epsilon 0"}), "1");
  EXPECT_EQ(at(json, {"by_target", "3", "range_limit"}), "1");
  EXPECT_EQ(at(json, {"findings"}), "[2]");
  for (const auto& [field, value] : std::map<std::string, std::string>{{"slug", "mutants-f32-standard"},
                                                                       {"target", "mutants"},
                                                                       {"op", "layer_norm"},
                                                                       {"dtype", "f32"},
                                                                       {"verdict", "contract"},
                                                                       {"status", "new"},
                                                                       {"elements", "4"}})
    EXPECT_EQ(at(json, {"findings", "0", field}), value) << field;
  EXPECT_EQ(at(json, {"findings", "1", "status"}), "known");
  EXPECT_EQ(at(json, {"findings", "0", "evidence", "0", "got"}), "-0x0p+0");
  EXPECT_EQ(at(json, {"findings", "0", "evidence", "0", "allowed"}), "inf");
  EXPECT_EQ(at(json, {"findings", "0", "evidence", "1", "got"}), "nan");
  EXPECT_EQ(at(json, {"bounds", "0", "finite_share"}), "0.75");
  EXPECT_EQ(at(json, {"bounds", "0", "median_bound_ulps"}), "4.5");
  EXPECT_EQ(at(json, {"targets", "2", "skipped"}), "not set up, run ./normfuzz setup torch");
}

TEST(RunJson, KeepsWhatJsonCannotSay) {
  CampaignReport r = sample_report();
  r.seed = ~std::uint64_t{0};
  r.tally.entries.begin()->second.ulps.value = std::numeric_limits<double>::infinity();
  r.findings[0].explanation = "half a character: \xe2\x82";
  const std::string json = run_json(r);
  EXPECT_EQ(at(json, {"seed"}), "18446744073709551615");
  EXPECT_EQ(at(json, {"by_target", "0", "worst_ulps"}), "inf");
  EXPECT_EQ(at(json, {"findings", "0", "explanation"}), "half a character: \xef\xbf\xbd");
}

TEST(TargetsJson, ListsEachTarget) {
  const std::vector<TargetListing> targets = {{"cpu", "0.1.0", true, "", {"layer_norm", "rms_norm"}, {"f32"}, "two_pass"},
                                              {"torch", "", false, "not set up", {}, {}, ""}};
  const std::string json = targets_json(targets);
  EXPECT_EQ(at(json, {"targets"}), "[2]");
  EXPECT_EQ(at(json, {"targets", "0", "available"}), "true");
  EXPECT_EQ(at(json, {"targets", "0", "ops", "1"}), "rms_norm");
  EXPECT_EQ(at(json, {"targets", "0", "contract"}), "two_pass");
  EXPECT_EQ(at(json, {"targets", "1", "available"}), "false");
  EXPECT_EQ(at(json, {"targets", "1", "reason"}), "not set up");
  EXPECT_EQ(at(targets_json({}), {"targets"}), "[0]");
  EXPECT_EQ(at(targets_json(std::span(targets).first(1)), {"targets"}), "[1]");
}

TEST(OracleJson, DataIsHexadecimal) {
  Tensor y = Tensor::zeros(DType::kF16, {1, 3});
  y.set_value(0, 0.1);
  y.set_value(1, std::numeric_limits<double>::infinity());
  const std::string json = oracle_json({"layer_norm", "ieee", {{"y", y}}, {{"y", {"0.1", "inf", "0"}}}});
  EXPECT_EQ(at(json, {"expect", "y", "dtype"}), "f16");
  EXPECT_EQ(at(json, {"expect", "y", "shape", "1"}), "3");
  EXPECT_EQ(at(json, {"expect", "y", "data", "0"}), hex_from_value(y.value(0)));
  EXPECT_EQ(at(json, {"expect", "y", "data", "1"}), "inf");
  EXPECT_EQ(at(json, {"digits", "y", "0"}), "0.1");
  EXPECT_EQ(at(json, {"reading"}), "ieee");
}

TEST(CheckJson, VerdictAndElements) {
  CheckAnswer answer;
  answer.verdict = Verdict::kTheorem;
  answer.law = "ln.one_feature_forward";
  answer.elements = {{"y", 2, 0.5, 0.75, 0, std::numeric_limits<double>::infinity(), ElementVerdict::kViolation}};
  const std::string json = check_json(answer);
  EXPECT_EQ(at(json, {"verdict"}), "theorem");
  EXPECT_EQ(at(json, {"law"}), "ln.one_feature_forward");
  EXPECT_EQ(at(json, {"elements", "0", "index"}), "2");
  EXPECT_EQ(at(json, {"elements", "0", "got"}), "0x1p-1");
  EXPECT_EQ(at(json, {"elements", "0", "exact"}), "0x1.8p-1");
  EXPECT_EQ(at(json, {"elements", "0", "allowed"}), "0x0p+0");
  EXPECT_EQ(at(json, {"elements", "0", "ulps"}), "inf");
  EXPECT_EQ(at(check_json({}), {"elements"}), "[0]");
}

TEST(ReproJson, OneEntryPerTarget) {
  ReproAnswer crashed;
  crashed.target = "onednn:avx2";
  crashed.outcome = OutcomeKind::kCrashed;
  crashed.message = "killed by signal 11";
  crashed.check.verdict = Verdict::kCrashed;
  const std::vector<ReproAnswer> answers = {crashed};
  const std::string json = repro_json(answers);
  EXPECT_EQ(at(json, {"targets"}), "[1]");
  EXPECT_EQ(at(json, {"targets", "0", "target"}), "onednn:avx2");
  EXPECT_EQ(at(json, {"targets", "0", "outcome"}), "crashed");
  EXPECT_EQ(at(json, {"targets", "0", "verdict"}), "crashed");
  EXPECT_EQ(at(json, {"targets", "0", "elements"}), "[0]");
}

TEST(ListJson, NamesAndFields) {
  const std::vector<NamedLine> lines = {{"gaussian", {{"summary", "bell-shaped"}}}};
  EXPECT_EQ(at(list_json("regimes", lines), {"regimes", "0", "name"}), "gaussian");
  EXPECT_EQ(at(list_json("regimes", lines), {"regimes", "0", "summary"}), "bell-shaped");
  EXPECT_EQ(at(list_json("ops", {}), {"ops"}), "[0]");
}

}  // namespace
}  // namespace normfuzz
