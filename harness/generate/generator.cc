#include "harness/generate/generator.h"

#include "harness/generate/activations.h"
#include "harness/generate/layout.h"
#include "harness/generate/parameters.h"
#include "harness/generate/plan.h"
#include "harness/generate/regime.h"
#include "harness/generate/shape.h"
#include "harness/generate/store.h"
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

void store_row(Tensor& t, const RowView& rows, std::int64_t row, std::span<const double> values) {
  if (rows.contiguous()) return store_values(t, rows.index(row, 0), values);
  for (std::size_t i = 0; i < values.size(); ++i) t.set_value(rows.index(row, static_cast<std::int64_t>(i)), values[i]);
}

Tensor draw_rows(Stream s, DType dtype, const Geometry& g, const Regime& regime, double epsilon) {
  Tensor t = Tensor::zeros(dtype, g.shape);
  // Some cases say one row several times: equal rows must give equal outputs whatever their place.
  const bool repeat = !regime.rows_related && s.sub("repeat").chance(4);
  std::vector<double> values(static_cast<std::size_t>(g.rows.cols()));
  const Stream rows = s.sub("rows"), shared = s.sub("shared");
  for (std::int64_t r = 0; r < g.rows.rows(); ++r) {
    if (r == 0 || !repeat) {
      RowDraw draw{rows.sub(static_cast<std::uint64_t>(r)), shared, dtype, epsilon, r, g.rows.rows()};
      regime.fill(draw, values);
    }
    store_row(t, g.rows, r, values);
  }
  draw_layout(s.sub("layout"), t, g.leading, !regime.rows_related);
  make_consistent(t);
  return t;
}

// float32 parameters beside 16-bit rows in 15 of 100 such cases, as mixed-precision models keep them.
DType parameter_dtype(Stream s, DType dtype) { return format_of(dtype).bytes == 2 && s.chance(15) ? DType::kF32 : dtype; }

std::optional<Tensor> draw_parameter(Stream s, const InputPlan& input, DType dtype, const Geometry& g, const Regime& regime,
                                     double weight_offset) {
  const bool is_weight = input.role == Role::kWeight;
  if (regime.real_parameters && s.sub("real").chance(70) && (is_weight || input.null_percent < 90))
    return repeat_into(is_weight ? activation_weight() : activation_bias(), dtype, g.parameter_shape);
  return is_weight ? draw_weight(s, dtype, g.parameter_shape, weight_offset) : draw_bias(s, dtype, g.parameter_shape, input.null_percent);
}

}  // namespace

Case generate(std::uint64_t seed, std::string_view op, DType dtype, std::uint64_t index, const GeneratorOptions& options) {
  Case c;
  c.op = op;
  const Stream root = case_stream(seed, op, dtype, index);
  const OpPlan* plan = find_plan(op);
  const Regime* regime = draw_regime(root.sub("regime"), options.regime);
  if (!plan || !regime) {  // a case without inputs, which validate() refuses
    c.note = !plan ? "the generator knows no op of this name" : "the generator knows no regime named " + options.regime;
    return c;
  }
  const Geometry g = plan->geometry(root.sub("geometry"), draw_extent(root.sub("extent"), *regime, options), c);
  double epsilon = draw_epsilon(root.sub("epsilon"), regime->epsilon);
  if (regime->real_parameters && root.sub("real epsilon").chance(50)) epsilon = static_cast<double>(static_cast<float>(kActivationEpsilon));
  double weight_offset = 0;
  if (plan->has_weight_offset && root.sub("weight_offset").chance(20)) c.params["weight_offset"] = weight_offset = 1;
  c.params["epsilon"] = epsilon;
  const DType parameters = parameter_dtype(root.sub("parameter dtype"), dtype);
  c.inputs.reserve(plan->inputs.size());
  for (const InputPlan& input : plan->inputs) {
    const Stream s = root.sub(input.name);
    if (input.role == Role::kRows)
      c.inputs.emplace_back(input.name, draw_rows(s, dtype, g, *regime, epsilon));
    else
      c.inputs.emplace_back(input.name, draw_parameter(s, input, parameters, g, *regime, weight_offset));
  }
  c.provenance = Provenance{kGeneratorVersion, seed, index, std::string(regime->info.name)};
  return c;
}

}  // namespace normfuzz
