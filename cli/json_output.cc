#include "cli/json_output.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/case_io.h"

namespace normfuzz {
namespace {

using Json = nlohmann::ordered_json;

Json score_json(const AuditScore& s) {
  return {{"killed", s.killed},
          {"mutants", s.mutants},
          {"not_tested", s.not_tested},
          {"false_alarms", s.false_alarms},
          {"controls", s.controls}};
}

Json result_json(const AuditResult& r) { return {{"cases", r.cases}, {"killed_at", r.killed_at}, {"how", r.how}, {"seconds", r.seconds}}; }

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(hex_from_value(v)); }

}  // namespace

std::string selfcheck_json(std::span<const SelfcheckRow> rows, std::uint64_t seed, double seconds, bool interrupted) {
  Json list = Json::array();
  double worst = 0;
  for (const SelfcheckRow& r : rows) {
    worst = std::max(worst, r.worst_ratio);
    list.push_back({{"op", r.op},
                    {"dtype", std::string(name_of(r.dtype))},
                    {"contract", r.contract},
                    {"worst_ratio", number(r.worst_ratio)},
                    {"tightness", number(r.tightness)},
                    {"evaluations", r.evaluations},
                    {"elements", r.elements},
                    {"finite", r.finite},
                    {"kernel", r.kernel},
                    {"case", r.worst_ratio > 0 ? Json::parse(write_case(r.worst_case)) : Json()}});
  }
  Json out = {{"worst_ratio", number(worst)}};
  out["seed"] = seed;
  out["seconds"] = seconds;
  out["interrupted"] = interrupted;
  out["rows"] = std::move(list);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string audit_json(const AuditReport& report) {
  Json policies = Json::array(), mutants = Json::array();
  for (std::size_t i = 0; i < report.policies.size(); ++i) {
    Json policy = {{"name", report.policies[i].name}, {"source", report.policies[i].source}};
    policy.update(score_json(score_of_policy(report, i)));
    policies.push_back(std::move(policy));
  }
  for (const AuditRow& row : report.rows) {
    Json of_policies = Json::object();
    for (std::size_t i = 0; i < row.policies.size(); ++i) of_policies[report.policies[i].name] = result_json(row.policies[i]);
    mutants.push_back({{"name", std::string(row.mutant.name)},
                       {"family", std::string(row.mutant.family)},
                       {"bug", std::string(row.mutant.bug)},
                       {"references", std::string(row.mutant.references)},
                       {"rare", row.mutant.rare},
                       {"policies", std::move(of_policies)},
                       {"normfuzz", result_json(row.own)}});
  }
  const Json out = {
      {"command", report.command},
      {"seed", report.budget.seed},
      {"cases", report.budget.cases},
      {"seconds", report.budget.seconds},
      {"interrupted", report.interrupted},
      {"policies", std::move(policies)},
      {"normfuzz", {{"same_cases", score_json(score_of_normfuzz(report, true))}, {"all", score_json(score_of_normfuzz(report, false))}}},
      {"mutants", std::move(mutants)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace normfuzz
