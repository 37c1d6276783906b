// The required properties of SARIF 2.1.0 (OASIS, sections 3.13 to 3.52), asserted on what another parser reads.
#include <gtest/gtest.h>

#include <set>

#include "core/json_document.h"
#include "reports/formats.h"
#include "tests/json_elements.h"
#include "tests/reports/sample_report.h"

namespace normfuzz {
extern const ReportFormat kSarif;
namespace {

using testing::each;

JsonDocument parsed(const std::string& text) {
  auto document = JsonDocument::parse(text, "sarif");
  EXPECT_TRUE(document) << document.error();
  return document ? std::move(*document) : *JsonDocument::parse("{}", "empty");
}

// Members along a path; array elements by their position.
std::optional<JsonValue> find(JsonValue v, std::initializer_list<std::string> path) {
  for (const std::string& step : path) {
    if (v.kind() == JsonKind::kArray) {
      const std::int64_t wanted = std::stoll(step);
      if (wanted >= v.count()) return std::nullopt;
      JsonValue element = v.first();
      for (std::int64_t i = 0; i < wanted; ++i) element = element.next();
      v = element;
    } else {
      const auto member = v.kind() == JsonKind::kObject ? v.find(step) : std::nullopt;
      if (!member) return std::nullopt;
      v = *member;
    }
  }
  return v;
}

std::string text(const JsonValue& v, std::initializer_list<std::string> path) {
  const auto found = find(v, path);
  return found && found->kind() == JsonKind::kString ? std::string(found->text()) : "missing";
}

bool has_text(const JsonValue& v, std::initializer_list<std::string> path) {
  const std::string found = text(v, path);
  return !found.empty() && found != "missing";
}

void check_rule(const JsonValue& rule) {
  EXPECT_TRUE(has_text(rule, {"id"}));
  EXPECT_TRUE(has_text(rule, {"name"}));
  for (const char* part : {"shortDescription", "fullDescription", "help"}) EXPECT_TRUE(has_text(rule, {part, "text"})) << part;
  EXPECT_TRUE(has_text(rule, {"help", "markdown"}));
  EXPECT_TRUE((std::set<std::string>{"error", "note"}.contains(text(rule, {"defaultConfiguration", "level"}))));
  EXPECT_TRUE(find(rule, {"properties", "tags", "0"}));
}

void check_result(const JsonValue& result, const JsonValue& rules) {
  EXPECT_TRUE(has_text(result, {"message", "text"}));
  EXPECT_TRUE((std::set<std::string>{"error", "warning", "note"}.contains(text(result, {"level"}))));
  const auto index = find(result, {"ruleIndex"});
  ASSERT_TRUE(index && index->kind() == JsonKind::kInteger);
  EXPECT_EQ(text(rules, {std::to_string(index->integer()), "id"}), text(result, {"ruleId"}));
  const std::string uri = text(result, {"locations", "0", "physicalLocation", "artifactLocation", "uri"});
  EXPECT_TRUE(uri.ends_with("/case.json") && uri.find(' ') == std::string::npos && uri.find('<') == std::string::npos) << uri;
  EXPECT_EQ(find(result, {"locations", "0", "physicalLocation", "region", "startLine"})->integer(), 1);
  EXPECT_EQ(text(result, {"partialFingerprints", "normfuzzSignature/v1"}).size(), 16U);
  EXPECT_GE(find(result, {"occurrenceCount"})->integer(), 1);
}

void check(const JsonValue& root) {
  EXPECT_EQ(text(root, {"version"}), "2.1.0");
  EXPECT_TRUE(text(root, {"$schema"}).ends_with("sarif-2.1.0.json"));
  const auto runs = find(root, {"runs"});
  ASSERT_TRUE(runs && runs->kind() == JsonKind::kArray && runs->count() == 1);
  EXPECT_EQ(text(root, {"runs", "0", "tool", "driver", "name"}), "normfuzz");
  EXPECT_TRUE(has_text(root, {"runs", "0", "tool", "driver", "version"}));
  const auto rules = find(root, {"runs", "0", "tool", "driver", "rules"}), results = find(root, {"runs", "0", "results"});
  ASSERT_TRUE(rules && results && rules->kind() == JsonKind::kArray && results->kind() == JsonKind::kArray);
  std::set<std::string> ids;
  each(*rules, [&](const JsonValue& rule) {
    check_rule(rule);
    EXPECT_TRUE(ids.insert(text(rule, {"id"})).second) << "twice: " << text(rule, {"id"});
  });
  each(*results, [&](const JsonValue& result) { check_result(result, *rules); });
  EXPECT_EQ(find(root, {"runs", "0", "invocations", "0", "executionSuccessful"})->kind(), JsonKind::kBoolean);
}

TEST(Sarif, HasWhatTheStandardRequires) {
  const JsonDocument document = parsed(kSarif.write(testing::sample_report(), "../bugzoo"));
  check(document.root());
  const JsonValue run = *find(document.root(), {"runs", "0"});
  EXPECT_EQ(text(run, {"tool", "driver", "rules", "0", "id"}), "contract.standard");
  EXPECT_EQ(text(run, {"tool", "driver", "rules", "0", "name"}), "ContractStandard");
  EXPECT_EQ(text(run, {"results", "0", "level"}), "error");
  EXPECT_EQ(text(run, {"results", "0", "message", "text"}), "mutants:one_pass layer_norm f32: needs a mean offset");
  EXPECT_EQ(text(run, {"results", "0", "locations", "0", "physicalLocation", "artifactLocation", "uri"}),
            "out/bugzoo/mutants-f32-standard/case.json");
  EXPECT_FALSE(find(run, {"results", "0", "suppressions"}));
  EXPECT_FALSE(find(run, {"results", "0", "baselineState"}));
  EXPECT_EQ(text(run, {"results", "1", "level"}), "note");
  EXPECT_EQ(text(run, {"results", "1", "suppressions", "0", "status"}), "accepted");
  EXPECT_EQ(text(run, {"invocations", "0", "toolExecutionNotifications", "0", "message", "text"}),
            "target torch skipped: not set up, run ./normfuzz setup torch");
}

TEST(Sarif, AbsoluteDirectoriesBecomeRelativeToTheFile) {
  CampaignReport r = testing::sample_report();
  r.out_directory = "/somewhere/out";
  const JsonDocument document = parsed(kSarif.write(r, "../bugzoo"));
  EXPECT_EQ(text(document.root(), {"runs", "0", "results", "0", "locations", "0", "physicalLocation", "artifactLocation", "uri"}),
            "../bugzoo/mutants-f32-standard/case.json");
}

TEST(Sarif, StatesFollowThePreviousCampaign) {
  CampaignReport r = testing::sample_report();
  Finding gone = r.findings[0];
  gone.needs = {"epsilon"};
  r.previous = PreviousCampaign{"before", 1, {r.findings[0], gone}};
  const JsonDocument document = parsed(kSarif.write(r, "b"));
  check(document.root());
  const JsonValue results = *find(document.root(), {"runs", "0", "results"});
  ASSERT_EQ(results.count(), 3);
  EXPECT_EQ(text(results, {"0", "baselineState"}), "unchanged");
  EXPECT_EQ(text(results, {"1", "baselineState"}), "new");
  EXPECT_EQ(text(results, {"2", "baselineState"}), "absent");
  EXPECT_NE(text(results, {"0", "partialFingerprints", "normfuzzSignature/v1"}),
            text(results, {"2", "partialFingerprints", "normfuzzSignature/v1"}));
}

TEST(Sarif, OfHostileAndOfEmptyCampaigns) {
  check(parsed(kSarif.write(testing::hostile_report(), "b")).root());
  check(parsed(kSarif.write({}, "b")).root());
}

TEST(Sarif, AnEntryOfAnEarlierRunThatIsNewsIsAResult) {
  const CampaignReport r = testing::report_of_entries();
  const JsonDocument document = parsed(kSarif.write(r, "out/bugzoo"));
  const auto results = find(document.root(), {"runs", "0", "results"}),
             rules = find(document.root(), {"runs", "0", "tool", "driver", "rules"});
  ASSERT_TRUE(results && rules);
  ASSERT_EQ(results->count(), static_cast<std::int64_t>(r.findings.size()) + 1) << "fixed and known ones are none";
  const auto result = find(*results, {std::to_string(results->count() - 1)});
  EXPECT_EQ(text(*result, {"level"}), "error");
  EXPECT_EQ(text(*result, {"message", "text"}), "slug-new: is back on cpu 1.0");
  EXPECT_EQ(text(*result, {"locations", "0", "physicalLocation", "artifactLocation", "uri"}), "corpus/bugzoo/slug-new/case.json");
  EXPECT_EQ(text(*rules, {std::to_string(rules->count() - 1), "id"}), text(*result, {"ruleId"}));
  check_rule(*find(*rules, {std::to_string(rules->count() - 1)}));
}

}  // namespace
}  // namespace normfuzz
