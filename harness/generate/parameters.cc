#include "harness/generate/parameters.h"

#include <vector>

#include "harness/generate/layout.h"
#include "harness/generate/magnitude.h"
#include "harness/generate/store.h"

namespace normfuzz {
namespace {

struct EpsilonChoice {
  std::uint64_t share;  // of 100; the rest is log-uniform
  float value;
};
constexpr EpsilonChoice kEpsilons[] = {{5, 0.0F}, {8, 1e-12F}, {6, 1e-8F}, {14, 1e-6F}, {32, 1e-5F}, {7, 1e-3F}, {5, 1.0F}, {3, 100.0F}};
constexpr int kFloatPrecision = 24;

}  // namespace

double draw_epsilon(Stream s, EpsilonWish wish) {
  if (wish == EpsilonWish::kTiny) {  // below anything that would hide tiny squares; 2^-149 is float32's smallest number
    const std::uint64_t kind = s.below(4);
    if (kind < 2) return 0;
    return kind == 2 ? static_cast<double>(1e-12F) : rounded(DType::kF32, s.log_uniform(-149, -41, kFloatPrecision));
  }
  std::uint64_t at = wish == EpsilonWish::kPositive ? kEpsilons[0].share + s.below(100 - kEpsilons[0].share) : s.below(100);
  for (const EpsilonChoice& c : kEpsilons) {
    if (at < c.share) return static_cast<double>(c.value);
    at -= c.share;
  }
  return s.log_uniform(-50, 6, kFloatPrecision);
}

std::optional<Tensor> draw_weight(Stream s, DType dtype, const std::vector<std::int64_t>& shape, double weight_offset, bool required) {
  // An offset without a weight is no call (oracles/ops/geometry.cc).
  const std::uint64_t kind = weight_offset != 0 || required ? 34 + s.below(66) : s.below(100);
  if (kind < 34) return std::nullopt;
  Tensor t = Tensor::zeros(dtype, shape);
  // Products with a normalized row (at most sqrt(n), 2^8.. for wide rows) should stay finite in f16.
  const Exponents wide = dtype == DType::kF16 ? Exponents{-14, 6} : Exponents{-60, 60};
  std::vector<double> values(static_cast<std::size_t>(t.size()));
  for (double& w : values) {
    if (kind < 43)
      w = 1;
    else if (kind < 63)
      w = 1 + 0.125 * s.gaussian();
    else if (kind < 78)
      w = s.gaussian();
    else if (kind < 84)
      w = s.chance(30) ? 0 : s.gaussian();
    else if (kind < 87)
      w = s.flip(1);
    else if (kind < 90)
      w = s.flip(power_of_two(static_cast<int>(s.between(-4, 4))));
    else if (kind < 94)
      w = s.flip(8 + 24 * s.uniform());  // where 1 + w loses bits in 16-bit types
    else if (kind < 97)
      w = s.flip(draw_magnitude(s, dtype, wide));
    else if (weight_offset != 0)
      w = -weight_offset + s.flip(power_of_two(-static_cast<int>(s.between(1, 26))));  // offset + weight cancels
    else
      w = s.uniform();
  }
  store_values(t, 0, values);
  draw_parameter_layout(s.sub("layout"), t, kind < 43);
  return t;
}

std::optional<Tensor> draw_bias(Stream s, DType dtype, const std::vector<std::int64_t>& shape, int null_percent) {
  if (s.chance(null_percent)) return std::nullopt;
  const std::uint64_t kind = s.below(100);
  Tensor t = Tensor::zeros(dtype, shape);
  const Exponents large = dtype == DType::kF16 ? Exponents{4, 12} : Exponents{4, 24};
  const double common = kind >= 94 ? s.flip(draw_magnitude(s, dtype, {-4, 4})) : 0;
  std::vector<double> values(static_cast<std::size_t>(t.size()));
  for (double& b : values) {
    if (kind < 12)
      b = 0;
    else if (kind < 70)
      b = s.gaussian();
    else if (kind < 84)
      b = s.flip(draw_magnitude(s, dtype, large));
    else if (kind < 94)
      b = s.flip(draw_magnitude(s, dtype, {-14, -4}));
    else
      b = common;
  }
  store_values(t, 0, values);
  draw_parameter_layout(s.sub("layout"), t, kind < 12 || kind >= 94);
  return t;
}

Tensor repeat_into(std::span<const float> values, DType dtype, const std::vector<std::int64_t>& shape) {
  Tensor t = Tensor::zeros(dtype, shape);
  for (std::int64_t i = 0, n = t.size(); i < n; ++i)
    t.set_value(i, static_cast<double>(values[static_cast<std::size_t>(i) % values.size()]));
  return t;
}

}  // namespace normfuzz
