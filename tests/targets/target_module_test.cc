// Any native target module, given by path, against the rules of target.h and against results that its contract forces: exact where a law
// forces them, else within the a-priori bound of ERROR_MODEL.md, computed here independently of the project's own libraries. What only some
// modules support may be refused, with a reason. Known divergences of frameworks are not the subject: a campaign finds those.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/targets/host_tensor.h"

namespace normfuzz::test {
namespace {

const nf_target* target = nullptr;

constexpr double kU = 0x1p-24;      // unit roundoff of float32, the accumulation type of all calls below but f64's
constexpr double kRsqrtUlps = 4;    // 'Contract fields': the default, and more than 1/sqrt in correctly rounded operations needs
constexpr double kEpsilon = 1e-5f;  // representable in float32
// The references are computed in long double with at most a few hundred operations on one row: 2^-50 of the magnitudes is ample for u =
// 2^-64.
constexpr double kReferenceError = 0x1p-50;

double gamma_bound(double k, double u = kU) { return k * u / (1 - k * u); }

// Deterministic values with 8 significant bits and a mean far from zero.
std::vector<double> sample(int64_t count, int64_t seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>((i * 37 + seed * 101 + i * i * 11) % 251 - 90) / 16);
  return values;
}

struct Expected {
  double value, bound;
};

using Vector = std::vector<double>;

// ERROR_MODEL.md, 'Chains for the moments and the forward map': the larger of two-pass and Welford with trees of unknown height, centred
// map. No eta terms: every intermediate of these inputs is zero or far from the subnormals.
std::vector<Expected> expect_layer_norm(const Vector& x, const Vector& weight, const Vector& bias, double epsilon) {
  const auto n = static_cast<double>(x.size());
  long double sum = 0, absolute = 0, squares = 0, deviations = 0;
  for (double value : x) sum += value, absolute += std::fabs(value);
  const long double mean = sum / n;
  for (double value : x) squares += (value - mean) * (value - mean), deviations += std::fabs(value - mean);
  const auto variance = static_cast<double>(squares / n), a = static_cast<double>(absolute);

  const double two_pass_mean = (n - 1) * kU * a / n, welford_mean = gamma_bound(7 * (n - 1)) * a / n;
  const double e_mean = std::max(two_pass_mean + 2 * kU * (1 + kU) * (std::fabs(static_cast<double>(mean)) + two_pass_mean), welford_mean);
  const auto e_difference = [&](double d) { return e_mean + kU * (std::fabs(d) + e_mean); };
  double centres = 0, radii = 0;
  for (double value : x) {
    const auto d = static_cast<double>(value - mean);
    const double e = 2 * std::fabs(d) * e_difference(d) + e_difference(d) * e_difference(d);
    centres += d * d;
    radii += e + kU * (d * d + e);
  }
  const double two_pass_sum = radii + (n - 1) * kU * (centres + radii);
  const double two_pass = (two_pass_sum + 2 * kU * (centres + two_pass_sum)) / n;
  const double f = 7 * kU * a, levels = std::ceil(std::log2(n));
  const double l = 4 * f * std::min(std::log(n) * static_cast<double>(deviations) / n, std::sqrt(std::max(1.0, levels / 2) * variance));
  const double e_variance = std::max(two_pass, l + gamma_bound(n + 7) * (variance + l) + 4 * levels * f * f);

  const double r = 1 / std::sqrt(variance + epsilon), ulps = 2 * kRsqrtUlps * kU;
  const double r_high = (1 + ulps) / std::sqrt((std::max(variance - e_variance, 0.0) + epsilon) * (1 - kU));
  const double r_low = (1 - ulps) / std::sqrt((variance + e_variance + epsilon) * (1 + kU));
  std::vector<Expected> expected;
  for (size_t i = 0; i < x.size(); ++i) {
    const double g = weight.empty() ? 1 : weight[i], b = bias.empty() ? 0 : bias[i];
    const auto d = static_cast<double>(x[i] - mean);
    const auto y = static_cast<double>((x[i] - mean) / std::sqrt(squares / n + epsilon) * g + b);
    double e = std::fabs(g) * (e_difference(d) * r_high + std::fabs(d) * std::max(r_high - r, r - r_low));
    for (int product = 0; product < 2; ++product) e += kU * (std::fabs(g * d * r) + e);
    e += kU * (std::fabs(y) + e);
    expected.push_back({y, e + kReferenceError * (std::fabs(y) + std::fabs(b) + a * r * std::fabs(g))});
  }
  return expected;
}

// ERROR_MODEL.md, 'RMSNorm', closed form with a divisor that need not be representable.
std::vector<Expected> expect_rms_norm(const Vector& x, const Vector& weight, double weight_offset, double epsilon) {
  const auto n = static_cast<double>(x.size());
  long double squares = 0;
  for (double value : x) squares += static_cast<long double>(value) * value;
  const auto mean_square = static_cast<double>(squares / n);
  const double t = mean_square / (mean_square + epsilon) * gamma_bound(n + 3) * (1 + kU) + kU;
  const double relative = (1 + 2 * kRsqrtUlps * kU) * std::pow(1 + kU, 3) / std::sqrt(1 - t) - 1;
  std::vector<Expected> expected;
  for (size_t i = 0; i < x.size(); ++i) {
    const double g = weight.empty() ? 1 : weight_offset + weight[i];
    const auto y = static_cast<double>(x[i] / std::sqrt(squares / n + epsilon) * g);
    expected.push_back({y, std::fabs(y) * (relative + kReferenceError)});
  }
  return expected;
}

void expect_within(const std::vector<Expected>& expected, const HostTensor& y, int64_t first, const char* what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double got = y.get(first + static_cast<int64_t>(i));
    EXPECT_TRUE(std::fabs(got - expected[i].value) <= expected[i].bound)
        << what << ", element " << first + static_cast<int64_t>(i) << ": got " << got << ", exact " << expected[i].value << ", allowed "
        << expected[i].bound;
  }
}

