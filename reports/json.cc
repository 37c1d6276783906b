#include "reports/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/hex_float.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(hex_from_value(v)); }

Json place(const CaseRef& ref) { return {{"seed", ref.seed}, {"index", ref.index}}; }

Json elements_of(const std::vector<ElementEvidence>& elements) {
  static constexpr const char* kVerdicts[] = {"within", "violation", "limit", "undecided"};
  Json out = Json::array();
  for (const ElementEvidence& e : elements)
    out.push_back({{"output", e.output},
                   {"index", e.index},
                   {"got", hex_from_value(e.got)},
                   {"exact", hex_from_value(e.exact)},
                   {"allowed", hex_from_value(e.allowed)},
                   {"ulps", number(e.ulps)},
                   {"verdict", kVerdicts[static_cast<std::size_t>(e.verdict)]}});
  return out;
}

Json reasons_of(const ReasonCounts& reasons) {
  Json out = Json::object();
  for (const auto& [reason, count] : reasons.named()) out[reason] = count;
  if (reasons.other() > 0) out["other"] = reasons.other();
  return out;
}

Json laws_of(const OpTally& t) {
  Json out = Json::object();
  for (const auto& [law, counts] : t.laws) out[law] = {{"held", counts.held}, {"broken", counts.broken}};
  return out;
}

Json broken_rungs_of(const OpTally& t) {
  Json out = Json::object();
  for (const auto& [rung, seen] : t.broken_rungs) out[rung] = {{"cases", seen.count}, {"first", place(seen.first)}};
  return out;
}

// The worst value and the case that showed it.
Json worst_of(const Worst& worst) {
  Json out = {{"value", number(worst.value)}};
  if (worst.value > 0) out.update(place(worst.where));
  return out;
}

Json by_verdict(const OpTally& t) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kVerdicts; ++i) out[std::string(name_of(static_cast<Verdict>(i)))] = t.verdicts[i];
  return out;
}

Json entry_of(const TallyKey& key, const OpTally& t) {
  return {{"target", key.target},
          {"op", key.op},
          {"dtype", std::string(name_of(key.dtype))},
          {"cases", t.cases()},
          {"certified", t.certified()},
          {"violations", t.violations()},
          {"undecided", t.count(Verdict::kUndecided)},
          {"range_limit", t.count(Verdict::kRangeLimit)},
          {"unsupported", t.count(Verdict::kUnsupported)},
          {"rejected", t.count(Verdict::kRejected)},
          {"worst_ratio", number(t.ratio.value)},
          {"worst_ulps", number(t.ulps.value)},
          {"grade", t.grade()},
          {"verdicts", by_verdict(t)},
          {"unsupported_reasons", reasons_of(t.unsupported)},
          {"rejected_reasons", reasons_of(t.rejected)},
          {"rows", t.rows},
          {"elements", t.elements},
          {"unbounded_elements", t.unbounded},
          {"range_limited_elements", t.range_limited},
          {"filtered_rows", t.filtered_rows},
          {"mpfr_rows", t.mpfr_rows},
          {"audited_rows", t.audited_rows},
          {"worst_ratio_case", worst_of(t.ratio)},
          {"worst_ulps_case", worst_of(t.ulps)},
          {"ladder_cases", t.ladder_cases},
          {"broken_rungs", broken_rungs_of(t)},
          {"laws", laws_of(t)}};
}

Json share_of(const BoundKey& key, const BoundShare& share) {
  std::int64_t sampled = share.sampled_unbounded;
  for (const auto& [bucket, count] : share.histogram) sampled += count;
  Json out = {{"op", key.op},
              {"dtype", std::string(name_of(key.dtype))},
              {"contract", key.contract},
              {"regimes", key.special ? "special" : "ordinary"},
              {"elements", share.elements},
              {"unbounded_elements", share.unbounded},
              {"sampled_bounds", sampled}};
  if (const auto finite = share.finite_share()) out["finite_share"] = *finite;
  if (const auto median = share.median_ulps()) out["median_bound_ulps"] = *median;
  return out;
}

// Of x, or of a.
std::int64_t element_count(const Case& c) {
  const Tensor* x = c.input("x") ? c.input("x") : c.input("a");
  return x ? x->size() : 0;
}

Json finding_of(const Finding& f) {
  return {{"slug", f.slug},
          {"target", f.target},
          {"op", f.op},
          {"dtype", std::string(name_of(f.dtype))},
          {"verdict", std::string(name_of(f.verdict))},
          {"status", std::string(name_of(f.status))},
          {"status_note", f.status_note},
          {"elements", element_count(f.shrunk)},
          {"law", f.law},
          {"class", std::string(name_of(f.failure))},
          {"signature", f.signature()},
          {"variants", f.variants},
          {"version", f.version},
          {"needs", f.needs},
          {"explanation", f.explanation},
          {"admitted_by", f.admitted_by},
          {"bug_family", f.bug_family},
          {"occurrences", f.occurrences},
          {"first", {{"seed", f.first_seed}, {"index", f.first_index}, {"regime", f.first_regime}}},
          {"evidence", elements_of(f.judgement.evidence)}};
}

Json tensor_of(const Tensor& t) {
  Json data = Json::array();
  for (const double v : t.values()) data.push_back(hex_from_value(v));
  return {{"dtype", std::string(name_of(t.dtype))}, {"shape", t.shape}, {"data", std::move(data)}};
}

