#include "harness/recipe/build_case.h"

#include <algorithm>

#include "harness/generate/plan.h"
#include "harness/recipe/edit_case.h"

namespace normfuzz::fuzzing {
namespace {

// Hidden sizes of published models.
constexpr std::int64_t kModelWidths[] = {64, 80, 96, 128, 192, 320, 384, 640, 768, 1024, 1280, 1600, 2048, 2560, 2880, 3072, 4096};

std::int64_t near_power(int lowest, int powers, int v) { return (std::int64_t{1} << (lowest + v % powers)) + v / powers % 3 - 1; }

std::int64_t cols_of(std::uint16_t code) {
  const int form = code >> 8, v = code & 255;
  if (form < 160) return 1 + v % 32;
  if (form < 220) return 1 + v;
  if (form < 244) return near_power(5, 8, v);
  if (form < 250) return kModelWidths[static_cast<std::size_t>(v) % std::size(kModelWidths)];
  if (form < 254) return 1 + 16 * v + 4 * (form - 250);
  return form == 254 ? 1536 + v % 16 : 1;
}

// 0: very many of one column.
std::int64_t rows_of(std::uint16_t code) {
  const int form = code >> 8, v = code & 255;
  if (form < 192) return 1 + v % 8;
  if (form < 232) return 1 + v % 64;
  if (form < 248) return near_power(4, 9, v);
  return form < 255 ? 1 + 16 * v : 0;
}

Extent extent_of(const Recipe& r, const OpPlan& plan, const Regime& regime) {
  Extent e{rows_of(r.rows), cols_of(r.cols)};
  const bool fast = plan.sizes == Sizes::kAll;
  if (e.rows == 0 && fast && regime.cols <= 1) return {65535 + r.rows % 256 % 3, 1};
  std::int64_t limit = fast ? kMaxElements : kMaxSlowElements;
  if (regime.cols > 0) e.cols = regime.cols;
  e.rows = std::max(e.rows, regime.min_rows);
  e.cols = std::min(e.cols, std::max(limit / regime.min_rows, regime.cols));
  limit = std::max(limit, e.cols * regime.min_rows);
  e.rows = std::clamp(e.rows, regime.min_rows, limit / e.cols);
  return e;
}

std::string_view op_of(const Family& family, const Property* property, const Recipe& r) {
  if (!property) return family.ops[r.op % family.ops.size()];
  if (!property->ops.empty()) return property->ops[r.op % property->ops.size()];
  return all_ops()[r.op % all_ops().size()]->name;
}

}  // namespace

const Property* property_of(const Family& family, const Recipe& r) {
  return family.properties.empty() ? nullptr : family.properties[r.property % family.properties.size()];
}

Case build_case(const Family& family, const Recipe& r) {
  const Property* property = property_of(family, r);
  const OpPlan& plan = *find_plan(op_of(family, property, r));
  const Regime& regime = regime_list()[r.regime % regime_list().size()];
  const Stream root(0);
  Case c = assemble({plan, regime, kAllDTypes[r.dtype % std::size(kAllDTypes)], extent_of(r, plan, regime),
                     root.sub("geometry").sub(r.geometry), root.sub("rows").sub(r.draw), root.sub("call").sub(r.call)});
  drop_parameters(c, r);
  apply_edits(c, r);
  apply_epsilon(c, r);  // last: it may be that of the rows as they are now
  c.provenance = Provenance{kGeneratorVersion, r.draw, 0, std::string(regime.info.name)};
  if (property)
    if (auto args = property->choose(c, Stream(r.property_draw).next()))
      c.property = PropertyRef{std::string(property->id), std::move(*args)};
  return c;
}

}  // namespace normfuzz::fuzzing