// A refusal carries a reason. Returns whether the call was carried out.
bool carried_out(const CallResult& result, const char* what) {
  if (result.status == NF_OK) return true;
  EXPECT_FALSE(result.message.empty()) << what << ": refused without a reason";
  std::cout << "  " << what << ": " << (result.status == NF_UNSUPPORTED ? "unsupported" : "rejected") << ", " << result.message << "\n";
  return false;
}

Vector slice(const Vector& values, int64_t first, int64_t count) { return {values.begin() + first, values.begin() + first + count}; }

// Runs layer_norm over rows of `cols` elements and checks every element.
void check_layer_norm(HostTensor& x, HostTensor* weight, HostTensor* bias, HostTensor& y, int64_t cols, int64_t axis, const char* what) {
  const CallResult result = run(*target, "layer_norm", {{"x", &x}, {"weight", weight}, {"bias", bias}}, {{"y", &y}},
                                {number("epsilon", kEpsilon), integer("normalized_axis", axis)});
  ASSERT_EQ(result.status, NF_OK) << what << ": " << result.message;
  const Vector values = x.values(), w = weight ? weight->values() : Vector(), b = bias ? bias->values() : Vector();
  for (int64_t first = 0; first < x.count(); first += cols)
    expect_within(expect_layer_norm(slice(values, first, cols), w, b, kEpsilon), y, first, what);
}

HostTensor filled(std::vector<int64_t> shape, int seed, std::vector<int64_t> strides = {}, size_t misalign = 0) {
  HostTensor tensor(Type::kF32, std::move(shape), std::move(strides), misalign);
  tensor.fill(sample(tensor.count(), seed));
  return tensor;
}

TEST(TargetModule, HasVersion) {
  ASSERT_EQ(target->abi_version, NORMFUZZ_ABI_VERSION);
  ASSERT_GE(target->struct_size, sizeof(nf_target));
  EXPECT_STRNE(target->version(), "");
  std::cout << "  " << target->version() << "\n";
}

TEST(TargetModule, OneFeatureIsBias) {
  HostTensor x(Type::kF32, {4, 1}), weight(Type::kF32, {1}), bias(Type::kF32, {1}), y(Type::kF32, {4, 1});
  x.fill({0, 1, -3, 100});
  weight.fill({2});
  bias.fill({7});
  const CallResult result =
      run(*target, "layer_norm", {{"x", &x}, {"weight", &weight}, {"bias", &bias}}, {{"y", &y}}, {number("epsilon", kEpsilon)});
  ASSERT_EQ(result.status, NF_OK) << result.message;
  EXPECT_EQ(y.values(), Vector(4, 7.0));
}

// Rows k (1, -1) with k a power of two and epsilon 0: mean and variance are exact in every algorithm, so only the reciprocal root (4 ulps,
// 8 u relative) and one rounding stand between y and +-1. In f16 and bf16 that rounds to +-1 exactly, because 9 u < u_out / 2.
TEST(TargetModule, PlusMinusOne) {
  const struct {
    Type type;
    const char* name;
    double bound;
  } rows[] = {
      {Type::kF64, "f64", gamma_bound(9, 0x1p-53)}, {Type::kF32, "f32", gamma_bound(9)}, {Type::kF16, "f16", 0}, {Type::kBF16, "bf16", 0}};
  for (const auto& [type, name, bound] : rows) {
    HostTensor x(type, {3, 2}), y(type, {3, 2});
    x.fill({1, -1, 0.25, -0.25, -8, 8});
    if (!carried_out(run(*target, "layer_norm", {{"x", &x}}, {{"y", &y}}, {number("epsilon", 0)}), name)) continue;
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_TRUE(std::fabs(y.get(i) - (x.get(i) > 0 ? 1 : -1)) <= bound) << name << ", element " << i << ": " << y.get(i);
  }
}

