#include "harness/generate/plan.h"

#include <algorithm>

namespace normfuzz {
namespace {

// Rows are the last `trailing` dimensions, as in layer_norm.
Geometry trailing_dimensions(Stream s, Extent extent, Case& c) {
  const std::uint64_t p = s.below(100), q = s.below(100);
  int leading = p < 62 ? 1 : p < 84 ? 2 : p < 94 ? 3 : 4;
  if (extent.rows == 1 && s.chance(30)) leading = 0;
  const int trailing = std::min(q < 80 ? 1 : q < 94 ? 2 : 3, 5 - leading);
  std::vector<std::int64_t> shape = split_extent(s, extent.rows, leading);
  const std::vector<std::int64_t> row_shape = split_extent(s, extent.cols, trailing);
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  // -1 is the default and mostly left out; positive axes mean the same as negative ones.
  const bool positive = s.chance(15), explicit_default = s.chance(20);
  if (trailing > 1 || positive || explicit_default) c.params["normalized_axis"] = static_cast<std::int64_t>(positive ? leading : -trailing);
  return {std::move(shape), leading, RowView({{extent.rows, extent.cols}}, {{extent.cols, 1}}), row_shape};
}

}  // namespace

const std::vector<OpPlan>& op_plans() {
  static const std::vector<OpPlan> plans = {
      {"layer_norm", {{"x", Role::kRows}, {"weight", Role::kWeight}, {"bias", Role::kBias, 45}}, trailing_dimensions},
      {"rms_norm", {{"x", Role::kRows}, {"weight", Role::kWeight}, {"bias", Role::kBias, 92}}, trailing_dimensions, true},
  };
  return plans;
}

const OpPlan* find_plan(std::string_view op) {
  const auto& plans = op_plans();
  const auto it = std::find_if(plans.begin(), plans.end(), [&](const OpPlan& p) { return p.name == op; });
  return it == plans.end() ? nullptr : &*it;
}

}  // namespace normfuzz
