// Every property that asks a kernel catches a wrong one: the correctly rounded kernel with one change.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/oracles/theorems/run_property.h"

namespace normfuzz {
namespace {

using namespace testing;

Kernel on_changed_case(std::function<void(Case&)> change) {
  return [change = std::move(change)](const Case& c) {
    Case other = c;
    change(other);
    return correct(other);
  };
}
Kernel with_changed_output(std::function<double(const Case&, std::string_view, std::int64_t, double)> change) {
  return [change = std::move(change)](const Case& c) {
    NamedTensors out = correct(c);
    for (auto& [name, t] : out)
      for (std::int64_t i = 0, n = t.size(); i < n; ++i) t.set_value(i, change(c, name, i, t.value(i)));
    return out;
  };
}
Kernel epsilon_is(double e) {
  return on_changed_case([e](Case& c) { c.params["epsilon"] = e; });
}
bool far_from(const Case& c, std::string_view op) { return c.op != op; }

// One unit up in the last place of everything that is positive.
double rounded_up(const Case& c, double v) {
  if (!(v > 0) || !std::isfinite(v)) return v;
  return value_from_bits(c.dtype(), next_up_bits(c.dtype(), bits_from_value(c.dtype(), v)));
}

struct Catch {
  const char* id;
  Kernel kernel;
};

const std::vector<Catch>& catches() {
  static const std::vector<Catch> list = {
      {"rms.scale_moves_epsilon", epsilon_is(0.125)},
      {"rms.power_of_two_scale", epsilon_is(0.125)},
      {"rms.scale_drift", epsilon_is(0)},
      {"rms.scale_invariant", epsilon_is(0.125)},
      {"rms.output_rms_one", with_changed_output([](const Case&, std::string_view, std::int64_t, double v) { return 2 * v; })},
      {"ln.output_length", with_changed_output([](const Case&, std::string_view, std::int64_t, double v) { return 2 * v; })},
      {"ln.constant_row", with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) { return rounded_up(c, v); })},
      {"ln.normalized_bounded", with_changed_output([](const Case&, std::string_view, std::int64_t, double v) { return 8 * v; })},
      {"ln.one_feature_spec_values",
       with_changed_output([](const Case&, std::string_view name, std::int64_t, double v) { return name == "dbias" ? 0 : v; })},
      {"bit.sign_symmetry", with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) { return rounded_up(c, v); })},
      {"bit.row_independence", with_changed_output([](const Case& c, std::string_view, std::int64_t i, double v) {
         return i >= find_op(c.op)->rows(c).cols() ? rounded_up(c, v) : v;
       })},
      {"bit.layout", with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) {
         return c.inputs[0].second->strides.back() == 1 ? v : rounded_up(c, v);
       })},
      {"bit.alignment", with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) {
         return c.inputs[0].second->misalign % 16 == 0 ? v : rounded_up(c, v);
       })},
      {"bit.thread_count",
       with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) { return c.threads > 1 ? rounded_up(c, v) : v; })},
      {"bit.identity_parameters", with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) {
         return c.input("weight") && c.input("bias") ? v : rounded_up(c, v);
       })},
      {"chan.equals_rows", with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) {
         return c.op == "layer_norm" ? v : rounded_up(c, v);
       })},
      {"chan.row_affine",
       with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) { return c.input("weight") ? 2 * v + 1 : v; })},
      {"chan.vjp", with_changed_output([](const Case&, std::string_view, std::int64_t, double v) { return 2 * v + 1; })},
      {"chan.gamma_contract", with_changed_output([](const Case& c, std::string_view name, std::int64_t, double v) {
         return name == "dweight" && far_from(c, "layer_norm_backward") ? 2 * v + 1 : v;
       })},
      {"chan.beta_contract", with_changed_output([](const Case& c, std::string_view name, std::int64_t, double v) {
         return name == "dbias" && far_from(c, "layer_norm_backward") ? 2 * v + 1 : v;
       })},
      {"chan.sgd_gamma", on_changed_case([](Case& c) {
         if (c.params.count("learning_rate")) c.params["learning_rate"] = -c.number("learning_rate", 0);
       })},
      {"chan.sgd_beta", on_changed_case([](Case& c) {
         if (c.params.count("learning_rate")) c.params["learning_rate"] = -c.number("learning_rate", 0);
       })},
      {"norm.homogeneous", with_changed_output([](const Case&, std::string_view, std::int64_t, double v) { return v * v; })},
      {"norm.triangle", with_changed_output([](const Case&, std::string_view, std::int64_t, double v) { return v * v; })},
      {"norm.l2_l1_sqrt_n",
       with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) { return c.number("p", 2) == 2 ? v * v : v; })},
      {"norm.distance",
       with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) { return c.op == "distance" ? v + 0.25 : v; })},
      {"norm.rms_definition",
       with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) { return c.op == "rms" ? 1.25 * v : v; })},
      {"unit.length_one", with_changed_output([](const Case&, std::string_view, std::int64_t, double v) { return 1.25 * v; })},
      {"cosine.unit_dot",
       with_changed_output([](const Case& c, std::string_view, std::int64_t, double v) { return c.op == "cosine" ? 1.25 * v : v; })},
      {"chan.not_whole_map", nullptr},  // below
  };
  return list;
}