TEST(TargetModule, DenseRowsKeepTheStandardBound) {
  for (int64_t cols : {2, 7, 8, 33}) {
    HostTensor x = filled({4, cols}, 1), weight = filled({cols}, 2), bias = filled({cols}, 3);
    for (HostTensor* w : {static_cast<HostTensor*>(nullptr), &weight})
      for (HostTensor* b : {static_cast<HostTensor*>(nullptr), &bias}) {
        HostTensor y(Type::kF32, {4, cols});
        check_layer_norm(x, w, b, y, cols, -1, "dense rows");
      }
  }
}

// Layouts that every module's framework honours. (oneDNN's fast kernels take rows to be dense where the columns of x are: not seen here.)
TEST(TargetModule, StridedTensors) {
  HostTensor transposed = filled({4, 8}, 1, {1, 4}), every_second = filled({4, 8}, 1, {16, 2}), misaligned = filled({4, 8}, 1, {}, 4);
  HostTensor weight = filled({8}, 2, {3}), bias = filled({8}, 3, {}, 12);
  for (HostTensor* x : {&transposed, &every_second, &misaligned}) {
    HostTensor y(Type::kF32, {4, 8});
    check_layer_norm(*x, &weight, &bias, y, 8, -1, "strided x");
  }
  for (HostTensor* x : {&transposed, &every_second}) {
    HostTensor y(Type::kF32, {4, 8}, {1, 4}), padded(Type::kF32, {4, 8}, {20, 2});
    check_layer_norm(*x, &weight, &bias, y, 8, -1, "strided x, transposed y");
    check_layer_norm(*x, &weight, &bias, padded, 8, -1, "strided x, padded y");
  }
}

TEST(TargetModule, NormalizedAxis) {
  HostTensor x = filled({2, 3, 4}, 1), weight = filled({3, 4}, 2), bias = filled({3, 4}, 3), y(Type::kF32, {2, 3, 4});
  check_layer_norm(x, &weight, &bias, y, 12, -2, "two normalized dimensions");
  check_layer_norm(x, &weight, &bias, y, 12, 1, "two normalized dimensions, counted from the front");
  check_layer_norm(x, nullptr, nullptr, y, 24, 0, "all dimensions normalized");
  HostTensor vector = filled({9}, 1), vector_y(Type::kF32, {9});
  check_layer_norm(vector, nullptr, nullptr, vector_y, 9, -1, "rank 1");
}

TEST(TargetModule, RmsKeepsTheStandardBound) {
  HostTensor x = filled({4, 8}, 1), weight = filled({8}, 2);
  const double epsilon = 1;  // large enough to matter
  for (HostTensor* w : {static_cast<HostTensor*>(nullptr), &weight})
    for (double offset : {0.0, 1.0}) {
      HostTensor y(Type::kF32, {4, 8});
      const CallResult result = run(*target, "rms_norm", {{"x", &x}, {"weight", w}, {"bias", nullptr}}, {{"y", &y}},
                                    {number("epsilon", epsilon), number("weight_offset", offset)});
      if (!carried_out(result, offset == 0 ? "rms_norm" : "rms_norm, weight_offset 1")) continue;
      for (int64_t first = 0; first < 32; first += 8)
        expect_within(expect_rms_norm(slice(x.values(), first, 8), w ? w->values() : Vector(), offset, epsilon), y, first, "rms_norm");
    }
}

TEST(TargetModule, IsDeterministic) {
  HostTensor x = filled({4, 33}, 1), first(Type::kF32, {4, 33}), second(Type::kF32, {4, 33});
  for (HostTensor* y : {&first, &second})
    ASSERT_EQ(run(*target, "layer_norm", {{"x", &x}}, {{"y", y}}, {number("epsilon", kEpsilon)}).status, NF_OK);
  EXPECT_EQ(first.values(), second.values());
}

TEST(TargetModule, RefusesWhatItDoesNotKnow) {
  HostTensor x = filled({4, 8}, 1), half_weight = filled({4}, 2), y(Type::kF32, {4, 8});
  const auto refusal = [&](const char* op, const char* input, HostTensor* tensor, nf_param param, nf_status expected) {
    const CallResult result = run(*target, op, {{"x", &x}, {input, tensor}}, {{"y", &y}}, {number("epsilon", kEpsilon), param});
    EXPECT_EQ(result.status, expected) << op << ": " << result.message;
    EXPECT_FALSE(result.message.empty()) << op << ": refused without a reason";
  };
  refusal("no_such_norm", "weight", nullptr, integer("normalized_axis", -1), NF_UNSUPPORTED);
  refusal("layer_norm", "weight", nullptr, number("no_such_parameter", 1), NF_UNSUPPORTED);
  refusal("layer_norm", "no_such_input", &half_weight, integer("normalized_axis", -1), NF_UNSUPPORTED);
  refusal("layer_norm", "weight", nullptr, integer("normalized_axis", 7), NF_REJECTED);
  refusal("layer_norm", "weight", &half_weight, integer("normalized_axis", -1), NF_REJECTED);
}

