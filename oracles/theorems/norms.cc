// norm.*, unit.*, cosine.*: norms of rows, distances, unit vectors.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "oracles/theorems/relations.h"

namespace normfuzz {
namespace theorems {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLargest = std::int64_t{1} << 16;  // elements of a case that is run several times and judged with MPFR

double p_of(const Case& c) { return c.number("p", 2); }
bool usable_case(const Case& base) {
  return finite_inputs(base) && base.inputs.front().second && base.inputs.front().second->size() <= kLargest;
}
std::optional<PropertyArgs> choose_finite(const Case& base, std::uint64_t) {
  return usable_case(base) ? std::optional<PropertyArgs>(PropertyArgs{}) : std::nullopt;
}
bool finite_meets(const Case& base, const PropertyArgs&) { return usable_case(base); }

// A norm of one tensor along the same axis.
Case norm_case(const Case& base, Tensor x, double p) {
  Case c;
  c.op = "lp_norm";
  c.params["p"] = p;
  if (const auto axis = base.params.find("axis"); axis != base.params.end()) c.params["axis"] = axis->second;
  c.provenance = base.provenance;
  c.set_input("x", std::move(x));
  return c;
}
Case unit_case(const Case& base, const Tensor& x, double p) {
  Case c = norm_case(base, x, p);
  c.op = "lp_normalize";
  return c;
}
const Tensor& first_of(const Case& c) { return *c.inputs.front().second; }

// f(a_i, b_i) element by element; nothing where a result is not exact in the dtype.
template <class F>
std::optional<Tensor> combined(const Tensor& a, const Tensor& b, F exact) {
  Tensor out = dense(a);
  for (std::int64_t i = 0, n = a.size(); i < n; ++i) {
    const std::optional<double> v = exact(a.value(i), b.value(i));
    if (!v || !representable(a.dtype, *v) || !std::isfinite(*v)) return std::nullopt;
    out.set_value(i, *v);
  }
  return out;
}
// a + b where double holds it (Knuth's two-sum finds no rest).
std::optional<double> exact_sum(double a, double b) {
  const double s = a + b, t = s - a, rest = (a - (s - t)) + (b - t);
  return std::isfinite(s) && rest == 0 ? std::optional<double>(s) : std::nullopt;
}

// y of a run at an element with a finite bound.
struct Seen {
  Interval got, allowed;
};
std::optional<Seen> seen(const PropertyRun& run, std::int64_t at) {
  const ElementBound* b = usable(run, "y", at);
  if (!b) return std::nullopt;
  if (!run.outputs) return Seen{exact_of(*b), Interval(b->error)};  // the oracle's own value
  return Seen{Interval(run.output("y").value(at)), Interval(b->allowed)};
}
std::vector<std::int64_t> elements(const PropertyRun& run) { return sampled_elements(*run.input, "y"); }
DType storage_of(const PropertyRun& run) { return run.input->dtype(); }

// ---- homogeneous ----

bool homogeneous_meets(const Case& base, const PropertyArgs& args) {
  const auto c = number_arg(args, "c");
  return c && std::isfinite(*c) && *c != 0 && usable_case(base) && times(first_of(base), *c);
}
std::optional<PropertyArgs> choose_homogeneous(const Case& base, std::uint64_t state) {
  Draw draw(state);
  const double sign = draw.next() % 2 ? -1 : 1, odd = static_cast<double>(2 * draw.between(0, 7) + 1);
  for (const double c : {odd * std::ldexp(1.0, static_cast<int>(draw.between(-4, 4))),
                         std::ldexp(1.0, static_cast<int>(draw.between(-8, 8))), 0.5, 2.0, 1.0}) {
    PropertyArgs args = {{"c", text_of(sign * c)}};
    if (homogeneous_meets(base, args)) return args;
  }
  return std::nullopt;
}
std::vector<Case> derive_homogeneous(const Case& base, const PropertyArgs& args) {
  Case c = bare(base);
  c.set_input("x", *times(first_of(base), *number_arg(args, "c")));
  return {std::move(c)};
}
// Every |x|, x^2 and their sums, and the result in the output's format, are zero or normal numbers: then a power of two passes through.
bool exact_range(const Case& c, const FloatFormat& f, const Tensor& y) {
  const Tensor& x = first_of(c);
  int lowest = std::numeric_limits<int>::max(), highest = std::numeric_limits<int>::min();
  for (std::int64_t i = 0, n = x.size(); i < n; ++i)
    if (const double v = x.value(i); v != 0) {
      lowest = std::min(lowest, std::ilogb(v));
      highest = std::max(highest, std::ilogb(v) + 1);
    }
  if (lowest > highest) return true;
  const int growth = std::ilogb(static_cast<double>(rows_of(c).cols())) + 2;
  if (2 * lowest <= f.min_exponent || 2 * highest + growth >= f.max_exponent) return false;
  for (std::int64_t i = 0, n = y.size(); i < n; ++i)
    if (const double v = std::fabs(y.value(i));
        v != 0 && !(v > 2 * format_of(y.dtype).smallest_normal && v < format_of(y.dtype).max_finite / 2))
      return false;
  return true;
}
PropertyResult check_homogeneous(std::span<const PropertyRun> runs, const PropertyArgs& args) {
  const double c = std::fabs(*number_arg(args, "c")), p = p_of(*runs[0].input);
  const Tensor &y = runs[0].output("y"), &z = runs[1].output("y");
  int exponent = 0;
  const FloatFormat& f = format_of(runs[0].contract->accumulate);
  if (runs[0].contract->claimed("power_of_two_scale") && std::frexp(c, &exponent) == 0.5 && (p == 1 || p == 2 || p == kInfinity) &&
      exact_range(*runs[0].input, f, y) && exact_range(*runs[1].input, f, z)) {
    PropertyResult r;
    for (std::int64_t i = 0, n = y.size(); i < n; ++i) {
      if (same_number(z.value(i), c * y.value(i))) continue;
      if (r.broken == 0) r.detail = fmt::format("x times {}: y[{}] is {:a}, not {:a}", c, i, z.value(i), c * y.value(i));
      add(r, PropertyKind::kExact, {"y", i, z.value(i), c * y.value(i), 0, in_ulps(z.value(i) - c * y.value(i), z.value(i), z.dtype)});
    }
    if (r.broken > 0) return r;
  }
  PropertyResult r = vacant();
  for (const std::int64_t at : elements(runs[0]))
    if (const auto a = seen(runs[0], at), b = seen(runs[1], at); a && b)
      compare(r, "y", at, b->got, Interval(c) * a->got, b->allowed + Interval(c) * a->allowed, storage_of(runs[0]), "x times a factor");
  return r;
}

// ---- triangle ----

// b_i = s_i a_i with s_i one of -1, 0, 1: a + b is exact wherever 2 a is.
Tensor companion(const Tensor& a, const PropertyArgs& args) {
  Draw draw(static_cast<std::uint64_t>(integer_arg(args, "seed").value_or(0)));
  Tensor b = dense(a);
  for (std::int64_t i = 0, n = a.size(); i < n; ++i) b.set_value(i, a.value(i) * static_cast<double>(draw.between(-1, 1)));
  return b;
}
bool triangle_meets(const Case& base, const PropertyArgs& args) {
  return integer_arg(args, "seed") && usable_case(base) && combined(first_of(base), companion(first_of(base), args), exact_sum);
}
std::optional<PropertyArgs> choose_triangle(const Case& base, std::uint64_t state) {
  PropertyArgs args = {{"seed", std::to_string(Draw(state).next() >> 32)}};
  return triangle_meets(base, args) ? std::optional<PropertyArgs>(std::move(args)) : std::nullopt;
}
std::vector<Case> derive_triangle(const Case& base, const PropertyArgs& args) {
  Tensor b = companion(first_of(base), args), sum = *combined(first_of(base), b, exact_sum);
  return {norm_case(base, std::move(b), p_of(base)), norm_case(base, std::move(sum), p_of(base))};
}
PropertyResult check_triangle(std::span<const PropertyRun> runs, const PropertyArgs&) {
  PropertyResult r = vacant();
  for (const std::int64_t at : elements(runs[0]))
    if (const auto a = seen(runs[0], at), b = seen(runs[1], at), sum = seen(runs[2], at); a && b && sum)
      compare_at_most(r, "y", at, sum->got, a->got + b->got, a->allowed + b->allowed + sum->allowed, storage_of(runs[0]),
                      "the norm of a sum");
  return r;
}

// ---- L1, L2, Linf ----

std::vector<Case> derive_three_norms(const Case& base, const PropertyArgs&) {
  std::vector<Case> out;
  for (const double p : {1.0, 2.0, kInfinity}) out.push_back(norm_case(base, first_of(base), p));
  return out;
}
PropertyResult check_three_norms(std::span<const PropertyRun> runs, const PropertyArgs&) {
  PropertyResult r = vacant();
  const Interval root_n = sqrt(Interval(static_cast<double>(rows_of(*runs[0].input).cols())));
  const DType d = storage_of(runs[0]);
  for (const std::int64_t at : elements(runs[1])) {
    const auto one = seen(runs[1], at), two = seen(runs[2], at), largest = seen(runs[3], at);
    if (one && two) {
      compare_at_most(r, "y", at, two->got, one->got, one->allowed + two->allowed, d, "L2 against L1");
      compare_at_most(r, "y", at, one->got, root_n * two->got, one->allowed + root_n * two->allowed, d, "L1 against sqrt(n) L2");
    }
    if (two && largest) compare_at_most(r, "y", at, largest->got, two->got, two->allowed + largest->allowed, d, "Linf against L2");
  }
  return r;
}

// ---- the family of p ----

constexpr double kExponents[] = {1, 1.5, 2, 4, 32};
std::vector<Case> derive_family(const Case& base, const PropertyArgs&) {
  std::vector<Case> out;
  for (const double p : kExponents) out.push_back(norm_case(base, first_of(base), p));
  out.push_back(norm_case(base, first_of(base), kInfinity));
  return out;
}
// Lq <= Lp for p <= q, and Linf <= Lp <= n^(1/p) Linf, which tends to Linf.
PropertyResult check_family(std::span<const PropertyRun> runs, const PropertyArgs&) {
  PropertyResult r = vacant();
  const Interval n(static_cast<double>(rows_of(*runs[0].input).cols()));
  const DType d = storage_of(runs[0]);
  const auto largest_run = runs.size() - 1;
  for (const std::int64_t at : elements(runs[1])) {
    const auto largest = seen(runs[largest_run], at);
    for (std::size_t k = 1; k < largest_run; ++k) {
      const auto a = seen(runs[k], at), b = seen(runs[k + 1], at);
      if (a && b) compare_at_most(r, "y", at, b->got, a->got, a->allowed + b->allowed, d, "the norm of a larger p");
      if (!a || !largest) continue;
      const Interval growth = pow(n, Interval(1.0) / Interval(kExponents[k - 1]));
      compare_at_most(r, "y", at, a->got, growth * largest->got, a->allowed + growth * largest->allowed, d, "Lp against n^(1/p) Linf");
    }
  }
  for (Discrepancy& one : r.discrepancies) one.allowed = 0;
  return r;
}

// ---- distance ----

bool distance_meets(const Case& base, const PropertyArgs&) { return usable_case(base) && base.input("a") && base.input("b"); }
std::optional<Tensor> exact_difference(const Case& base) {
  return combined(*base.input("a"), *base.input("b"), [](double a, double b) { return exact_sum(a, -b); });
}
std::vector<Case> derive_distance(const Case& base, const PropertyArgs&) {
  Case swapped = bare(base), same = swapped;
  swapped.set_input("a", *base.input("b"));
  swapped.set_input("b", *base.input("a"));
  same.set_input("b", *base.input("a"));
  std::vector<Case> out = {std::move(swapped), std::move(same)};
  if (auto d = exact_difference(base)) out.push_back(norm_case(base, std::move(*d), p_of(base)));
  return out;
}
PropertyResult check_distance(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const DType d = storage_of(runs[0]);
  if (runs[0].contract->claimed("sign_symmetry"))
    if (PropertyResult r = equal_bits(runs[0], runs[1], same_place, {.zeros_equal = true}, "a and b exchanged"); r.broken > 0) return r;
  PropertyResult r = equal_within_bounds(runs[0], runs[1], "a and b exchanged");
  for (const std::int64_t at : elements(runs[2]))
    if (const auto zero = seen(runs[2], at)) compare(r, "y", at, zero->got, Interval(0.0), zero->allowed, d, "the distance from itself");
  if (runs.size() > 3)
    for (const std::int64_t at : elements(runs[0]))
      if (const auto a = seen(runs[0], at), b = seen(runs[3], at); a && b)
        compare(r, "y", at, a->got, b->got, a->allowed + b->allowed, d, "the norm of the difference");
  return r;
}

// ---- rms ----

std::vector<Case> derive_rms(const Case& base, const PropertyArgs&) {
  return {with_epsilon(bare(base), 0), norm_case(base, first_of(base), 2)};
}
PropertyResult check_rms(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const Interval root_n = sqrt(Interval(static_cast<double>(rows_of(*runs[0].input).cols())));
  PropertyResult r = vacant();
  for (const std::int64_t at : elements(runs[1]))
    if (const auto rms = seen(runs[1], at), length = seen(runs[2], at); rms && length)
      compare(r, "y", at, root_n * rms->got, length->got, root_n * rms->allowed + length->allowed, storage_of(runs[0]),
              "sqrt(n) times the RMS");
  return r;
}

// ---- unit vectors ----

std::vector<Case> derive_unit(const Case& base, const PropertyArgs&) { return {unit_case(base, first_of(base), p_of(base))}; }
// A norm of the sum of two vectors is at most the sum of their norms: the computed vector is as long as 1 within the norm of the bounds.
PropertyResult check_unit(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const PropertyRun& run = runs[1];
  const RowView view = rows_of(*run.input);
  const double p = p_of(*run.input);
  PropertyResult r = vacant();
  const auto raised = [&](const Interval& v) { return p == 1 ? abs(v) : p == 2 ? square(v) : pow(abs(v), Interval(p)); };
  const auto root_of = [&](const Interval& s) { return p == 1 ? s : p == 2 ? sqrt(s) : pow(s, Interval(1.0) / Interval(p)); };
  for (const std::int64_t row : sampled_rows(view)) {
    Interval sum, allowed_sum;
    bool all = true;
    for (std::int64_t i = 0; i < view.cols() && all; ++i) {
      const auto v = seen(run, view.index(row, i));
      all = v.has_value();
      if (!all) break;
      if (p == kInfinity) {
        sum = max(sum, abs(v->got));
        allowed_sum = max(allowed_sum, v->allowed);
      } else {
        sum += raised(v->got);
        allowed_sum += raised(v->allowed);
      }
    }
    if (!all) continue;
    const Interval length = p == kInfinity ? sum : root_of(sum), allowed = p == kInfinity ? allowed_sum : root_of(allowed_sum);
    compare(r, "y", view.index(row, 0), length, Interval(1.0), allowed, storage_of(run), "the length of the unit vector");
  }
  return r;
}

// ---- cosine ----

bool cosine_meets(const Case& base, const PropertyArgs& args) {
  const auto c = number_arg(args, "c");
  return c && *c > 0 && std::isfinite(*c) && distance_meets(base, {}) && times(*base.input("a"), *c);
}
std::optional<PropertyArgs> choose_cosine(const Case& base, std::uint64_t state) {
  const double c = std::ldexp(1.0, static_cast<int>(Draw(state).between(-6, 6)));
  for (const double factor : {c, 0.5, 2.0, 1.0}) {
    PropertyArgs args = {{"c", text_of(factor)}};
    if (cosine_meets(base, args)) return args;
  }
  return std::nullopt;
}
std::vector<Case> derive_cosine(const Case& base, const PropertyArgs& args) {
  Case plain = bare(base);
  plain.params.erase("epsilon");
  plain.params.erase("epsilon_mode");
  Case scaled = plain;
  scaled.set_input("a", *times(*base.input("a"), *number_arg(args, "c")));
  return {plain, std::move(scaled), unit_case(base, *base.input("a"), 2), unit_case(base, *base.input("b"), 2)};
}
PropertyResult check_cosine(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const RowView view = rows_of(*runs[1].input);
  const DType d = storage_of(runs[0]);
  PropertyResult r = vacant();
  for (const std::int64_t row : sampled_rows(view)) {
    const auto cosine = seen(runs[1], row);
    if (!cosine) continue;
    compare_at_most(r, "y", row, abs(cosine->got), Interval(1.0), cosine->allowed, d, "|cosine|");
    if (const auto scaled = seen(runs[2], row))
      compare(r, "y", row, scaled->got, cosine->got, scaled->allowed + cosine->allowed, d, "a times a factor");
    Interval dot, allowed = cosine->allowed;
    bool all = true;
    for (std::int64_t i = 0; i < view.cols() && all; ++i) {
      const auto a = seen(runs[3], view.index(row, i)), b = seen(runs[4], view.index(row, i));
      all = a && b;
      if (!all) break;
      dot += a->got * b->got;
      allowed += abs(a->got) * b->allowed + abs(b->got) * a->allowed + a->allowed * b->allowed;
    }
    if (all) compare(r, "y", row, cosine->got, dot, allowed, d, "the dot product of the unit vectors");
  }
  return r;
}

}  // namespace
}  // namespace theorems

