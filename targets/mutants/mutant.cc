#include "targets/mutants/mutant.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "targets/mutants/sums.h"

namespace normfuzz {
namespace {

using Policy = MutantPolicy;

// ---- the list ----

const std::array<Mutant, 14> kMutants = {{
    {"two_pass", "", "none: the plain kernel", "", Policy{}, true},
    {"welford", "", "none: Welford's update, one accumulator", "", Policy{.moments = MutantMoments::kWelford}, false},
    {"pairwise", "", "none: pairwise sums", "", Policy{.sum = MutantSum::kPairwise}, true},
    {"one_pass_variance", "cancellation", "variance as mean(x^2) - mean^2, clamped at zero",
     "onnxruntime#28463, tvm#19592, flax#1545, keras#18795", Policy{.moments = MutantMoments::kOnePass}, false},
    {"sample_variance", "statistics", "divides the sum of squares by n - 1", "tensorflow#55545, mlx#3817, FastNN#11",
     Policy{.sample_variance = true}, false},
    {"epsilon_outside", "epsilon", "adds epsilon to the root, not under it", "axlearn#21, llama.cpp#20350",
     Policy{.epsilon = MutantEpsilon::kOutside}, true},
    {"epsilon_dropped", "epsilon", "ignores epsilon", "tensorflow#58863, TIM-VX#589", Policy{.epsilon = MutantEpsilon::kDropped}, true},
    {"epsilon_fixed", "epsilon", "takes 1e-5 whatever epsilon is asked for", "TIM-VX#589 (there the constant is 0)",
     Policy{.epsilon = MutantEpsilon::kFixed}, true},
    {"epsilon_maximum", "epsilon", "max(variance, epsilon) in place of the sum", "llama.cpp#20350, openvino#36778, optax#1703",
     Policy{.epsilon = MutantEpsilon::kMaximum}, true},
    {"rsqrt_12_bits", "rsqrt", "an estimate of the reciprocal root without the refinement step", "ncnn#6903, ncnn#5272",
     Policy{.root_bits = 12}, true},
    {"rsqrt_20_bits", "rsqrt", "a reciprocal root good to 20 bits", "ncnn#6903, tt-metal#51420", Policy{.root_bits = 20}, true},
    {"dropped_tail", "width and tails", "the columns behind the last full vector of 4 do not enter the sums",
     "Liger#518, unsloth#1867, triton#9838", Policy{.vector_width = 4}, true},
    {"shifted_weight", "parameters", "reads the next element's weight", "onnxruntime#28424", Policy{.weight_shift = 1}, true},
    {"bf16_mean", "rounding", "keeps the mean in bf16", "aiter#5151, vllm#52104", Policy{.bf16_mean = true}, false},
}};

// ---- one plain scalar kernel ----

template <class T>
class PlainKernel {
 public:
  PlainKernel(const Policy& policy, const RowInputs& row) : policy_(policy), row_(row), counted_(row.n) {
    // A row shorter than one vector takes the scalar path, tail and all.
    if (policy.vector_width > 0 && row.n > policy.vector_width) counted_ = row.n / policy.vector_width * policy.vector_width;
  }

  // Calls write(i, y_i).
  template <class Write>
  void run(bool centred, Write write) const {
    T mean = 0;
    const T statistic = centred ? variance(mean) : sum([&](std::int64_t i) { return x(i) * x(i); }) / count();
    const T scale = reciprocal_root(statistic);
    for (std::int64_t i = 0; i < row_.n; ++i) {
      const T weight = static_cast<T>(row_.weight_offset) + static_cast<T>(row_.weight[std::min(i + policy_.weight_shift, row_.n - 1)]);
      write(i, (x(i) - mean) * scale * weight + static_cast<T>(row_.bias[i]));
    }
  }

 private:
  T x(std::int64_t i) const { return static_cast<T>(row_.x[i]); }
  T count() const { return static_cast<T>(row_.n); }

  template <class Term>
  T sum(Term term) const {
    return sum_of<T>(policy_.sum, term, counted_);
  }

  T variance(T& mean) const {
    const T divisor = policy_.sample_variance && row_.n > 1 ? static_cast<T>(row_.n - 1) : count();
    if (policy_.moments == MutantMoments::kWelford) return welford(mean) / divisor;
    mean = sum([&](std::int64_t i) { return x(i); }) / count();
    if (policy_.bf16_mean) mean = static_cast<T>(value_from_bits(DType::kBF16, bits_from_value(DType::kBF16, static_cast<double>(mean))));
    if (policy_.moments == MutantMoments::kOnePass)
      return std::max(T(0), sum([&](std::int64_t i) { return x(i) * x(i); }) / divisor - mean * mean);
    return sum([&](std::int64_t i) { return (x(i) - mean) * (x(i) - mean); }) / divisor;
  }
  T welford(T& mean) const {
    T squares = 0;
    for (std::int64_t i = 0; i < counted_; ++i) {
      const T d = x(i) - mean;
      mean += d / static_cast<T>(i + 1);
      squares += d * (x(i) - mean);
    }
    return squares;
  }

  T reciprocal_root(T statistic) const {
    const T epsilon = static_cast<T>(row_.epsilon);
    switch (policy_.epsilon) {
      case MutantEpsilon::kInside:
        return cut(1 / std::sqrt(statistic + epsilon));
      case MutantEpsilon::kOutside:
        return cut(1 / (std::sqrt(statistic) + epsilon));
      case MutantEpsilon::kDropped:
        return cut(1 / std::sqrt(statistic));
      case MutantEpsilon::kFixed:
        return cut(1 / std::sqrt(statistic + T(1e-5f)));
      case MutantEpsilon::kMaximum:
        return cut(1 / std::sqrt(std::max(statistic, epsilon)));
    }
    return 0;
  }
  // Keeps the leading root_bits bits of the significand.
  T cut(T root) const {
    if (policy_.root_bits == 0 || !std::isfinite(root) || root == 0) return root;
    int exponent = 0;
    const T fraction = std::frexp(root, &exponent);
    return std::ldexp(std::trunc(std::ldexp(fraction, policy_.root_bits)), exponent - policy_.root_bits);
  }

  const Policy& policy_;
  const RowInputs& row_;
  std::int64_t counted_;
};

}  // namespace

std::span<const Mutant> all_mutants() { return kMutants; }

const Mutant* find_mutant(std::string_view name) {
  const auto found = std::find_if(kMutants.begin(), kMutants.end(), [&](const Mutant& m) { return m.name == name; });
  return found == kMutants.end() ? nullptr : &*found;
}

std::vector<double> run_mutant(const MutantPolicy& policy, std::string_view op, DType storage, const RowInputs& row) {
  std::vector<double> y(static_cast<std::size_t>(row.n));
  const bool centred = op != "rms_norm";
  const auto write = [&](std::int64_t i, auto value) {
    y[static_cast<std::size_t>(i)] = value_from_bits(storage, bits_from_value(storage, static_cast<double>(value)));
  };
  if (storage == DType::kF64)
    PlainKernel<double>(policy, row).run(centred, write);
  else
    PlainKernel<float>(policy, row).run(centred, write);
  return y;
}

}  // namespace normfuzz