// channel_layer_norm over all channels and positions of an image.
NamedTensors whole_map_kernel(const Case& c) {
  const Tensor& x = *c.input("x");
  const std::int64_t batch = x.rank() == 3 ? 1 : x.shape[0], size = x.size() / batch;
  const RowView view = find_op(c.op)->rows(c);
  Case whole = c;
  whole.op = "layer_norm";
  whole.params.erase("layout");
  whole.set_input("weight", std::nullopt);
  whole.set_input("bias", std::nullopt);
  Tensor flat = Tensor::zeros(x.dtype, {batch, size});
  flat.data = x.data;
  whole.set_input("x", std::move(flat));
  const NamedTensors normalized = correct(whole);
  NamedTensors out = find_op(c.op)->output_layouts(c);
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i) {
      const std::int64_t at = view.index(r, i);
      const double weight = c.input("weight") ? c.input("weight")->value(i) : 1, bias = c.input("bias") ? c.input("bias")->value(i) : 0;
      out[0].second.set_value(at, normalized[0].second.value(at) * weight + bias);
    }
  return out;
}

TEST(Caught, EveryPropertyThatAsksAKernelCatchesAWrongOne) {
  for (const Property* p : all_properties()) {
    if (!p->check) continue;
    const auto it = std::find_if(catches().begin(), catches().end(), [&](const Catch& c) { return p->id == c.id; });
    ASSERT_TRUE(it != catches().end()) << p->id << ": no wrong kernel is named";
    const Kernel kernel = it->kernel ? it->kernel : Kernel(whole_map_kernel);
    const Count n = over_cases(*p, 800, [&](const Case& c, const PropertyArgs& args) { return run_property(*p, c, args, kernel); });
    EXPECT_GT(n.broken, 0) << p->id << ": " << n.met << " of " << n.tried << " met";
    EXPECT_FALSE(n.detail.empty()) << p->id;
  }
}

