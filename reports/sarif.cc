// SARIF 2.1.0 (OASIS, 'Static Analysis Results Interchange Format'): findings for code-scanning services. A rule per law or contract, a
// result per finding, matched from run to run by its signature.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/bugzoo_entry.h"
#include "reports/changes.h"
#include "reports/escape.h"
#include "reports/formats.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEntryRule = "entry.shows";

Json text(std::string_view s) { return clean_text(s); }
Json message(std::string_view s) { return {{"text", text(s)}}; }

// A contract is not named like a law.
std::string rule_id(const Finding& f) { return f.verdict == Verdict::kContract ? "contract." + f.law : f.law; }

// "ln.one_feature_dx" -> "LnOneFeatureDx": what the standard recommends for names.
std::string pascal_case(const std::string& id) {
  std::string out;
  bool up = true;
  for (const char c : id) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) out += up && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    up = !letter;
  }
  return out;
}

const char* level_of(const Finding& f) {
  if (!is_violation(f.verdict) || f.status == FindingStatus::kFixed) return "note";
  return f.status == FindingStatus::kKnown ? "warning" : "error";
}

std::string summary_of(const Finding& f) {
  switch (f.verdict) {
    case Verdict::kContract:
      return fmt::format("An output beyond the error that the contract '{}' allows", f.law);
    case Verdict::kBitwise:
      return fmt::format("An exact law that the target claims is broken: {}", f.law);
    case Verdict::kCrashed:
      return "A call that ends its process";
    case Verdict::kTimedOut:
      return "A call that does not return";
    case Verdict::kRangeLimit:
      return "A result lost because squares leave the range of the accumulation type";
    default:
      return fmt::format("A law is broken that holds whatever the rounding: {}", f.law);
  }
}

Json rule_of(const Finding& f) {
  const Law law = law_of(f);
  const std::string help = fmt::format("What it proves: {}\n\nWhat it does not prove: {}\n\nReproduce with `normfuzz repro ENTRY`.",
                                       law.proves, law.does_not_prove);
  Json properties = {{"tags", {"correctness", "numerics"}}, {"precision", "very-high"}, {"verdict", name_of(f.verdict)}};
  properties["problem.severity"] = is_violation(f.verdict) ? "error" : "recommendation";
  if (!law.lean.empty()) properties["lean"] = text(law.lean);
  return {{"id", text(rule_id(f))},
          {"name", pascal_case(rule_id(f))},
          {"shortDescription", message(summary_of(f))},
          {"fullDescription", message(law.theorem)},
          {"help", {{"text", text(help)}, {"markdown", text(help)}}},
          {"defaultConfiguration", {{"level", is_violation(f.verdict) ? "error" : "note"}}},
          {"properties", std::move(properties)}};
}

// FNV-1a, 64 bits.
std::string fingerprint_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char ch : text) h = (h ^ static_cast<unsigned char>(ch)) * 0x100000001b3u;
  return fmt::format("{:016x}", h);
}

// Services want places relative to the checkout, which is where a CI job runs: as --out was given, if it was relative.
std::string entries_from_checkout(const CampaignReport& r, const std::string& entries) {
  const std::filesystem::path out(r.out_directory);
  return out.is_relative() ? uri_path((out / "bugzoo").lexically_normal().generic_string()) : entries;
}

Json result_of(const Finding& f, const std::string& state, const std::string& entries, const std::map<std::string, std::size_t>& rules) {
  const std::string what = f.explanation.empty() ? f.judgement.detail : f.explanation;
  const std::string who = fmt::format("{} {} {}", label_of(f), f.op, name_of(f.dtype));
  Json place = {{"artifactLocation", {{"uri", entries + "/" + uri_path(f.slug) + "/case.json"}, {"uriBaseId", "%SRCROOT%"}}},
                {"region", {{"startLine", 1}}}};
  Json result = {{"ruleId", text(rule_id(f))},
                 {"ruleIndex", rules.at(rule_id(f))},
                 {"kind", "fail"},
                 {"level", level_of(f)},
                 {"message", message(what.empty() ? who : who + ": " + what)},
                 {"locations", {{{"physicalLocation", std::move(place)}, {"logicalLocations", {{{"fullyQualifiedName", text(who)}}}}}}},
                 {"partialFingerprints", {{"normfuzzSignature/v1", fingerprint_of(f.signature())}}}};
  if (!state.empty()) result["baselineState"] = state;
  if (f.status == FindingStatus::kKnown) result["suppressions"] = {{{"kind", "external"}, {"status", "accepted"}}};
  result["occurrenceCount"] = std::max<std::int64_t>(f.occurrences, 1);
  result["properties"] = {{"status", name_of(f.status)},     {"verdict", name_of(f.verdict)}, {"class", name_of(f.failure)},
                          {"bugFamily", text(f.bug_family)}, {"version", text(f.version)},    {"signature", text(f.signature())},
                          {"firstSeed", f.first_seed},       {"firstIndex", f.first_index},   {"firstRegime", text(f.first_regime)}};
  return result;
}

