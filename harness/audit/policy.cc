#include "harness/audit/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/generate/store.h"

namespace normfuzz {
namespace {

constexpr std::array<std::string_view, 5> kMetrics = {"allclose", "relative", "max_abs", "cosine", "pcc"};
constexpr std::array<std::string_view, 4> kInputs = {"randn", "uniform", "integers", "arange"};

template <class Choice, class Names>
Result<Choice> choice_named(std::string_view option, const Names& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Choice>(found - names.begin());
  return Error{fmt::format("{} is '{}', expected one of {}", option, name, fmt::join(names, ", "))};
}

bool element_passes(Metric metric, const Tolerance& t, double got, double expected) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return got == expected;
  const double error = std::fabs(got - expected), magnitude = std::fabs(expected);
  if (metric == Metric::kMaxAbs) return error <= t.atol;
  if (metric == Metric::kRelative) return error <= t.rtol * (magnitude > 0 ? magnitude : 1);
  return error <= t.atol + t.rtol * magnitude;
}

// 1 - cosine of the two, or of what remains beside their means. Two zero vectors are alike; NaN is like nothing.
double distance_of_directions(const Tensor& got, const Tensor& expected, bool centred) {
  const std::vector<double> a = got.values(), b = expected.values();
  double mean_a = 0, mean_b = 0;
  for (std::size_t i = 0; centred && i < a.size(); ++i) {
    mean_a += a[i] / static_cast<double>(a.size());
    mean_b += b[i] / static_cast<double>(a.size());
  }
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  return aa == 0 && bb == 0 ? 0 : 1 - ab / std::sqrt(aa * bb);
}

}  // namespace

std::string_view name_of(Metric m) { return kMetrics[static_cast<std::size_t>(m)]; }
std::string_view name_of(InputPolicy p) { return kInputs[static_cast<std::size_t>(p)]; }
Result<Metric> metric_named(const std::string& name) { return choice_named<Metric>("--metric", kMetrics, name); }
Result<InputPolicy> input_policy_named(const std::string& name) { return choice_named<InputPolicy>("--input-policy", kInputs, name); }

const Tolerance* TestPolicy::tolerance(std::string_view op, DType dtype) const {
  const Direction direction = op.ends_with("_backward") || op.ends_with("_sgd") ? Direction::kBackward : Direction::kForward;
  for (const Tolerance& t : tolerances)
    if (t.dtype == dtype && (t.direction == Direction::kBoth || t.direction == direction)) return &t;
  return nullptr;
}

Case in_type(const Case& c, DType type) {
  Case out = c;
  for (auto& [name, tensor] : out.inputs) {
    if (!tensor) continue;
    Tensor wide = Tensor::zeros(type, tensor->shape);
    store_values(wide, 0, tensor->values());
    tensor = std::move(wide);
  }
  return out;
}

std::string rejection(const TestPolicy& policy, const Tolerance& tolerance, const NamedTensors& got, const NamedTensors& expected) {
  for (const auto& [name, want] : expected) {
    const auto found = std::find_if(got.begin(), got.end(), [&](const auto& output) { return output.first == name; });
    if (found == got.end() || found->second.size() != want.size()) return name + ": missing";
    const Tensor& have = found->second;
    if (policy.metric == Metric::kCosine || policy.metric == Metric::kPcc) {
      const double distance = distance_of_directions(have, want, policy.metric == Metric::kPcc);
      if (!(distance <= tolerance.atol)) return fmt::format("{}: 1 - {} is {:.3g}", name, name_of(policy.metric), distance);
      continue;
    }
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < want.size(); ++i) {
      const double rounded = value_from_bits(have.dtype, bits_from_value(have.dtype, want.value(i)));
      wrong += !element_passes(policy.metric, tolerance, have.value(i), rounded);
    }
    if (wrong > 0) return fmt::format("{}: {} of {} elements", name, wrong, want.size());
  }
  return "";
}

}  // namespace normfuzz
