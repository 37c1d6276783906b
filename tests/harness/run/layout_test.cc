// What a target sees is the case's own layout: shape, strides, offset and misalignment, for C and Python targets, in every format.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "tests/harness/run/run_testing.h"

namespace normfuzz {
namespace {

// Random bits in every element, so that a wrong place shows; NaNs excepted, because one bit pattern of them means "not written".
Case layout_case(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::int64_t offset, int misalign) {
  Case c = small_case(1, 1, dtype);
  Tensor x = Tensor::zeros(dtype, std::move(shape));
  if (!strides.empty()) x.strides = std::move(strides);
  x.offset = offset;
  x.misalign = misalign;
  std::mt19937_64 random(20240501);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::uint64_t bits = random() & (~std::uint64_t{0} >> (64 - 8 * x.element_bytes()));
    if (is_nan_bits(dtype, bits)) bits = 0;
    x.set_bits(i, bits);
  }
  // Elements at one address hold one value.
  const std::vector<std::int64_t> offsets = x.element_offsets();
  for (std::int64_t i = 0; i < x.size(); ++i)
    for (std::int64_t j = 0; j < i; ++j)
      if (offsets[static_cast<std::size_t>(i)] == offsets[static_cast<std::size_t>(j)]) x.set_bits(i, x.bits(j));
  c.set_input("x", std::move(x));
  return c;
}

std::vector<Case> all_layouts() {
  std::vector<Case> cases;
  for (const DType d : kAllDTypes) {
    const int element = format_of(d).bytes;
    cases.push_back(layout_case(d, {2, 4}, {}, 0, 0));
    cases.push_back(layout_case(d, {2, 4}, {7, 1}, 0, 0));             // padded rows
    cases.push_back(layout_case(d, {2, 4}, {1, 2}, 0, 0));             // column-major
    cases.push_back(layout_case(d, {3, 4}, {0, 1}, 0, 0));             // one row seen three times
    cases.push_back(layout_case(d, {3, 4}, {1, 0}, 0, 0));             // one column seen four times
    cases.push_back(layout_case(d, {2, 4}, {}, 5, 0));                 // begins inside its buffer
    cases.push_back(layout_case(d, {2, 4}, {}, 0, element));           // off by one element
    cases.push_back(layout_case(d, {2, 4}, {9, 2}, 3, 64 - element));  // everything at once
    cases.push_back(layout_case(d, {5}, {3}, 1, 0));
    cases.push_back(layout_case(d, {2, 1, 3, 2, 4}, {100, 17, 30, 13, 3}, 2, 2 * element));
    cases.push_back(layout_case(d, {1, 1, 1, 1, 1, 1, 1, 3}, {}, 0, 0));
    cases.push_back(layout_case(d, {65, 33}, {40, 1}, 0, 0));
  }
  return cases;
}

class LayoutOf : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("py") && !python_has_numpy()) GTEST_SKIP() << default_python() << " has no NumPy";
  }
};
INSTANTIATE_TEST_SUITE_P(, LayoutOf, testing::Values("so", "py"),
                         [](const auto& info) { return std::string(info.param) == "so" ? "C" : "Python"; });

TEST_P(LayoutOf, EveryElementArrivesAndComesBack) {
  const auto worker = Worker::create(plugin(std::string("mirror.") + GetParam()), quick_limits());
  const std::vector<Case> cases = all_layouts();
  const auto outcomes = worker->run(pointers(cases));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(outcomes[i].kind, OutcomeKind::kOk) << i << ": " << outcomes[i].message;
    EXPECT_TRUE(outcomes[i].memory.clean()) << i << ": " << outcomes[i].memory.detail;
    EXPECT_EQ(outcomes[i].outputs[0].second.data, cases[i].input("x")->data) << i;
  }
}

std::string described(const Tensor& x) {
  std::string text;
  for (std::size_t d = 0; d < x.shape.size(); ++d) text += "," + std::to_string(x.shape[d]) + "/" + std::to_string(x.strides[d]);
  return text;
}

std::int64_t address_mod_64(const Tensor& x) { return (x.misalign + x.offset * static_cast<std::int64_t>(x.element_bytes())) % 64; }

TEST(Layout, CSeesShapeStridesAndAlignment) {
  const auto worker = Worker::create(plugin("mirror.so"), quick_limits());
  const std::vector<Case> cases = all_layouts();
  const auto outcomes = worker->run(pointers(cases));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Tensor& x = *cases[i].input("x");
    const std::string expected = "layer_norm x=" + std::string(x.dtype == DType::kBF16 ? "4" : "2") + ":" +
                                 std::to_string(8 * x.element_bytes()) + "@" + std::to_string(address_mod_64(x)) + described(x) +
                                 " weight=absent bias=absent epsilon=0x1p-10";
    EXPECT_EQ(outcomes[i].message, expected);
  }
}

TEST(Layout, PythonSeesShapeStridesAndAlignment) {
  if (!python_has_numpy()) GTEST_SKIP() << default_python() << " has no NumPy";
  WorkerLimits limits = quick_limits();
  limits.log_path = testing::TempDir() + "normfuzz_layout_" + std::to_string(getpid()) + ".log";
  std::remove(limits.log_path.c_str());
  std::vector<Case> cases = {layout_case(DType::kF16, {2, 4}, {9, 2}, 3, 62), layout_case(DType::kF64, {3, 4}, {0, 1}, 0, 8)};
  cases[1].params["normalized_axis"] = std::int64_t{-2};
  Tensor bias = Tensor::zeros(DType::kF64, {4});
  bias.set_value(2, 0.5);
  cases[1].set_input("bias", bias);
  const auto worker = Worker::create(plugin("mirror.py"), limits);
  for (const Outcome& o : worker->run(pointers(cases))) ASSERT_EQ(o.kind, OutcomeKind::kOk) << o.message;
  std::ifstream log(limits.log_path);
  std::string first, second;
  std::getline(log, first);
  std::getline(log, second);
  EXPECT_EQ(first, "x float16 (2, 4) [9, 2] 4 bias None epsilon 0.0009765625 weight None");
  EXPECT_EQ(second, "x float64 (3, 4) [0, 1] 8 bias [0.0, 0.0, 0.5, 0.0] epsilon 0.0009765625 normalized_axis -2 weight None");
}

TEST(Layout, CSeesEveryKindOfParameter) {
  const auto worker = Worker::create(plugin("mirror.so"), quick_limits());
  std::vector<Case> cases = {small_case(1, 2)};
  cases[0].params["normalized_axis"] = std::int64_t{-1};
  cases[0].params["layout"] = std::string("nhwc");
  EXPECT_EQ(worker->run(pointers(cases))[0].message,
            "layer_norm x=2:32@0,1/2,2/1 weight=absent bias=absent epsilon=0x1p-10 layout=nhwc normalized_axis=-1");
}

}  // namespace
}  // namespace normfuzz
