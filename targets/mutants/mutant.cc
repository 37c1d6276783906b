#include "targets/mutants/mutant.h"

#include <algorithm>
#include <cmath>

#include "targets/mutants/sums.h"

namespace normfuzz {
namespace {

template <class T>
class PlainKernel {
 public:
  PlainKernel(const MutantPolicy& policy, DType storage, const RowInputs& row)
      : policy_(policy), storage_(storage), row_(row), counted_(row.n) {
    // A row shorter than one vector takes the scalar path, tail and all.
    if (policy.vector_width > 0 && row.n > policy.vector_width) counted_ = row.n / policy.vector_width * policy.vector_width;
    if (policy.half_of_middle && row.n > 256 && row.n <= 512) counted_ = 256;
  }

  // Calls write(i, y_i).
  template <class Write>
  void run(bool centred, Write write) const {
    T mean = 0;
    T statistic = centred ? variance(mean) : sum([&](std::int64_t i) { return square(x(i)); }) / count();
    if (policy_.no_reduction) statistic = 0;
    const T scale = reciprocal_root(narrowed(kNarrowStatistic, statistic));
    for (std::int64_t i = 0; i < row_.n; ++i) {
      const T weight = static_cast<T>(row_.weight[std::min(i + policy_.weight_shift, row_.n - 1)]);
      const T normalized = narrowed(kNarrowNormalized, (x(i) - mean) * scale);
      write(i, normalized * narrowed(kNarrowOffsetWeight, static_cast<T>(row_.weight_offset) + weight) + static_cast<T>(row_.bias[i]));
    }
  }

 private:
  T x(std::int64_t i) const { return static_cast<T>(row_.x[i]); }
  T square(T v) const { return narrowed(kNarrowSquares, v * v); }
  T count() const { return policy_.f16_count ? rounded(DType::kF16, static_cast<T>(row_.n)) : static_cast<T>(row_.n); }

  static T rounded(DType type, T v) { return static_cast<T>(value_from_bits(type, bits_from_value(type, static_cast<double>(v)))); }
  T narrowed(MutantNarrow what, T v) const { return (policy_.narrow & what) != 0 ? rounded(storage_, v) : v; }

  template <class Term>
  T sum(Term term) const {
    if ((policy_.narrow & kNarrowSum) == 0) return sum_of<T>(policy_.sum, term, counted_);
    T total = 0;
    for (std::int64_t i = 0; i < counted_; ++i) total = rounded(storage_, total + term(i));
    return total;
  }

  T variance(T& mean) const {
    const T divisor = policy_.sample_variance && row_.n > 1 ? static_cast<T>(row_.n - 1) : count();
    if (policy_.moments == MutantMoments::kWelford) return welford(mean) / divisor;
    mean = sum([&](std::int64_t i) { return x(i); }) / count();
    if (policy_.bf16_mean) mean = rounded(DType::kBF16, mean);
    if (policy_.moments != MutantMoments::kTwoPass) {
      const T difference = sum([&](std::int64_t i) { return square(x(i)); }) / divisor - mean * mean;
      return policy_.moments == MutantMoments::kOnePass ? std::max(T(0), difference) : difference;
    }
    T squares = sum([&](std::int64_t i) { return square(x(i) - mean); });
    const std::int64_t padding = policy_.padded_to > 0 ? (policy_.padded_to - row_.n % policy_.padded_to) % policy_.padded_to : 0;
    if (padding > 0) squares += static_cast<T>(padding) * (mean * mean);
    return policy_.swapped_variance ? -(squares / divisor) : squares / divisor;
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
    const T epsilon = narrowed(kNarrowEpsilon, static_cast<T>(row_.epsilon));
    if (policy_.no_root) return 1 / (statistic + epsilon);
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
      case MutantEpsilon::kInCount:
        return cut(1 / std::sqrt(statistic * (count() / (count() + epsilon))));
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

  const MutantPolicy& policy_;
  DType storage_;
  const RowInputs& row_;
  std::int64_t counted_;
};

// The bits of a finite value, rounded toward zero: the nearest ones, or those below in magnitude.
std::uint64_t bits_toward_zero(DType storage, double value) {
  const std::uint64_t nearest = bits_from_value(storage, value);
  return std::fabs(value_from_bits(storage, nearest)) > std::fabs(value) ? nearest - 1 : nearest;
}

}  // namespace

std::vector<double> run_mutant(const MutantPolicy& policy, std::string_view op, DType storage, const RowInputs& row) {
  std::vector<double> y(static_cast<std::size_t>(row.n));
  const bool centred = op != "rms_norm";
  const auto write = [&](std::int64_t i, auto value) {
    const auto v = static_cast<double>(value);
    y[static_cast<std::size_t>(i)] =
        value_from_bits(storage, policy.truncates ? bits_toward_zero(storage, v) : bits_from_value(storage, v));
  };
  if (storage == DType::kF64)
    PlainKernel<double>(policy, storage, row).run(centred, write);
  else
    PlainKernel<float>(policy, storage, row).run(centred, write);
  return y;
}

}  // namespace normfuzz
