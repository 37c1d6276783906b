#include "cli/json_output.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/case_io.h"

namespace normfuzz {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace normfuzz