using namespace theorems;

extern const Property kHomogeneous = {
    .id = "norm.homogeneous",
    .lean = "own",
    .source = "lesson 003",
    .premises = "c != 0; c x exactly representable; all inputs finite",
    .statement =
        "norm_p(c x) = |c| norm_p(x) within both bounds; bit for bit for c = +-2^k and p = 1, 2, inf in the normal range, where "
        "power_of_two_scale is claimed",
    .does_not_prove = "that either norm is right",
    .caught = "mutant no_root",
    .kind = PropertyKind::kBound,
    .claim = "power_of_two_scale",
    .ops = {"lp_norm"},
    .regimes = {"few_bits", "gaussian", "powers_of_two", "equal_magnitudes"},
    .relation = "run1 = |c| * run0",
    .choose = choose_homogeneous,
    .meets = homogeneous_meets,
    .derive = derive_homogeneous,
    .check = check_homogeneous,
};

extern const Property kTriangle = {
    .id = "norm.triangle",
    .lean = "own",
    .source = "lesson 003",
    .premises = "a + b exact: b is a with signs -1, 0, 1; all inputs finite",
    .statement = "norm(a + b) <= norm(a) + norm(b), by the enclosures and by a kernel within its bounds",
    .does_not_prove = "that any of the three norms is right",
    .caught = "mutant no_root",
    .kind = PropertyKind::kBound,
    .ops = {"lp_norm"},
    .regimes = {"few_bits", "gaussian", "wide_exponents", "single_spike"},
    .relation = "run2 ≤ run0 + run1",
    .choose = choose_triangle,
    .meets = triangle_meets,
    .derive = derive_triangle,
    .check = check_triangle,
    .check_oracle = check_triangle,
};