void add_check(Json& out, const CheckAnswer& answer) {
  out["verdict"] = std::string(name_of(answer.verdict));
  out["law"] = answer.law;
  out["contract"] = answer.contract;
  out["detail"] = answer.detail;
  out["elements"] = elements_of(answer.elements);
}

Json property_of(const PropertyKey& key, const PropertyTally& t) {
  Json out = {{"id", key.id}, {"target", key.target},       {"tried", t.tried},
              {"met", t.met}, {"violations", t.violations}, {"unclaimed", t.unclaimed}};
  if (t.first.count > 0) out["first"] = place(t.first.first);
  return out;
}

}  // namespace

std::string run_json(const CampaignReport& r) {
  Json properties = Json::array();
  for (const auto& [key, t] : r.tally.properties) properties.push_back(property_of(key, t));
  Json targets = Json::array(), findings = Json::array(), bounds = Json::array(), described = Json::array();
  for (const auto& [key, entry] : r.tally.entries) targets.push_back(entry_of(key, entry));
  for (const Finding& f : r.findings) findings.push_back(finding_of(f));
  for (const auto& [key, share] : r.tally.bounds) bounds.push_back(share_of(key, share));
  for (const ReportedTarget& t : r.targets) described.push_back({{"target", t.label}, {"version", t.version}, {"skipped", t.skipped}});
  Json out = {{"cases", r.tally.cases()}, {"certified", r.tally.certified()}, {"violations", r.tally.violations()}};
  out["by_target"] = std::move(targets);
  out["findings"] = std::move(findings);
  Json earlier = Json::array();
  for (const Announcement& a : r.announcements)
    earlier.push_back({{"slug", a.slug}, {"target", a.target}, {"status", std::string(name_of(a.status))}, {"message", a.message}});
  out["earlier"] = std::move(earlier);
  out["seconds"] = r.seconds;
  out["seed"] = r.seed;
  out["shard"] = shard_text(r);
  out["interrupted"] = r.interrupted;
  out["bounds"] = std::move(bounds);
  out["properties"] = std::move(properties);
  out["targets"] = std::move(described);
  return text_of(out);
}

std::string targets_json(std::span<const TargetListing> targets) {
  Json list = Json::array();
  for (const TargetListing& t : targets)
    list.push_back({{"name", t.name},
                    {"version", t.version},
                    {"available", t.available},
                    {"reason", t.reason},
                    {"ops", t.ops},
                    {"dtypes", t.dtypes},
                    {"contract", t.contract},
                    {"variants", t.variants}});
  return text_of({{"targets", std::move(list)}});
}

std::string oracle_json(const OracleAnswer& answer) {
  Json expect = Json::object(), digits = Json::object();
  for (const auto& [name, tensor] : answer.expect) expect[name] = tensor_of(tensor);
  for (const auto& [name, texts] : answer.digits) digits[name] = texts;
  Json out = {{"expect", std::move(expect)}, {"op", answer.op}, {"reading", answer.reading}};
  if (!answer.digits.empty()) out["digits"] = std::move(digits);
  return text_of(out);
}

std::string check_json(const CheckAnswer& answer) {
  Json out = Json::object();
  add_check(out, answer);
  return text_of(out);
}

std::string theorems_json(std::span<const TheoremListing> theorems) {
  Json list = Json::array();
  for (const TheoremListing& t : theorems) {
    Json targets = Json::array();
    for (const auto& [key, tally] : t.by_target) targets.push_back(property_of(key, tally));
    list.push_back({{"id", t.id},
                    {"lean", t.lean},
                    {"kind", t.kind},
                    {"tried", t.sum.tried},
                    {"met", t.sum.met},
                    {"violations", t.sum.violations},
                    {"unclaimed", t.sum.unclaimed},
                    {"vacuous", t.vacuous()},
                    {"claim", t.claim},
                    {"premises", t.premises},
                    {"statement", t.statement},
                    {"does_not_prove", t.does_not_prove},
                    {"elsewhere", t.elsewhere},
                    {"by_target", std::move(targets)}});
  }
  return text_of({{"theorems", std::move(list)}});
}

std::string repro_json(std::span<const ReproAnswer> targets) {
  Json list = Json::array();
  for (const ReproAnswer& t : targets) {
    Json entry = {{"target", t.target}, {"outcome", std::string(name_of(t.outcome))}, {"message", t.message}};
    add_check(entry, t.check);
    if (t.property)
      entry["property"] = {{"id", t.property->id},
                           {"met", t.property->met},
                           {"broken", t.property->broken},
                           {"judged", t.property->judged},
                           {"detail", t.property->detail}};
    list.push_back(std::move(entry));
  }
  return text_of({{"targets", std::move(list)}});
}

std::string list_json(std::string_view key, std::span<const NamedLine> lines) {
  Json list = Json::array();
  for (const NamedLine& line : lines) {
    Json entry = {{"name", line.name}};
    for (const auto& [name, value] : line.fields) entry[name] = value;
    list.push_back(std::move(entry));
  }
  Json out = Json::object();
  out[std::string(key)] = std::move(list);
  return text_of(out);
}

}  // namespace normfuzz
