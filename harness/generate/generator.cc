#include "harness/generate/generator.h"

#include "harness/generate/activations.h"
#include "harness/generate/parameters.h"
#include "harness/generate/plan.h"
#include "harness/generate/regime.h"
#include "harness/generate/rows.h"
#include "harness/generate/stream.h"

namespace normfuzz {
namespace {

// One stream per decision: a regime asked for by name yields the very case that it would have drawn, and a new decision moves no other.
Stream case_stream(std::uint64_t seed, std::string_view op, DType dtype, std::uint64_t index) {
  return Stream(mix_bits(seed)).sub(op).sub(name_of(dtype)).sub(index);
}

const Regime* draw_regime(Stream s, std::string_view wanted) {
  if (!wanted.empty()) return find_regime(wanted);
  static const std::uint64_t total = [] {
    std::uint64_t sum = 0;
    for (const Regime& r : regime_list()) sum += static_cast<std::uint64_t>(r.weight);
    return sum;
  }();
  std::uint64_t at = s.below(total);
  for (const Regime& r : regime_list()) {
    if (at < static_cast<std::uint64_t>(r.weight)) return &r;
    at -= static_cast<std::uint64_t>(r.weight);
  }
  return nullptr;
}

// float32 parameters beside 16-bit rows in 15 of 100 such cases, as mixed-precision models keep them.
DType parameter_dtype(Stream s, DType dtype) { return format_of(dtype).bytes == 2 && s.chance(15) ? DType::kF32 : dtype; }

std::optional<Tensor> draw_parameter(Stream s, const InputPlan& input, DType dtype, const Geometry& g, const Regime& regime,
                                     double weight_offset) {
  const bool is_weight = input.role == Role::kWeight;
  if (regime.real_parameters && s.sub("real").chance(70) && (is_weight || input.null_percent < 90))
    return repeat_into(is_weight ? activation_weight() : activation_bias(), dtype, g.parameter_shape);
  return is_weight ? draw_weight(s, dtype, g.parameter_shape, weight_offset, input.required)
                   : draw_bias(s, dtype, g.parameter_shape, input.null_percent);
}

}  // namespace

Case assemble(const CaseDraw& draw) {
  const auto& [plan, regime, dtype, extent, geometry, rows, call] = draw;
  Case c;
  c.op = plan.name;
  const Geometry g = plan.geometry(geometry, extent, c);
  const RowSetting setting{dtype, g, regime, plan.parameters(call, regime, c)};
  const DType parameters = parameter_dtype(call.sub("parameter dtype"), dtype);
  c.inputs.reserve(plan.inputs.size());
  for (const InputPlan& input : plan.inputs) {
    const Stream s = rows.sub(input.name);
    switch (input.role) {
      case Role::kRows:
        c.inputs.emplace_back(input.name, draw_rows(s, setting));
        break;
      case Role::kSecondRows:
        c.inputs.emplace_back(input.name, draw_second_rows(s, setting, *c.inputs.front().second));
        break;
      case Role::kCotangent:
        c.inputs.emplace_back(input.name, draw_cotangents(s, setting, *c.inputs.front().second));
        break;
      case Role::kKeys: {
        const RowView heads({{g.second_shape[0] * g.second_shape[1] * g.second_shape[2], g.second_shape[3]}}, {{g.second_shape[3], 1}});
        const Geometry keys{g.second_shape, g.leading, heads, g.parameter_shape, {}, {}};
        c.inputs.emplace_back(input.name, draw_rows(s, {dtype, keys, regime, setting.epsilon}));
        break;
      }
      case Role::kRunningMean:
      case Role::kRunningVariance:
        c.inputs.emplace_back(input.name, draw_running_statistic(call, setting, *c.inputs.front().second, parameters,
                                                                 input.role == Role::kRunningVariance, c.integer("training", 0) == 1));
        break;
      default:
        c.inputs.emplace_back(input.name, draw_parameter(call.sub(input.name), input, parameters, g, regime, c.number("weight_offset", 0)));
    }
  }
  return c;
}

Case generate(std::uint64_t seed, std::string_view op, DType dtype, std::uint64_t index, const GeneratorOptions& options) {
  const Stream root = case_stream(seed, op, dtype, index);
  const OpPlan* plan = find_plan(op);
  const Regime* regime = draw_regime(root.sub("regime"), options.regime);
  if (!plan || !regime) {  // a case without inputs, which validate() refuses
    Case c;
    c.op = op;
    c.note = !plan ? "the generator knows no op of this name" : "the generator knows no regime named " + options.regime;
    return c;
  }
  Case c = assemble({*plan, *regime, dtype, draw_op_extent(root, *plan, *regime, options), root.sub("geometry"), root, root});
  c.provenance = Provenance{kGeneratorVersion, seed, index, std::string(regime->info.name)};
  return c;
}

}  // namespace normfuzz