extern const Property kThreeNorms = {
    .id = "norm.l2_l1_sqrt_n",
    .lean = "own",
    .source = "lesson 003",
    .premises = "all inputs finite",
    .statement = "L2 <= L1 <= sqrt(n) L2 and Linf <= L2, by the enclosures and by a kernel within its bounds",
    .does_not_prove = "that any of the three is right",
    .caught = "mutant no_root",
    .kind = PropertyKind::kBound,
    .ops = {"lp_norm"},
    .regimes = {"gaussian", "equal_magnitudes", "single_spike", "wide_exponents"},
    .relation = "run2 ≤ run1 ∧ run1 ≤ √(n : ℝ) * run2 ∧ run3 ≤ run2",
    .choose = choose_finite,
    .meets = finite_meets,
    .derive = derive_three_norms,
    .check = check_three_norms,
    .check_oracle = check_three_norms,
};

extern const Property kFamily = {
    .id = "norm.p_family",
    .lean = "own",
    .source = "lesson 003",
    .premises = "p >= 1; all inputs finite",
    .statement = "Lq <= Lp for p <= q, and Linf <= Lp <= n^(1/p) Linf: Lp tends to the maximum",
    .does_not_prove = "anything about a kernel",
    .caught = "oracle that takes p = 4 for p = 1",
    .kind = PropertyKind::kOracle,
    .ops = {"lp_norm"},
    .regimes = {"gaussian", "equal_magnitudes", "single_spike", "few_bits"},
    .choose = choose_finite,
    .meets = finite_meets,
    .derive = derive_family,
    .check_oracle = check_family,
};