// An entry of an earlier run that is news: it shows, and nobody waived it.
Json entry_rule() {
  const char* help = "Reproduce with `normfuzz repro ENTRY`; docs/life-cycle.md says how an entry is waived.";
  return {
      {"id", kEntryRule},
      {"name", pascal_case(kEntryRule)},
      {"shortDescription", message("A finding of an earlier run shows, and no waiver covers it")},
      {"fullDescription", message("A finding that was adopted, or that the last run left behind, was tried again on the version that is "
                                  "installed: it shows there, and no waiver of its target covers it.")},
      {"help", {{"text", help}, {"markdown", help}}},
      {"defaultConfiguration", {{"level", "error"}}},
      {"properties", {{"tags", {"correctness", "numerics"}}, {"precision", "very-high"}, {"problem.severity", "error"}}}};
}

Json entry_result(const Announcement& a, std::size_t rule) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // where there is no current directory, the path stays as it is
  const fs::path near = fs::path(a.directory).lexically_relative(fs::current_path(ignored));
  const std::string folder = (near.empty() || *near.begin() == ".." ? fs::path(a.directory) : near).generic_string();
  Json place = {{"artifactLocation", {{"uri", uri_path(folder + "/case.json")}}}, {"region", {{"startLine", 1}}}};
  return {{"ruleId", kEntryRule},
          {"ruleIndex", rule},
          {"kind", "fail"},
          {"level", "error"},
          {"message", message(a.slug + ": " + a.message)},
          {"locations", {{{"physicalLocation", std::move(place)}, {"logicalLocations", {{{"fullyQualifiedName", text(a.target)}}}}}}},
          {"partialFingerprints", {{"normfuzzSignature/v1", fingerprint_of(a.slug)}}},
          {"occurrenceCount", 1}};
}

std::string sarif(const CampaignReport& report, const std::string& entries_from_file) {
  const std::string entries = entries_from_checkout(report, entries_from_file);
  const Changes changes = changes_of(report);
  std::map<std::string, std::size_t> rules;
  Json rule_list = Json::array(), results = Json::array();
  const auto add = [&](const Finding& f, const std::string& state) {
    if (rules.try_emplace(rule_id(f), rules.size()).second) rule_list.push_back(rule_of(f));
    results.push_back(result_of(f, state, entries, rules));
  };
  for (const Finding& f : report.findings) add(f, baseline_state(report, f));
  for (const Finding* f : changes.gone) add(*f, "absent");
  const std::vector<const Announcement*> earlier = news_of_earlier(report);
  for (const Announcement* a : earlier) results.push_back(entry_result(*a, rule_list.size()));
  if (!earlier.empty()) rule_list.push_back(entry_rule());
  Json driver = {{"name", "normfuzz"}, {"version", NORMFUZZ_VERSION}, {"semanticVersion", NORMFUZZ_VERSION}, {"rules", rule_list}};
  Json notifications = Json::array();
  for (const ReportedTarget& t : report.targets)
    if (!t.skipped.empty())
      notifications.push_back({{"level", "note"}, {"message", message("target " + t.label + " skipped: " + t.skipped)}});
  Json run = {{"tool", {{"driver", std::move(driver)}}},
              {"columnKind", "utf16CodeUnits"},
              {"invocations", {{{"executionSuccessful", !report.interrupted}, {"toolExecutionNotifications", std::move(notifications)}}}},
              {"results", std::move(results)},
              {"properties", {{"seed", report.seed}, {"shard", shard_text(report)}, {"cases", report.tally.cases()}}}};
  const Json document = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", {std::move(run)}}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

extern const ReportFormat kSarif;
const ReportFormat kSarif = {"--sarif", "write a SARIF 2.1.0 file for code-scanning services", sarif};

}  // namespace normfuzz
