// Somebody's test of a kernel: inputs drawn at random, a reference, and a tolerance. What `normfuzz audit` puts mutants to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "core/result.h"
#include "oracles/ops/op.h"

namespace normfuzz {

// When an output passes, element by element, or over all of an output's elements:
// |got - expected| <= atol + rtol |expected|; |got - expected| <= rtol |expected|, rtol where that is 0; |got - expected| <= atol;
// 1 - cosine <= atol; 1 - Pearson's correlation <= atol. NaN passes only where NaN is expected, an infinity only where it is.
enum class Metric : std::uint8_t { kAllclose, kRelative, kMaxAbs, kCosine, kPcc };
std::string_view name_of(Metric m);

// Standard normal, uniform on [0, 1), uniform integers of -8 .. 8, 0.1 i as arange; before mean and scale.
enum class InputPolicy : std::uint8_t { kRandn, kUniform, kIntegers, kArange };
std::string_view name_of(InputPolicy p);

enum class Direction : std::uint8_t { kBoth, kForward, kBackward };

struct Tolerance {
  DType dtype;
  Direction direction;
  double rtol, atol;
};

struct TestPolicy {
  std::string name, source;           // where the numbers stand
  std::vector<Tolerance> tolerances;  // the first that serves a dtype and direction; a pair without one is not tested
  Metric metric = Metric::kAllclose;
  InputPolicy inputs = InputPolicy::kRandn;
  double mean = 0, scale = 1;
  bool scale_by_width = false;                                               // scale / (2 hidden) for scale
  std::vector<std::int64_t> hidden = {64, 128, 512, 768, 1024, 4096, 8192};  // PEERS.md, 'Typical inputs'
  std::vector<std::int64_t> batch = {1, 2, 4, 8, 16, 32, 64};
  double epsilon = 1e-5;          // of the norms with an affine map, as float32 has it
  DType reference = DType::kF64;  // in which the correct kernel computes what is expected; rounded to the output's type
  const Tolerance* tolerance(std::string_view op, DType dtype) const;
};

// The metric and the input policy of these names; an error lists them.
Result<Metric> metric_named(const std::string& name);
Result<InputPolicy> input_policy_named(const std::string& name);

// More rows than fit this many elements are not drawn: a long row is tested with fewer of them.
inline constexpr std::int64_t kPolicyElements = std::int64_t{1} << 15;

// Case `index` of the policy for an op: dense tensors with weight and bias, a pure function of its arguments.
Case policy_case(const TestPolicy& policy, std::uint64_t seed, std::string_view op, DType dtype, std::uint64_t index);

// The same call with every tensor in `type`. Exact: premise, `type` is as wide as they are.
Case in_type(const Case& c, DType type);

// Empty: every output passes. Else the output that does not, "y: 3 of 64 elements".
std::string rejection(const TestPolicy& policy, const Tolerance& tolerance, const NamedTensors& got, const NamedTensors& expected);

}  // namespace normfuzz
