// rms.scale_moves_epsilon and what follows from it: RMSNorm(c x, c^2 epsilon) = RMSNorm(x, epsilon).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "oracles/theorems/relations.h"

namespace normfuzz {
namespace theorems {
namespace {

// c^2 where double holds it.
std::optional<double> squared(double c) {
  const double s = c * c;
  return std::isfinite(s) && s > 0 && std::fma(c, c, -s) == 0 ? std::optional<double>(s) : std::nullopt;
}

std::optional<double> factor_of(const PropertyArgs& args) {
  const auto c = number_arg(args, "c");
  return c && std::isfinite(*c) && *c > 0 && *c != 1 ? c : std::nullopt;
}

// A few factors, the interesting ones first: an odd number times a power of two, then powers of two nearer and nearer to 1.
template <class Meets>
std::optional<PropertyArgs> choose_factor(const Case& base, std::uint64_t state, bool odd, Meets meets) {
  Draw draw(state);
  std::vector<double> factors;
  const auto exponent = static_cast<int>(draw.between(1, 24)) * (draw.next() % 2 ? 1 : -1);
  if (odd) factors.push_back(std::ldexp(static_cast<double>(2 * draw.between(1, 7) + 1), static_cast<int>(draw.between(-6, 2))));
  for (int e = exponent; e != 0; e /= 2) factors.push_back(std::ldexp(1.0, e));
  factors.push_back(exponent > 0 ? 0.5 : 2.0);
  for (const double c : factors) {
    PropertyArgs args = {{"c", text_of(c)}};
    if (meets(base, args)) return args;
  }
  return std::nullopt;
}

// ---- RMSNorm(c x, c^2 epsilon) ----

std::optional<Case> scaled_with_epsilon(const Case& base, const PropertyArgs& args) {
  const auto c = factor_of(args);
  if (!c || !base.input("x")) return std::nullopt;
  const auto c2 = squared(*c);
  if (!c2) return std::nullopt;
  const auto epsilon = epsilon_times(base.epsilon(), *c2);
  if (!epsilon) return std::nullopt;
  auto x = times(*base.input("x"), *c);
  if (!x) return std::nullopt;
  return with_epsilon(with_x(bare(base), std::move(*x)), *epsilon);
}
bool moves_epsilon_meets(const Case& base, const PropertyArgs& args) {
  return finite_inputs(base) && scaled_with_epsilon(base, args).has_value();
}
std::vector<Case> derive_scaled_with_epsilon(const Case& base, const PropertyArgs& args) { return {*scaled_with_epsilon(base, args)}; }

// ---- powers of two ----

// Binades of the nonzero elements; none: all are zero.
struct Binades {
  int lowest = std::numeric_limits<int>::max(), highest = std::numeric_limits<int>::min();
  bool none() const { return lowest > highest; }
  void include(double v) {
    if (v == 0) return;
    lowest = std::min(lowest, std::ilogb(v));
    highest = std::max(highest, std::ilogb(v) + 1);  // |v| < 2^highest
  }
};

// Lower bound of the binade of any x - mean that a kernel may compute and that is not zero. Where it is not clearly larger than the error
// of a computed mean (8 (n + 8) u max|x| covers every algorithm of the error model), all that is known is its granularity: multiples of
// the last place of x, divided by n and rounded to p bits.
int lowest_difference(const Case& c, const RowView& view, std::int64_t row, const Binades& x, const FloatFormat& f) {
  const Tensor& t = *c.input("x");
  const FloatFormat& storage = format_of(t.dtype);
  const auto n = static_cast<double>(view.cols());
  double mean = 0;
  for (std::int64_t i = 0; i < view.cols(); ++i) mean += t.value(view.index(row, i)) / n;
  const double unclear = 8 * (n + 8) * f.unit_roundoff * std::ldexp(1.0, x.highest);
  const int granule = std::max(x.lowest, storage.min_exponent) - storage.precision + 1;
  const int coarse = granule - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(view.cols()))) - f.precision - 1;
  int lowest = x.highest;
  for (std::int64_t i = 0; i < view.cols(); ++i) {
    const double d = std::fabs(t.value(view.index(row, i)) - mean);
    lowest = std::min(lowest, d > 2 * unclear ? std::ilogb(d) - 1 : coarse);
  }
  return lowest;
}

// Every number that a kernel computes from the case and that scales with x, epsilon or their powers is zero or a normal number of `f`.
bool in_normal_range(const Case& c, const FloatFormat& f) {
  const RowView view = rows_of(c);
  const bool centred = c.op == "layer_norm";
  const double epsilon = c.epsilon();
  if (epsilon != 0 && (std::ilogb(epsilon) <= f.min_exponent || std::ilogb(epsilon) >= f.max_exponent - 1)) return false;
  const int log_n = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(view.cols())));
  Binades weight;
  for (std::int64_t i = 0; i < view.cols(); ++i) weight.include(weight_at(c, i));
  const Tensor& t = *c.input("x");
  for (std::int64_t r = 0; r < view.rows(); ++r) {
    Binades x;
    for (std::int64_t i = 0; i < view.cols(); ++i) x.include(t.value(view.index(r, i)));
    if (x.none()) continue;  // zeros stay zeros
    const int low = centred ? std::min(x.lowest - log_n - 1, lowest_difference(c, view, r, x, f)) : x.lowest;
    const int high = x.highest + 1;
    const int low_square = 2 * low - log_n - 1, high_square = 2 * high + log_n + 2;
    if (low_square <= f.min_exponent || high_square >= f.max_exponent) return false;
    const int low_w = epsilon != 0 ? std::ilogb(epsilon) : low_square,
              high_w = std::max(2 * high, epsilon != 0 ? std::ilogb(epsilon) + 1 : 0) + 2;
    const int low_scale = -(high_w + 3) / 2 - 2, high_scale = -(low_w - 3) / 2 + 2;
    if (low_scale <= f.min_exponent || high_scale >= f.max_exponent - 1) return false;
    if (weight.none()) continue;
    if (std::min(low_scale, low) + weight.lowest <= f.min_exponent) return false;
    if (std::max(high_scale, high) + weight.highest + 1 >= f.max_exponent) return false;
  }
  return true;
}

