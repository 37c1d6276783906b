// What the generator must know of an op: its inputs by role, and how rows and columns become a shape. Adding an op: a line in plan.cc, and
// a geometry function if its rows lie another way than in the trailing dimensions.
#pragma once

#include <string_view>
#include <vector>

#include "core/case.h"
#include "core/row_view.h"
#include "harness/generate/shape.h"
#include "harness/generate/stream.h"

namespace normfuzz {

enum class Role { kRows, kWeight, kBias };

struct InputPlan {
  std::string_view name;
  Role role;
  int null_percent = 0;  // of kBias; a weight is absent in 34 of 100 (parameters.cc)
};

struct Geometry {
  std::vector<std::int64_t> shape;            // of the kRows inputs
  int leading;                                // the first `leading` dimensions tell rows apart, and nothing else does
  RowView rows;                               // of a tensor of that shape
  std::vector<std::int64_t> parameter_shape;  // of weight and bias
};

struct OpPlan {
  std::string_view name;
  std::vector<InputPlan> inputs;  // in call order
  // Draws the geometry for an extent and writes the parameters it implies (normalized_axis, axis, layout, groups) into the case.
  Geometry (*geometry)(Stream s, Extent extent, Case& c);
  bool has_weight_offset = false;
};

const std::vector<OpPlan>& op_plans();
const OpPlan* find_plan(std::string_view op);

}  // namespace normfuzz
