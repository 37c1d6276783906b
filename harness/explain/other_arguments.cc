// The op itself, called with something else than it was given.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "harness/explain/alternatives.h"
#include "harness/shrink/edit.h"
#include "oracles/case_bounds.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bounds of another case, whose outputs stand for those of the first by name and index.
AlternativeBounds bounds_of_case(Case other, const Contract& contract) {
  struct State {
    explicit State(Case c, const Contract& contract) : content(std::move(c)), bounds(content, contract) {}
    Case content;
    CaseBounds bounds;
  };
  auto state = std::make_shared<State>(std::move(other), contract);
  return [state](std::string_view output, std::int64_t index) -> std::optional<ElementBound> {
    for (const auto& [name, t] : find_op(state->content.op)->output_layouts(state->content))
      if (name == output && index < t.size()) return state->bounds.of(output, index);
    return std::nullopt;
  };
}

class Calls {
 public:
  Calls(const Case& c, const Contract& contract) : c_(c), contract_(contract) {}

  void add(std::string name, const char* family, Case other) {
    if (!validate(other) || digest(other) == digest(c_)) return;
    const auto mine = find_op(c_.op)->output_layouts(c_), its = find_op(other.op)->output_layouts(other);
    if (its[0].second.size() != mine[0].second.size()) return;
    out_.push_back({std::move(name), family, bounds_of_case(std::move(other), contract_)});
  }
  void add_param(std::string name, const char* family, const char* param, ParamValue value) {
    Case other = c_;
    other.params[param] = std::move(value);
    add(std::move(name), family, std::move(other));
  }
  void add_op(std::string name, const char* family, const char* op, const std::vector<const char*>& dropped_params,
              const std::vector<const char*>& dropped_inputs) {
    Case other = c_;
    other.op = op;
    for (const char* p : dropped_params) other.params.erase(p);
    std::erase_if(other.inputs, [&](const auto& in) {
      return std::find(dropped_inputs.begin(), dropped_inputs.end(), in.first) != dropped_inputs.end();
    });
    add(std::move(name), family, std::move(other));
  }
  std::vector<Alternative> take() { return std::move(out_); }

 private:
  const Case& c_;
  const Contract& contract_;
  std::vector<Alternative> out_;
};

// All rows of dy but one, or one, left out.
Case one_row_of_dy(const Case& c, std::int64_t row, bool only) {
  std::int64_t r = 0;
  return with_each_row(c, "dy", [&](double* v, std::int64_t n) {
    if ((r++ == row) == only) return;
    std::fill(v, v + n, 0.0);
  });
}

void of_gradients(const Case& c, Calls& calls) {
  const std::int64_t last = shape_of(c).rows - 1;
  if (last > 0) {
    calls.add("the last row only", "reduction over rows", one_row_of_dy(c, last, true));
    calls.add("the first row only", "reduction over rows", one_row_of_dy(c, 0, true));
    calls.add("the last row left out", "reduction over rows", one_row_of_dy(c, last, false));
    calls.add("the first row left out", "reduction over rows", one_row_of_dy(c, 0, false));
  }
  calls.add("the cotangent taken as all ones", "cotangent", with_input(c, "dy", mapped(*c.input("dy"), [](double) { return 1.0; })));
  if (const Tensor* weight = c.input("weight"); weight && find_op(c.op)->shape == OutputShape::kGradients) {
    calls.add("the weight ignored", "parameters",
              without_param(with_input(c, "weight", mapped(*weight, [](double) { return 1.0; })), "weight_offset"));
    calls.add("weight_offset ignored", "parameters", without_param(c, "weight_offset"));
    calls.add("1 added to the weight", "parameters", with_input(c, "weight", mapped(*weight, [](double w) { return w + 1; })));
  }
  calls.add_param("epsilon dropped", "epsilon", "epsilon", 0.0);
  for (const auto& [name, value] : {std::pair{"1e-5", 1e-5f}, {"1e-6", 1e-6f}, {"1e-8", 1e-8f}, {"1e-12", 1e-12f}})
    calls.add_param(fmt::format("epsilon fixed at {}", name), "epsilon", "epsilon", static_cast<double>(value));
  if (!c.params.count("learning_rate")) return;
  const double rate = c.number("learning_rate", 0);
  calls.add_param("a step of the opposite sign", "update", "learning_rate", -rate);
  calls.add_param("the learning rate squared", "update", "learning_rate", rate * rate);
  calls.add_param("the learning rate ignored", "update", "learning_rate", 1.0);
  calls.add_param("no step at all", "update", "learning_rate", 0.0);
}