extern const Property kDistanceIsNorm = {
    .id = "norm.distance",
    .lean = "own",
    .source = "lesson 003",
    .premises = "nothing added to the difference; all inputs finite; the norm of a - b where that is exact",
    .statement =
        "distance(a, b) = norm(a - b) and distance(b, a), distance(a, a) = 0 within the bounds; bit for bit symmetric where "
        "sign_symmetry is claimed",
    .does_not_prove = "that the norm is right",
    .caught = "kernel that adds to the distance",
    .kind = PropertyKind::kBound,
    .claim = "sign_symmetry",
    .ops = {"distance"},
    .regimes = {"few_bits", "gaussian", "nearly_constant_row", "powers_of_two"},
    .relation = "run1 = run0 ∧ run2 = 0",
    .choose = choose_if<distance_meets>,
    .meets = distance_meets,
    .derive = derive_distance,
    .check = check_distance,
};

extern const Property kRmsDefinition = {
    .id = "norm.rms_definition",
    .lean = "own",
    .source = "lesson 003",
    .premises = "all inputs finite; called with epsilon = 0",
    .statement = "sqrt(n) rms(x) = L2(x) within the bounds",
    .does_not_prove = "that either is right",
    .caught = "kernel whose RMS divides by too little",
    .kind = PropertyKind::kBound,
    .ops = {"rms"},
    .regimes = {"gaussian", "few_bits", "wide_exponents"},
    .relation = "√(n : ℝ) * run1 = run2",
    .choose = choose_finite,
    .meets = finite_meets,
    .derive = derive_rms,
    .check = check_rms,
};

