// op(..., arrays=...): a Python target that works on the tensors of a framework, for each one that is installed.
#include <fstream>

#include "tests/harness/run/run_testing.h"

namespace normfuzz {
namespace {

bool imports(const std::string& python, const std::string& package) {
  return std::system(("'" + python + "' -c 'import numpy, " + package + "' >/dev/null 2>&1").c_str()) == 0;
}

class Arrays : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    choice_ = plugin("arrays.py");
    choice_.variant.env["NORMFUZZ_TEST_ARRAYS"] = GetParam();
    std::ifstream(NORMFUZZ_BINARY_DIR "/targets/" + std::string(GetParam()) + "/python.txt") >> choice_.target.python;
    const std::string package = GetParam() == std::string("mlx") ? "mlx.core" : GetParam();
    if (!imports(choice_.target.python, package)) choice_.target.python = default_python();
    if (!imports(choice_.target.python, package)) GTEST_SKIP() << "no Python with " << GetParam() << " (NORMFUZZ_PYTHON names one)";
  }
  TargetChoice choice_;
};

TEST_P(Arrays, DenseAndStridedOfEveryType) {
  std::vector<Case> cases;
  for (const DType d : kAllDTypes) {
    cases.push_back(small_case(2, 3, d));
    Tensor x = Tensor::zeros(d, {2, 3});
    x.strides = {1, 5};
    x.offset = 2;
    x.misalign = 8;
    Case strided = small_case(2, 3, d);
    for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, static_cast<double>(i + 1));
    strided.set_input("x", std::move(x));
    cases.push_back(std::move(strided));
  }
  const auto outcomes = Worker::create(choice_, quick_limits())->run(pointers(cases));
  for (std::size_t k = 0; k < cases.size(); ++k) {
    SCOPED_TRACE(std::string(name_of(cases[k].dtype())) + (k % 2 ? " strided" : " dense"));
    ASSERT_EQ(outcomes[k].kind, OutcomeKind::kOk) << outcomes[k].message;
    EXPECT_TRUE(outcomes[k].memory.clean()) << outcomes[k].memory.detail;
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(outcomes[k].outputs[0].second.value(i), 2.0 * static_cast<double>(i + 1)) << i;
  }
}

TEST_P(Arrays, AnotherShapeIsRejected) {
  const std::vector<Case> cases = {small_case(1, 3)};
  const auto outcomes = Worker::create(choice_, quick_limits())->run(pointers(cases));
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::kRejected);
  EXPECT_NE(outcomes[0].message.find("expected float32 of shape (1, 3)"), std::string::npos) << outcomes[0].message;
}

INSTANTIATE_TEST_SUITE_P(Frameworks, Arrays, testing::Values("torch", "jax", "mlx"));

TEST(ArraysOf, AnUnknownFrameworkIsRefused) {
  if (!python_has_numpy()) GTEST_SKIP() << default_python() << " has no NumPy";
  TargetChoice choice = plugin("arrays.py");
  choice.variant.env["NORMFUZZ_TEST_ARRAYS"] = "cupy";
  const auto version = Worker::create(choice, quick_limits())->version();
  ASSERT_FALSE(version);
  EXPECT_NE(version.error().find("arrays='cupy', expected one of: numpy, torch, jax, mlx"), std::string::npos) << version.error();
}

}  // namespace
}  // namespace normfuzz