DType usual_accumulation(const Case& c) { return c.dtype() == DType::kF64 ? DType::kF64 : DType::kF32; }

bool is_power_of_two(double c) {
  int e = 0;
  return std::frexp(c, &e) == 0.5;
}

bool power_of_two_meets(const Case& base, const PropertyArgs& args) {
  const auto c = factor_of(args);
  if (!c || !is_power_of_two(*c) || !finite_inputs(base)) return false;
  const auto scaled = scaled_with_epsilon(base, args);
  if (!scaled) return false;
  const FloatFormat& f = format_of(usual_accumulation(base));
  return in_normal_range(base, f) && in_normal_range(*scaled, f);
}
PropertyResult check_power_of_two(std::span<const PropertyRun> runs, const PropertyArgs& args) {
  const DType accumulate = runs[0].contract->accumulate;
  if (accumulate != usual_accumulation(*runs[0].input)) {
    const FloatFormat& f = format_of(accumulate);
    if (!in_normal_range(*runs[0].input, f) || !in_normal_range(*runs[1].input, f)) return vacant();
  }
  return equal_bits(runs[0], runs[1], same_place, {}, fmt::format("x times {} and epsilon times its square", *number_arg(args, "c")));
}

// ---- epsilon fixed ----

bool drift_meets(const Case& base, const PropertyArgs& args) {
  const auto c = factor_of(args);
  return c && base.epsilon() > 0 && finite_inputs(base) && times(*base.input("x"), *c).has_value();
}
std::vector<Case> derive_drift(const Case& base, const PropertyArgs& args) {
  return {with_x(bare(base), *times(*base.input("x"), *factor_of(args)))};
}
// The ratio of the two outputs, beside the bias: c (m + e) / (sqrt(m + e) sqrt(c^2 m + e)) = sqrt((m + e) / (m + e / c^2)).
PropertyResult check_drift(std::span<const PropertyRun> runs, const PropertyArgs& args) {
  const Case& base = *runs[0].input;
  const RowView view = rows_of(base);
  const Interval c(*factor_of(args)), epsilon(base.epsilon());
  const Tensor &y = runs[0].output("y"), &z = runs[1].output("y");
  PropertyResult r = vacant();
  for (const std::int64_t row : sampled_rows(view)) {
    const Interval m = moments_of(base, view, row).mean_square;
    const Interval ratio = c * (m + epsilon) * rsqrt(m + epsilon) * rsqrt(square(c) * m + epsilon);
    for (std::int64_t i = 0; i < view.cols(); ++i) {
      const std::int64_t at = view.index(row, i);
      const ElementBound *a = usable(runs[0], "y", at), *b = usable(runs[1], "y", at);
      if (!a || !b) continue;
      r.state = r.broken ? r.state : PropertyResult::State::kHolds;
      const Interval bias(bias_at(base, i)), expected = ratio * (Interval(y.value(at)) - bias) + bias;
      const Interval allowed = Interval(b->allowed) + ratio * Interval(a->allowed);
      if (!beyond(Interval(z.value(at)) - expected, allowed)) continue;
      const double ideal = middle(expected);
      if (r.broken == 0)
        r.detail = fmt::format("x times {} at a fixed epsilon: y[{}] is {:a}, {:a} from the first result and the theorem", middle(c), at,
                               z.value(at), ideal);
      add(r, PropertyKind::kBound, {"y", at, z.value(at), ideal, allowed.upper_double(), in_ulps(z.value(at) - ideal, ideal, z.dtype)});
    }
  }
  return r;
}

// ---- no epsilon ----