extern const Property kUnitLength = {
    .id = "unit.length_one",
    .lean = "own",
    .source = "lesson 003",
    .premises = "x != 0; called without epsilon; powers in range (elsewhere the bound is infinite); all inputs finite",
    .statement = "the normalized vector has length 1 within the length of its elements' bounds",
    .does_not_prove = "that its direction is kept: each element's own bound says that",
    .caught = "mutant divisor_l1",
    .kind = PropertyKind::kBound,
    .ops = {"lp_normalize"},
    .regimes = {"gaussian", "few_bits", "wide_exponents", "single_spike"},
    .choose = choose_finite,
    .meets = finite_meets,
    .derive = derive_unit,
    .check = check_unit,
};

extern const Property kCosineUnitDot = {
    .id = "cosine.unit_dot",
    .lean = "own",
    .source = "lesson 003",
    .premises = "a, b != 0; called without epsilon; squares in range (elsewhere the bound is infinite); c a exact for c = 2^k",
    .statement = "the cosine is the dot product of the unit vectors, at most 1, and the same for c a, within the bounds",
    .does_not_prove = "that the unit vectors are right",
    .caught = "kernel whose cosine is too long",
    .kind = PropertyKind::kBound,
    .ops = {"cosine"},
    .regimes = {"gaussian", "few_bits", "wide_exponents"},
    .choose = choose_cosine,
    .meets = cosine_meets,
    .derive = derive_cosine,
    .check = check_cosine,
};

}  // namespace normfuzz
