#include "oracles/ops/op.h"

#include <algorithm>
#include <cmath>

namespace normfuzz {

extern const OpInfo kLayerNorm, kLayerNormBackward, kLayerNormSgd, kRmsNorm, kRmsNormBackward, kRmsNormSgd, kChannelLayerNorm,
    kChannelLayerNormBackward, kChannelLayerNormSgd, kLpNorm, kRms, kDistance, kCosine, kLpNormalize, kGroupNorm, kInstanceNorm, kBatchNorm,
    kAddRmsNorm, kQkNorm, kGroupNormBackward, kInstanceNormBackward, kBatchNormBackward, kLayerNormGraph;

const std::vector<const OpInfo*>& all_ops() {
  static const std::vector<const OpInfo*> kOps = {&kLayerNorm,
                                                  &kRmsNorm,
                                                  &kChannelLayerNorm,
                                                  &kLpNorm,
                                                  &kRms,
                                                  &kDistance,
                                                  &kCosine,
                                                  &kLpNormalize,
                                                  &kLayerNormBackward,
                                                  &kRmsNormBackward,
                                                  &kChannelLayerNormBackward,
                                                  &kLayerNormSgd,
                                                  &kRmsNormSgd,
                                                  &kChannelLayerNormSgd,
                                                  &kGroupNorm,
                                                  &kInstanceNorm,
                                                  &kBatchNorm,
                                                  &kAddRmsNorm,
                                                  &kQkNorm,
                                                  &kGroupNormBackward,
                                                  &kInstanceNormBackward,
                                                  &kBatchNormBackward,
                                                  &kLayerNormGraph};
  return kOps;
}

const OpInfo* find_op(std::string_view name) {
  for (const OpInfo* op : all_ops())
    if (op->name == name) return op;
  return nullptr;
}

namespace {

std::string names_of(const std::vector<std::string_view>& names) {
  std::string s;
  for (const auto n : names) s += (s.empty() ? "" : ", ") + std::string(n);
  return s;
}

Status validate_parameters(const OpInfo& op, const Case& c) {
  for (const auto& [name, value] : c.params)
    if (std::find(op.params.begin(), op.params.end(), name) == op.params.end())
      return Error{"params." + name + ": not a parameter of " + c.op + ", expected one of " + names_of(op.params)};
  for (const auto& [name, value] : c.params) {
    const ParamSpec* spec = find_param(name);
    const double number = std::holds_alternative<std::int64_t>(value) ? static_cast<double>(std::get<std::int64_t>(value))
                          : std::holds_alternative<double>(value)     ? std::get<double>(value)
                                                                      : 0;
    if (spec && spec->accepts && !spec->accepts(number)) return Error{"params." + name + ": expected " + std::string(spec->expects)};
  }
  const bool wants_epsilon = op.affine() || op.formula == Formula::kAddRmsNorm || op.formula == Formula::kLayerNormGraph;
  if (wants_epsilon && !c.params.count("epsilon"))
    return Error{"params.epsilon: missing, expected a finite number >= 0 that float32 represents exactly"};
  const double e = c.epsilon();
  if (!(e >= 0) || !std::isfinite(e) || !representable(DType::kF32, e))
    return Error{"params.epsilon: expected a finite number >= 0 that float32 represents exactly"};
  return Unit{};
}

}  // namespace

Status validate(const Case& c) {
  const OpInfo* op = find_op(c.op);
  if (!op) {
    std::vector<std::string_view> names;
    for (const OpInfo* known : all_ops()) names.push_back(known->name);
    return Error{"op: '" + c.op + "', expected one of " + names_of(names)};
  }
  if (auto status = validate_parameters(*op, c); !status) return status;
  for (const auto& [name, tensor] : c.inputs)
    if (std::none_of(op->inputs.begin(), op->inputs.end(), [&](const InputSpec& s) { return s.name == name; }))
      return Error{"inputs." + name + ": not an input of " + c.op};
  for (const InputSpec& spec : op->inputs)
    if (spec.required && !c.input(spec.name)) return Error{"inputs." + std::string(spec.name) + ": missing, expected a tensor"};
  return op->validate(c);
}

}  // namespace normfuzz
