// What the generator must know of an op: its inputs by role, its parameters, and how rows and columns become a shape. Adding an op: a line
// in plan.cc, and a geometry function if its rows lie another way than those there.
#pragma once

#include <string_view>
#include <vector>

#include "core/case.h"
#include "core/row_view.h"
#include "harness/generate/regime.h"
#include "harness/generate/shape.h"
#include "harness/generate/stream.h"

namespace normfuzz {

enum class Role : std::uint8_t {
  kRows,        // x, a: filled by the regime
  kSecondRows,  // b: drawn against the first rows
  kCotangent,   // dy
  kWeight,
  kBias,
  kRunningMean,  // of a batch norm, drawn beside the rows' own
  kRunningVariance,
  kKeys,  // rows of Geometry::second_shape
};

struct InputPlan {
  std::string_view name;
  Role role;
  int null_percent = 0;   // of kBias; a weight is absent in 34 of 100 (parameters.cc)
  bool required = false;  // of kWeight: never absent
};

struct Geometry {
  std::vector<std::int64_t> shape;              // of all inputs but weight and bias
  int leading;                                  // the first `leading` dimensions tell rows apart
  RowView rows;                                 // of a tensor of that shape
  std::vector<std::int64_t> parameter_shape;    // of weight and bias
  std::vector<std::int64_t> second_shape = {};  // of k, whose rows are its last dimension
  std::vector<std::size_t> memory_order = {};   // of the dimensions, innermost first, where the layout is not left to chance
};

enum class Sizes : std::uint8_t {
  kAll,      // draw_extent's
  kSmall,    // mostly below 256 elements: every element of these ops costs an enclosure
  kSpatial,  // as kSmall, and single rows are often several positions
};

struct OpPlan {
  std::string_view name;
  std::vector<InputPlan> inputs;  // in call order
  // Draws the geometry for an extent and writes the parameters it implies (normalized_axis, axis, layout, groups) into the case.
  Geometry (*geometry)(Stream s, Extent extent, Case& c);
  // Draws all other parameters into the case; the result is the epsilon that eps_dominated rows compare themselves with.
  double (*parameters)(const Stream& root, const Regime& regime, Case& c);
  Sizes sizes = Sizes::kAll;
};

const std::vector<OpPlan>& op_plans();
const OpPlan* find_plan(std::string_view op);

// Rows and columns of a case of this op.
Extent draw_op_extent(const Stream& root, const OpPlan& plan, const Regime& regime, const GeneratorOptions& options);

// Everything that decides a case. What is left to chance is drawn from three streams, which the generator has as one, so that a fuzzer can
// keep one part and change another: `geometry` (shape, axes, layout parameter, groups), `rows` (the numbers of x, dy, b, .. and their
// layouts), `call` (scalar parameters, weight, bias, running statistics).
struct CaseDraw {
  const OpPlan& plan;
  const Regime& regime;
  DType dtype;
  Extent extent;
  Stream geometry, rows, call;
};
// Without provenance.
Case assemble(const CaseDraw& draw);

}  // namespace normfuzz