// What a claim asks for exactly is asked of nobody else.
TEST(Caught, AnUnclaimedExactRowIsJudgedByItsBound) {
  const Property& p = *find_property("ln.constant_row");
  Case c = generate(3, "layer_norm", DType::kF32, 1, {"gaussian", 24, false});
  const PropertyArgs args = *p.choose(c, 1);
  std::vector<Case> cases = p.derive(c, args);
  cases.insert(cases.begin(), c);
  for (const bool claimed : {false, true}) {
    Contract contract = *contract_named("standard", DType::kF32);
    contract.claims["exact_constant_row"] = claimed;
    std::vector<NamedTensors> outputs;
    std::vector<std::unique_ptr<CaseBounds>> bounds;
    std::vector<PropertyRun> runs;
    for (const Case& one : cases) {
      outputs.push_back(correct(one));
      bounds.push_back(std::make_unique<CaseBounds>(one, contract));
    }
    Tensor& y = outputs[1][0].second;
    y.set_bits(0, next_up_bits(y.dtype, y.bits(0)));
    for (std::size_t i = 0; i < cases.size(); ++i) runs.push_back({&cases[i], &outputs[i], &contract, bounds[i].get()});
    const PropertyResult r = p.check(runs, args);
    EXPECT_EQ(r.state == PropertyResult::State::kBroken, claimed) << r.detail;
    EXPECT_EQ(r.kind, PropertyKind::kExact);
  }
}

// A wrong oracle: the enclosures of another call than the one that is looked at.
PropertyResult with_wrong_oracle(const Property& p, const Case& base, const PropertyArgs& args,
                                 const std::function<void(Case&, std::size_t run)>& corrupt) {
  const Contract contract = *contract_named("standard", base.dtype());
  std::vector<Case> cases = {base};
  if (p.derive)
    for (Case& c : p.derive(base, args)) cases.push_back(std::move(c));
  std::vector<Case> wrong = cases;
  std::vector<std::unique_ptr<CaseBounds>> bounds;
  std::vector<PropertyRun> runs;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    corrupt(wrong[i], i);
    bounds.push_back(std::make_unique<CaseBounds>(wrong[i], contract));
  }
  for (std::size_t i = 0; i < cases.size(); ++i) runs.push_back({&cases[i], nullptr, &contract, bounds[i].get()});
  return p.check_oracle(runs, args);
}

TEST(Caught, EveryPropertyOfTheOracleCatchesAWrongOne) {
  const std::map<std::string_view, std::function<void(Case&, std::size_t)>> corruptions = {
      {"rms.scale_moves_epsilon",
       [](Case& c, std::size_t run) {
         if (run == 1) c.params["epsilon"] = 0.125;
       }},
      {"norm.triangle",
       [](Case& c, std::size_t run) {
         if (run == 2) c.params["p"] = 1.0;
       }},
      {"norm.l2_l1_sqrt_n",
       [](Case& c, std::size_t run) {
         if (run == 1) c.params["p"] = 4.0;
       }},
      {"norm.p_family",
       [](Case& c, std::size_t run) {
         if (run == 1) c.params["p"] = 4.0;
       }},
      {"chan.equals_rows",
       [](Case& c, std::size_t run) {
         if (run == 1) c.params["epsilon"] = 0.125;
       }},
      {"chan.vjp",
       [](Case& c, std::size_t) {
         if (c.op == "layer_norm_backward") c.op = "rms_norm_backward";  // has no term mean(g), and no mean
       }},
      {"chan.reindex_contract",
       [](Case& c, std::size_t run) {
         Tensor& dy = *c.input("dy");
         for (std::int64_t i = 0; run == 2 && i < find_op(c.op)->rows(c).cols(); ++i) dy.set_value(i, 0);  // forgets a row
       }},
      {"chan.differentiable",
       [](Case& c, std::size_t run) {
         if (run == 5) c.params["epsilon"] = 2 * c.epsilon();  // jumps at the smallest step
       }},
  };
  for (const Property* p : all_properties()) {
    if (!p->check_oracle) continue;
    ASSERT_TRUE(corruptions.count(p->id)) << p->id << ": no wrong oracle is named";
    const Count n =
        over_cases(*p, 800, [&](const Case& c, const PropertyArgs& args) { return with_wrong_oracle(*p, c, args, corruptions.at(p->id)); });
    EXPECT_GT(n.broken, 0) << p->id << ": " << n.met << " of " << n.tried << " met";
  }
}

}  // namespace
}  // namespace normfuzz
