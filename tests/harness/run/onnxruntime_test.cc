// The onnxruntime target, where it is installed, on inputs whose result every kernel gets exactly: mean 0, variance and mean square 1,
// epsilon 0.
#include "tests/harness/run/run_testing.h"

namespace normfuzz {
namespace {

class OnnxRuntime : public testing::Test {
 protected:
  void SetUp() override {
    const auto targets = load_targets(NORMFUZZ_BINARY_DIR "/targets");
    ASSERT_TRUE(targets) << targets.error();
    for (const Target& t : *targets)
      if (t.name == "onnxruntime") target_ = t;
    ASSERT_EQ(target_.name, "onnxruntime");
    if (!target_.unavailable.empty()) GTEST_SKIP() << target_.unavailable;
  }
  std::vector<Outcome> run(const std::vector<Case>& cases, const std::string& variant = "") const {
    const WorkerLimits limits = quick_limits();
    for (const Variant& v : target_.variants)
      if (v.name == variant) return Worker::create({target_, v}, limits)->run(pointers(cases));
    ADD_FAILURE() << "no variant " << variant;
    return {};
  }
  Target target_;
};

// Two rows of -1, 1, -1, 1; weight 2, 4, 8, 16 and bias 1 where wanted. y = x weight + bias.
Case exact_case(const std::string& op, DType dtype, bool weight = true, bool bias = true) {
  Case c = small_case(2, 4, dtype);
  c.op = op;
  c.params["epsilon"] = 0.0;
  for (std::int64_t i = 0; i < 8; ++i) c.input("x")->set_value(i, i % 2 ? 1 : -1);
  Tensor parameter = Tensor::zeros(dtype, {4});
  for (std::int64_t i = 0; i < 4; ++i) parameter.set_value(i, static_cast<double>(2 << i));
  if (weight) c.set_input("weight", parameter);
  for (std::int64_t i = 0; i < 4; ++i) parameter.set_value(i, 1);
  if (bias && op == "layer_norm") c.set_input("bias", parameter);
  if (op == "rms_norm") std::erase_if(c.inputs, [](const auto& input) { return input.first == "bias"; });
  return c;
}

void expect_exact(const Outcome& o, const Case& c) {
  ASSERT_EQ(o.kind, OutcomeKind::kOk) << o.message;
  EXPECT_TRUE(o.memory.clean()) << o.memory.detail;
  const Tensor &x = *c.input("x"), *w = c.input("weight"), *b = c.input("bias");
  for (std::int64_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(o.outputs[0].second.value(i), x.value(i) * (w ? w->value(i % w->size()) : 1) + (b ? b->value(i % b->size()) : 0)) << i;
}

TEST_F(OnnxRuntime, EveryOperatorTypeAndParameterSet) {
  for (const std::string variant : {"", "simplified", "unoptimized"}) {
    std::vector<Case> cases;
    for (const std::string op : {"layer_norm", "rms_norm"})
      for (const DType d : kAllDTypes)
        for (const bool weight : {false, true})
          for (const bool bias : {false, true}) cases.push_back(exact_case(op, d, weight, bias));
    const auto outcomes = run(cases, variant);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(variant + " " + cases[i].op + " " + std::string(name_of(cases[i].dtype())));
      const bool only_rms = variant == "simplified" && cases[i].op == "layer_norm";
      const bool no_kernel = variant != "simplified" && cases[i].op == "rms_norm" && cases[i].dtype() == DType::kBF16;
      if (only_rms || no_kernel)
        EXPECT_EQ(outcomes[i].kind, OutcomeKind::kUnsupported) << outcomes[i].message;
      else
        expect_exact(outcomes[i], cases[i]);
    }
  }
}

TEST_F(OnnxRuntime, AnyLayoutAxisAndAlignment) {
  std::vector<Case> cases(4, exact_case("layer_norm", DType::kF32));
  cases[0].input("x")->strides = {9, 2};
  cases[0].input("x")->offset = 3;
  cases[0].input("weight")->strides = {3};
  cases[1].input("x")->misalign = 4;
  cases[2].input("x")->shape = {1, 2, 4};
  cases[2].input("x")->strides = {8, 4, 1};
  cases[2].params["normalized_axis"] = std::int64_t{2};
  cases[3].input("x")->shape = {2, 2, 2};
  cases[3].input("x")->strides = {4, 2, 1};
  cases[3].input("weight")->shape = cases[3].input("bias")->shape = {2, 2};
  cases[3].input("weight")->strides = cases[3].input("bias")->strides = {2, 1};
  cases[3].params["normalized_axis"] = std::int64_t{-2};
  const auto outcomes = run(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) expect_exact(outcomes[i], cases[i]);
}

TEST_F(OnnxRuntime, DeclinesWhatItHasNot) {
  std::vector<Case> cases = {exact_case("rms_norm", DType::kF32), exact_case("layer_norm", DType::kF16)};
  cases[0].params["weight_offset"] = 1.0;
  cases[1].set_input("weight", exact_case("layer_norm", DType::kF32).inputs[1].second);
  const auto outcomes = run(cases);
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::kUnsupported);
  EXPECT_EQ(outcomes[0].message, "the operator has no weight offset");
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::kUnsupported);
  EXPECT_EQ(outcomes[1].message, "x and its parameters of different types");
}

// Of four twos: x / |x|_1 = 1/4, x / |x|_2 = 1/2, along either axis of a matrix of them.
TEST_F(OnnxRuntime, LpNormalization) {
  std::vector<Case> cases;
  for (const double p : {1.0, 2.0, 3.0})
    for (const std::int64_t axis : {0, 1}) {
      Case c;
      c.op = "lp_normalize";
      c.params["p"] = p;
      c.params["axis"] = axis;
      Tensor x = Tensor::zeros(DType::kF32, axis == 0 ? std::vector<std::int64_t>{4, 3} : std::vector<std::int64_t>{3, 4});
      for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, 2);
      c.set_input("x", std::move(x));
      cases.push_back(std::move(c));
    }
  cases.push_back(cases[2]);
  cases.back().params["epsilon_mode"] = std::string("add_inside");
  cases.back().params["epsilon"] = 1.0;
  const auto outcomes = run(cases);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(outcomes[i].kind, OutcomeKind::kOk) << outcomes[i].message;
    for (const double y : outcomes[i].outputs[0].second.values()) EXPECT_EQ(y, i < 2 ? 0.25 : 0.5) << i;
  }
  for (const std::size_t i : {4, 5, 6}) EXPECT_EQ(outcomes[i].kind, OutcomeKind::kUnsupported);
}

}  // namespace
}  // namespace normfuzz