bool invariant_meets(const Case& base, const PropertyArgs& args) {
  const auto c = factor_of(args);
  return c && finite_inputs(base) && times(*base.input("x"), *c).has_value();
}
std::vector<Case> derive_invariant(const Case& base, const PropertyArgs& args) {
  const Case plain = with_epsilon(bare(base), 0);
  return {plain, with_x(plain, *times(*base.input("x"), *factor_of(args)))};
}

}  // namespace
}  // namespace theorems

using namespace theorems;

extern const Property kScaleMovesEpsilon = {
    .id = "rms.scale_moves_epsilon",
    .lean = "rmsnorm-scale-moves-epsilon",
    .source = "seed 000",
    .premises = "c > 0; c x, c^2 epsilon exactly representable; all inputs finite",
    .statement = "RMSNorm(c x, c^2 epsilon) = RMSNorm(x, epsilon): the exact results are equal, a kernel's differ by at most both bounds",
    .does_not_prove = "that either result is right: a kernel with a wrong, scale-free formula keeps it",
    .caught = "mutant epsilon_fixed",
    .kind = PropertyKind::kBound,
    .ops = {"rms_norm"},
    .regimes = {"eps_dominated", "few_bits", "gaussian", "powers_of_two"},
    .relation = "run1 i = run0 i",
    .choose = [](const Case& c, std::uint64_t draw) { return choose_factor(c, draw, true, moves_epsilon_meets); },
    .meets = moves_epsilon_meets,
    .derive = derive_scaled_with_epsilon,
    .check = [](std::span<const PropertyRun> runs,
                const PropertyArgs&) { return equal_within_bounds(runs[1], runs[0], "x and the root of epsilon times the same factor"); },
    .check_oracle =
        [](std::span<const PropertyRun> runs, const PropertyArgs&) {
          return equal_enclosures(runs[1], runs[0], "x and the root of epsilon times the same factor");
        },
};

extern const Property kPowerOfTwoScale = {
    .id = "rms.power_of_two_scale",
    .lean = "own",
    .source = "from rmsnorm-scale-moves-epsilon",
    .premises = "c = 2^k; 2^k x, 4^k epsilon exact; both calls in the normal range of the accumulation type; claimed",
    .statement = "RMSNorm(2^k x, 4^k epsilon) is bit for bit RMSNorm(x, epsilon); LayerNorm too",
    .does_not_prove = "anything about other factors, or that the bits are right",
    .caught = "mutant epsilon_fixed, with the claim",
    .kind = PropertyKind::kExact,
    .claim = "power_of_two_scale",
    .ops = {"rms_norm", "layer_norm"},
    .regimes = {"gaussian", "uniform", "few_bits", "powers_of_two", "ramp"},
    .relation = "run1 i = run0 i",
    .choose = [](const Case& c, std::uint64_t draw) { return choose_factor(c, draw, false, power_of_two_meets); },
    .meets = power_of_two_meets,
    .derive = derive_scaled_with_epsilon,
    .check = check_power_of_two,
};

extern const Property kScaleDrift = {
    .id = "rms.scale_drift",
    .lean = "own",
    .source = "from rmsnorm-scale-moves-epsilon",
    .premises = "epsilon > 0; c > 0; c x exactly representable; all inputs finite",
    .statement = "RMSNorm(c x, epsilon) - bias = sqrt((m + epsilon) / (m + epsilon / c^2)) (RMSNorm(x, epsilon) - bias), m = mean x^2",
    .does_not_prove = "that the first result is right",
    .caught = "mutant epsilon_dropped",
    .kind = PropertyKind::kBound,
    .ops = {"rms_norm"},
    .regimes = {"eps_dominated", "few_bits", "gaussian"},
    .relation = "run1 i - bias0 i = √((meanSquare xs0 + epsilon0) / (meanSquare xs0 + epsilon0 / c ^ 2)) * (run0 i - bias0 i)",
    .choose = [](const Case& c, std::uint64_t draw) { return choose_factor(c, draw, true, drift_meets); },
    .meets = drift_meets,
    .derive = derive_drift,
    .check = check_drift,
};

extern const Property kScaleInvariant = {
    .id = "rms.scale_invariant",
    .lean = "own",
    .source = "lesson 003",
    .premises = "c > 0; c x exactly representable; all inputs finite; both calls made with epsilon = 0",
    .statement = "RMSNorm(c x, 0) = RMSNorm(x, 0) within both bounds; for c = 2^k see rms.power_of_two_scale",
    .does_not_prove = "anything about epsilon > 0: see rms.scale_drift",
    .caught = "mutant epsilon_fixed",
    .kind = PropertyKind::kBound,
    .ops = {"rms_norm"},
    .regimes = {"few_bits", "gaussian", "powers_of_two", "wide_exponents"},
    .relation = "run2 i = run1 i",
    .choose = [](const Case& c, std::uint64_t draw) { return choose_factor(c, draw, true, invariant_meets); },
    .meets = invariant_meets,
    .derive = derive_invariant,
    .check = [](std::span<const PropertyRun> runs,
                const PropertyArgs&) { return equal_within_bounds(runs[2], runs[1], "x times a factor, epsilon 0"); },
};

}  // namespace normfuzz