void of_batches(const Case& c, Calls& calls) {
  if (c.params.count("momentum"))
    calls.add_param("momentum and 1 - momentum swapped", "running statistics", "momentum", 1 - c.number("momentum", 0));
  calls.add_param("the population's variance in the running one", "running statistics", "variance", std::string("population"));
  calls.add_param("the sample's variance in the running one", "running statistics", "variance", std::string("sample"));
  calls.add_param("epsilon dropped", "epsilon", "epsilon", 0.0);
  for (const auto& [name, value] : {std::pair{"1e-5", 1e-5f}, {"1e-3", 1e-3f}})
    calls.add_param(fmt::format("epsilon fixed at {}", name), "epsilon", "epsilon", static_cast<double>(value));
  if (c.integer("training", 0) == 0)
    calls.add_param("the batch's statistics instead of the running ones", "statistics", "training", std::int64_t{1});
  if (c.input("running_mean")) calls.add_param("the running statistics instead of the batch's", "statistics", "training", std::int64_t{0});
}

void of_residuals(const Case& c, Calls& calls) {
  const Tensor zero = mapped(*c.input("residual"), [](double) { return 0.0; });
  calls.add("the residual left out", "residual", with_input(c, "residual", zero));
  calls.add("x left out", "residual", with_input(c, "x", zero));
  calls.add_param("epsilon dropped", "epsilon", "epsilon", 0.0);
}

void of_norms(const Case& c, Calls& calls) {
  const Formula formula = find_op(c.op)->formula;
  if (takes(c, "p"))
    for (const auto& [name, p] : {std::pair{"the L1 norm", 1.0}, {"the L2 norm", 2.0}, {"the largest magnitude", kInfinity}})
      if (p != c.number("p", 2)) calls.add_param(name, "norm", "p", p);
  if (formula == Formula::kLpNorm && c.number("p", 2) == 2) calls.add_op("the mean instead of the sum", "norm", "rms", {"p"}, {});
  if (formula == Formula::kRms) calls.add_op("the sum instead of the mean", "norm", "lp_norm", {"epsilon"}, {});
  if (c.epsilon() != 0) calls.add("epsilon dropped", "epsilon", without_param(without_param(c, "epsilon"), "epsilon_mode"));
  if (formula == Formula::kLpNormalize || formula == Formula::kCosine)
    for (const auto& [mode, name] : {std::pair{"add_inside", "epsilon added under the root"},
                                     {"add_outside", "epsilon added outside of the root"},
                                     {"max_norm", "the norm at least epsilon"},
                                     {"max_square", "the squared norm at least epsilon"}})
      if (c.epsilon() != 0 && c.text("epsilon_mode", "none") != mode) calls.add_param(name, "epsilon", "epsilon_mode", std::string(mode));
  if (formula == Formula::kDistance) {
    const auto absolute = [](double v) { return std::fabs(v); };
    calls.add("differences of magnitudes", "norm",
              with_input(with_input(c, "a", mapped(*c.input("a"), absolute)), "b", mapped(*c.input("b"), absolute)));
    calls.add("the sum instead of the difference", "norm", with_input(c, "b", mapped(*c.input("b"), [](double v) { return -v; })));
    calls.add("b ignored", "norm", with_input(c, "b", mapped(*c.input("b"), [](double) { return 0.0; })));
  }
  for (int axis = 0; axis < main_input(c).rank(); ++axis)
    calls.add_param(fmt::format("rows along axis {}", axis), "axis and layout", "axis", std::int64_t{axis});
}

// A compiler that took one graph for another.
void of_graphs(const Case& c, Calls& calls) {
  for (const auto& [pattern, name] : {std::pair{"exact", "layer_norm itself: the graph was taken for it"},
                                      {"exponent_4", "Pow(d, 4) for another exponent"},
                                      {"swapped_sub", "mean - x for x - mean"},
                                      {"swapped_div", "the quotient turned over"}})
    if (c.text("pattern", "exact") != pattern) calls.add_param(name, "graph fusion", "pattern", std::string(pattern));
  if (c.epsilon() != 0) calls.add_param("epsilon dropped", "epsilon", "epsilon", 0.0);
}

}  // namespace

std::vector<Alternative> other_arguments(const Case& c, const Contract& contract) {
  Calls calls(c, contract);
  if (c.input("dy"))
    of_gradients(c, calls);
  else if (find_op(c.op)->formula == Formula::kLayerNormGraph)
    of_graphs(c, calls);
  else if (find_op(c.op)->shape == OutputShape::kStatistics)
    of_batches(c, calls);
  else if (c.input("residual"))
    of_residuals(c, calls);
  else if (!find_op(c.op)->affine())
    of_norms(c, calls);
  return calls.take();
}

}  // namespace normfuzz
