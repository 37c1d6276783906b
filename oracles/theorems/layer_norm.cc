// Closed values and limits of LayerNorm: one feature, constant rows, bounded normalized values.
#include <fmt/format.h>

#include "oracles/theorems/relations.h"

namespace normfuzz {
namespace theorems {
namespace {

// ---- one feature ----

// The law itself is decided in harness/judge.cc, which sees every case; here are its premises as far as the case shows them.
bool one_feature_meets(const Case& base, const PropertyArgs&) {
  return base.input("x") && rows_of(base).cols() == 1 && finite_inputs(base) && base.epsilon() > 0;
}

// ---- constant rows ----

bool constant_row_meets(const Case& base, const PropertyArgs& args) {
  const auto column = integer_arg(args, "column");
  return column && base.input("x") && *column >= 0 && *column < rows_of(base).cols() && base.epsilon() > 0 && finite_inputs(base);
}
std::optional<PropertyArgs> choose_constant_row(const Case& base, std::uint64_t draw) {
  const std::int64_t cols = rows_of(base).cols();
  PropertyArgs args = {{"column", std::to_string(Draw(draw).between(0, std::max<std::int64_t>(cols, 1) - 1))}};
  return constant_row_meets(base, args) ? std::optional<PropertyArgs>(std::move(args)) : std::nullopt;
}
// Every row is its element of that column, repeated.
std::vector<Case> derive_constant_rows(const Case& base, const PropertyArgs& args) {
  const std::int64_t column = *integer_arg(args, "column");
  const RowView view = rows_of(base);
  const Tensor& x = *base.input("x");
  Tensor constant = dense(x);  // strides of 0 would tie elements together that now differ
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i) constant.set_bits(view.index(r, i), x.bits(view.index(r, column)));
  return {with_x(bare(base), std::move(constant))};
}

PropertyResult constant_rows_exact(const PropertyRun& run) {
  const RowView view = rows_of(*run.input);
  const Tensor& y = run.output("y");
  PropertyResult r;
  for (std::int64_t row = 0; row < view.rows(); ++row)
    for (std::int64_t i = 0; i < view.cols(); ++i) {
      const std::int64_t at = view.index(row, i);
      const double bias = value_from_bits(y.dtype, bits_from_value(y.dtype, bias_at(*run.input, i)));
      if (same_number(y.value(at), bias)) continue;
      if (r.broken == 0) r.detail = fmt::format("a constant row gives {:a} and not the bias {:a} at y[{}]", y.value(at), bias, at);
      add(r, PropertyKind::kExact, {"y", at, y.value(at), bias, 0, in_ulps(y.value(at) - bias, bias, y.dtype)});
    }
  return r;
}

PropertyResult constant_rows_bound(const PropertyRun& run) {
  const RowView view = rows_of(*run.input);
  const Tensor& y = run.output("y");
  PropertyResult r = vacant();
  for (const std::int64_t row : sampled_rows(view))
    for (std::int64_t i = 0; i < view.cols(); ++i) {
      const std::int64_t at = view.index(row, i);
      const ElementBound* b = usable(run, "y", at);
      if (!b) continue;
      if (r.state == PropertyResult::State::kVoid) r.state = PropertyResult::State::kHolds;
      const double bias = bias_at(*run.input, i), got = y.value(at);
      if (!beyond(Interval(got) - Interval(bias), Interval(b->allowed))) continue;
      if (r.broken == 0)
        r.detail = fmt::format("a constant row gives {:a} at y[{}], the bias is {:a} and the bound {:.3g}", got, at, bias, b->allowed);
      add(r, PropertyKind::kBound, {"y", at, got, bias, b->allowed, in_ulps(got - bias, bias, y.dtype)});
    }
  return r;
}

// Exact only in formats in which epsilon does not round to zero, by whoever claims it.
PropertyResult check_constant_rows(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const Contract& contract = *runs[1].contract;
  const double epsilon = value_from_bits(contract.accumulate, bits_from_value(contract.accumulate, runs[1].input->epsilon()));
  if (!(epsilon > 0) || (contract.flush_to_zero && epsilon < format_of(contract.accumulate).smallest_normal)) return vacant();
  if (contract.claimed("exact_constant_row"))
    if (PropertyResult exact = constant_rows_exact(runs[1]); exact.state == PropertyResult::State::kBroken) return exact;
  return constant_rows_bound(runs[1]);
}

// ---- |xhat| ----

bool bounded_meets(const Case& base, const PropertyArgs&) { return base.epsilon() > 0 && finite_inputs(base); }
// |y - bias| <= |weight| min(sqrt(n - 1), |x - mean| / sqrt(epsilon)) + the element's bound.
PropertyResult check_bounded(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const PropertyRun& run = runs[0];
  const Case& c = *run.input;
  const RowView view = rows_of(c);
  const Tensor &x = *c.input("x"), &y = run.output("y");
  const Interval longest = root(Interval(static_cast<double>(view.cols() - 1))), scale = rsqrt(Interval(c.epsilon()));
  PropertyResult r = vacant();
  for (const std::int64_t row : sampled_rows(view)) {
    const Interval mean = moments_of(c, view, row).mean;
    for (std::int64_t i = 0; i < view.cols(); ++i) {
      const std::int64_t at = view.index(row, i);
      const ElementBound* b = usable(run, "y", at);
      if (!b) continue;
      if (r.state == PropertyResult::State::kVoid) r.state = PropertyResult::State::kHolds;
      const double got = y.value(at), bias = bias_at(c, i);
      const Interval weight = abs(exact_weight(c, i)), distance((Interval(x.value(at)) - mean).magnitude());
      const Interval by_count = weight * longest + Interval(b->allowed), by_epsilon = weight * distance * scale + Interval(b->allowed);
      const Interval difference = Interval(got) - Interval(bias);
      const bool count_broken = beyond(difference, by_count);
      if (!count_broken && !beyond(difference, by_epsilon)) continue;
      const double allowed = (count_broken ? by_count : by_epsilon).upper_double();
      if (r.broken == 0)
        r.detail = fmt::format("y[{}] is {:.9g} from its bias, {} allows {:.9g}", at, middle(difference),
                               count_broken ? "|weight| sqrt(n - 1)" : "|weight (x - mean)| / sqrt(epsilon)", allowed);
      add(r, PropertyKind::kBound, {"y", at, got, bias, allowed, in_ulps(got - bias, got, y.dtype)});
    }
  }
  return r;
}

}  // namespace
}  // namespace theorems