// Rows of +-1 in alternation, epsilon 0: mean 0, variance 1, xhat = x, all integers. Relative errors of a computed xhat: the mean's, gamma
// of 7 (n - 1) of sum(abs(x)) / n = 1 = abs(d); the variance's, twice that and n + 2 roundings, halved by the root; the root's 8 u. dx
// meets xhat twice and the root once more, and adds the sums' n - 1 roundings and at most 8 products. dbias sums integers: exact.
TEST(TargetModule, LayerNormBackward) {
  constexpr int64_t n = 8, rows = 3;
  HostTensor x(Type::kF32, {rows, n}), dy(Type::kF32, {rows, n}), weight(Type::kF32, {n});
  HostTensor dx(Type::kF32, {rows, n}), dweight(Type::kF32, {n}), dbias(Type::kF32, {n});
  for (int64_t i = 0; i < rows * n; ++i) x.set(i, i % 2 ? -1 : 1), dy.set(i, static_cast<double>(i * 5 % 13 - 4));
  for (int64_t i = 0; i < n; ++i) weight.set(i, static_cast<double>(i - 2));
  const CallResult result = run(*target, "layer_norm_backward", {{"x", &x}, {"dy", &dy}, {"weight", &weight}},
                                {{"dx", &dx}, {"dweight", &dweight}, {"dbias", &dbias}}, {number("epsilon", 0)});
  if (!carried_out(result, "layer_norm_backward")) return;

  const double mean = 7 * (n - 1), variance = 2 * mean + n + 2, xhat = mean + variance / 2 + 2 * kRsqrtUlps + 1;
  const double dx_roundings = 2 * xhat + variance / 2 + 2 * kRsqrtUlps + (n - 1) + 8, dweight_roundings = xhat + 1 + (rows - 1);
  Vector exact_dweight(n), absolute_dweight(n), exact_dbias(n);
  for (int64_t first = 0; first < rows * n; first += n) {
    double mean_g = 0, mean_gx = 0, absolute_g = 0;  // exact: integers over 8
    for (int64_t i = 0; i < n; ++i) {
      const double g = dy.get(first + i) * weight.get(i);
      mean_g += g / n, mean_gx += g * x.get(first + i) / n, absolute_g += std::fabs(g) / n;
      exact_dweight[i] += dy.get(first + i) * x.get(first + i);
      absolute_dweight[i] += std::fabs(dy.get(first + i));
      exact_dbias[i] += dy.get(first + i);
    }
    std::vector<Expected> expected;
    for (int64_t i = 0; i < n; ++i) {
      const double g = dy.get(first + i) * weight.get(i);
      expected.push_back({g - mean_g - x.get(first + i) * mean_gx, gamma_bound(dx_roundings) * (std::fabs(g) + 2 * absolute_g)});
    }
    expect_within(expected, dx, first, "dx");
  }
  std::vector<Expected> expected;
  for (int64_t i = 0; i < n; ++i) expected.push_back({exact_dweight[i], gamma_bound(dweight_roundings) * absolute_dweight[i]});
  expect_within(expected, dweight, 0, "dweight");
  EXPECT_EQ(dbias.values(), exact_dbias);
}

}  // namespace

// Exit status 77 (ctest: skipped) when the module was not built.
int load_and_run(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    std::ifstream reason(path.parent_path() / "unavailable.txt");
    std::cout << "skipped: " << path.filename().string() << " was not built, "
              << std::string(std::istreambuf_iterator<char>(reason), std::istreambuf_iterator<char>());
    return 77;
  }
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return std::printf("%s\n", dlerror()), 1;
  const auto entry = reinterpret_cast<const nf_target* (*)()>(dlsym(module, "normfuzz_target"));
  if (entry == nullptr) return std::printf("%s\n", dlerror()), 1;
  target = entry();
  if (const auto why = reinterpret_cast<const char* (*)()>(dlsym(module, "normfuzz_unavailable")); target == nullptr && why != nullptr) {
    std::cout << "skipped: " << why() << "\n";
    return 77;
  }
  return RUN_ALL_TESTS();
}

}  // namespace normfuzz::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return std::printf("usage: %s MODULE.so\n", argv[0]), 2;
  return normfuzz::test::load_and_run(argv[1]);
}
