// The one list of properties, in the order of the list of theorems. Adding one: its definition in a file of this folder, a line here.
#include "oracles/theorems/property.h"

#include <algorithm>
#include <memory>

#include "oracles/theorems/tools.h"

namespace normfuzz {

extern const Property kScaleMovesEpsilon, kPowerOfTwoScale, kScaleDrift, kOneFeatureForward, kOneFeatureDweight, kOneFeatureDx,
    kOneFeatureSpec, kConstantRow, kNormalizedBounded, kReassocForward, kReassocBackward, kRowsInverse, kRowsPermutation, kRowsReindex,
    kChannelEqualsRows, kRowAffine, kTransposeInvolution, kNotWholeMap, kVjp, kDifferentiable, kReindexContract, kGammaContract,
    kBetaContract, kSgdGamma, kSgdBeta, kGraphCast, kGraphReassoc, kGraphUnassoc, kHomogeneous, kTriangle, kThreeNorms, kFamily,
    kDistanceIsNorm, kRmsDefinition, kUnitLength, kCosineUnitDot, kOutputRmsOne, kOutputLength, kScaleInvariant, kSignSymmetry,
    kRowIndependence, kContainment, kDeterminism, kLayout, kAlignment, kThreadCount, kMemory, kIdentityParameters;

const std::vector<const Property*>& all_properties() {
  static const std::vector<const Property*> list = {
      // rms.*, ln.*
      &kScaleMovesEpsilon,
      &kPowerOfTwoScale,
      &kScaleDrift,
      &kOneFeatureForward,
      &kOneFeatureDweight,
      &kOneFeatureDx,
      &kOneFeatureSpec,
      &kConstantRow,
      &kNormalizedBounded,
      // chan.*
      &kReassocForward,
      &kReassocBackward,
      &kRowsInverse,
      &kRowsPermutation,
      &kRowsReindex,
      &kChannelEqualsRows,
      &kRowAffine,
      &kTransposeInvolution,
      &kNotWholeMap,
      &kVjp,
      &kDifferentiable,
      &kReindexContract,
      &kGammaContract,
      &kBetaContract,
      &kSgdGamma,
      &kSgdBeta,
      // graph.*, norm.*, unit.*, cosine.*, lengths
      &kGraphCast,
      &kGraphReassoc,
      &kGraphUnassoc,
      &kHomogeneous,
      &kTriangle,
      &kThreeNorms,
      &kFamily,
      &kDistanceIsNorm,
      &kRmsDefinition,
      &kUnitLength,
      &kCosineUnitDot,
      &kOutputRmsOne,
      &kOutputLength,
      &kScaleInvariant,
      // bit.*
      &kSignSymmetry,
      &kRowIndependence,
      &kContainment,
      &kDeterminism,
      &kLayout,
      &kAlignment,
      &kThreadCount,
      &kMemory,
      &kIdentityParameters,
  };
  return list;
}

const Property* find_property(std::string_view id) {
  for (const Property* p : all_properties())
    if (p->id == id) return p;
  return nullptr;
}

std::string_view name_of(PropertyKind kind) {
  static constexpr std::string_view kNames[] = {"exact", "bound", "oracle", "index"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string kinds_of(const Property& p) {
  std::string kinds(name_of(p.kind));
  return p.kind != PropertyKind::kOracle && p.check_oracle ? "oracle, " + kinds : kinds;
}

bool Property::applies_to(std::string_view op) const { return ops.empty() || std::find(ops.begin(), ops.end(), op) != ops.end(); }

const Tensor& PropertyRun::output(std::string_view name) const {
  return std::find_if(outputs->begin(), outputs->end(), [&](const auto& o) { return o.first == name; })->second;
}

namespace {

template <class Suits>
const Property* drawn(std::string_view op, std::uint64_t draw, Suits suits) {
  std::vector<const Property*> fitting;
  for (const Property* p : all_properties())
    if (p->applies_to(op) && suits(*p)) fitting.push_back(p);
  return fitting.empty() ? nullptr : fitting[draw % fitting.size()];
}

}  // namespace

const Property* draw_kernel_property(std::string_view op, std::uint64_t draw) {
  return drawn(op, draw, [](const Property& p) { return p.needs_kernel(); });
}
const Property* draw_oracle_property(std::string_view op, std::uint64_t draw) {
  return drawn(op, draw, [](const Property& p) { return p.needs_no_kernel(); });
}

std::uint64_t property_draw(std::uint64_t seed, std::string_view op, DType dtype, std::uint64_t index, std::string_view purpose) {
  std::uint64_t state = seed;
  const auto absorb = [&](std::uint64_t v) { state = theorems::Draw(state ^ v).next(); };
  for (const std::string_view text : {op, name_of(dtype), purpose}) {
    absorb(text.size());
    for (const char ch : text) absorb(static_cast<unsigned char>(ch));
  }
  absorb(index);
  return state;
}

PropertyResult check_without_kernel(const Property& p, const Case& base, const PropertyArgs& args) {
  if (p.check_index) return p.check_index(args);
  const Contract contract = *contract_named("standard", base.dtype());
  const std::vector<Case> derived = p.derive ? p.derive(base, args) : std::vector<Case>{};
  std::vector<std::unique_ptr<CaseBounds>> bounds;
  std::vector<PropertyRun> runs;
  const auto add = [&](const Case& c) {
    bounds.push_back(std::make_unique<CaseBounds>(c, contract));
    runs.push_back({&c, nullptr, &contract, bounds.back().get()});
  };
  add(base);
  for (const Case& c : derived) add(c);
  return p.check_oracle(runs, args);
}

}  // namespace normfuzz