using namespace theorems;

extern const Property kOneFeatureForward = {
    .id = "ln.one_feature_forward",
    .lean = "one_feature_layernorm_scalar_contract",
    .source = "seed 001",
    .premises = "n = 1; x, weight, bias finite; epsilon > 0 in the accumulation type; the contract excludes folding and one-pass moments",
    .statement = "y is the bias rounded to y's type, as a number, for every x, weight and epsilon > 0, also where x x overflows",
    .does_not_prove = "anything about rows of more than one feature",
    .caught = "kernel of the tests with a folded affine map (FMA)",
    .kind = PropertyKind::kExact,
    .ops = {"layer_norm"},
    .regimes = {"one_feature"},
    .relation = "run0 i = bias0 i",
    .elsewhere = "harness/judge.cc, on every case",
    .choose = choose_if<one_feature_meets>,
    .meets = one_feature_meets,
};

extern const Property kConstantRow = {
    .id = "ln.constant_row",
    .lean = "own",
    .source = "TorchLean, ConstantNormalizationSlice",
    .premises = "all elements of the row equal; epsilon > 0 in the accumulation type; all inputs finite",
    .statement = "y is the bias within the contract's bound; exactly, as a number, where exact_constant_row is claimed",
    .does_not_prove = "anything about rows that are nearly constant",
    .caught = "mutant bf16_mean; the exact half: a kernel off by one unit, with the claim",
    .kind = PropertyKind::kBound,
    .ops = {"layer_norm"},
    .regimes = {"constant_row", "large_mean", "gaussian", "wide_exponents"},
    .relation = "run1 i = bias1 i",
    .choose = choose_constant_row,
    .meets = constant_row_meets,
    .derive = derive_constant_rows,
    .check = check_constant_rows,
};

extern const Property kNormalizedBounded = {
    .id = "ln.normalized_bounded",
    .lean = "own",
    .source = "TorchLean, LayerNormBounds",
    .premises = "epsilon > 0; all inputs finite",
    .statement = "|xhat_i| <= min(sqrt(n - 1), |x_i - mean| / sqrt(epsilon)) + the contract's bound of the element",
    .does_not_prove = "that xhat_i is right within these limits",
    .caught = "mutant epsilon_dropped",
    .kind = PropertyKind::kBound,
    .ops = {"layer_norm"},
    .regimes = {"eps_dominated", "single_spike", "two_features", "gaussian"},
    .relation = "|run0 i - bias0 i| ≤ |weight0 i| * min (√(n - 1)) (|xs0.getD i 0 - mean xs0| / √epsilon0)",
    .choose = choose_if<bounded_meets>,
    .meets = bounded_meets,
    .check = check_bounded,
};

}  // namespace normfuzz
