// Lengths of the outputs of a normalization, before weight and bias: the row is as long as the theorem says.
#include <fmt/format.h>

#include "oracles/theorems/relations.h"

namespace normfuzz {
namespace theorems {
namespace {

bool has_parameters(const Case& c) { return c.input("weight") || c.input("bias"); }

std::optional<PropertyArgs> choose_any(const Case& base, std::uint64_t) {
  return finite(base.input("x")) ? std::optional<PropertyArgs>(PropertyArgs{}) : std::nullopt;
}
bool finite_x(const Case& base, const PropertyArgs&) { return finite(base.input("x")); }
std::vector<Case> derive_plain(const Case& base, const PropertyArgs&) {
  if (!has_parameters(base)) return {};
  return {without_parameters(bare(base))};
}

// sqrt(n s / (s + epsilon)), s the variance (layer_norm) or the mean square; nothing where the row is divided by zero.
std::optional<Interval> length_of(const Case& c, const RowView& view, std::int64_t row, bool centred) {
  const RowMoments m = moments_of(c, view, row);
  const Interval& s = centred ? m.variance : m.mean_square;
  if (s.is_zero()) return c.epsilon() > 0 ? std::optional<Interval>(Interval(0.0)) : std::nullopt;
  return root(Interval(static_cast<double>(view.cols()))) * root(s) * rsqrt(s + Interval(c.epsilon()));
}

// The computed row differs from the exact one by at most the vector of the bounds, so its length by at most their length.
PropertyResult check_length(std::span<const PropertyRun> runs, bool centred) {
  const PropertyRun& run = runs.back();
  const RowView view = rows_of(*run.input);
  const Tensor& y = run.output("y");
  PropertyResult r = vacant();
  for (const std::int64_t row : sampled_rows(view)) {
    const auto expected = length_of(*run.input, view, row, centred);
    if (!expected) continue;
    Interval squares, allowed_squares;
    bool all = true;
    for (std::int64_t i = 0; i < view.cols() && all; ++i) {
      const std::int64_t at = view.index(row, i);
      const ElementBound* b = usable(run, "y", at);
      all = b != nullptr;
      if (!all) break;
      squares += square(Interval(y.value(at)));
      allowed_squares += square(Interval(b->allowed));
    }
    if (!all) continue;
    if (r.state == PropertyResult::State::kVoid) r.state = PropertyResult::State::kHolds;
    const Interval length = root(squares), allowed = root(allowed_squares);
    if (!beyond(length - *expected, allowed)) continue;
    const double got = middle(length), ideal = middle(*expected);
    if (r.broken == 0)
      r.detail = fmt::format("row {} has the length {:.17g}, the theorem says {:.17g}, the bounds of its elements allow {:.3g}", row, got,
                             ideal, allowed.upper_double());
    add(r, PropertyKind::kBound,
        {"y", view.index(row, 0), got, ideal, allowed.upper_double(), in_ulps(got - ideal, ideal, run.input->dtype())});
  }
  return r;
}

}  // namespace
}  // namespace theorems

using namespace theorems;

extern const Property kOutputRmsOne = {
    .id = "rms.output_rms_one",
    .lean = "own",
    .source = "lesson 003",
    .premises = "x finite; x != 0 where epsilon = 0; called without weight and bias",
    .statement =
        "the output's RMS is sqrt(m / (m + epsilon)), 1 for epsilon = 0: its length sqrt(n) times that, within the length of the "
        "elements' bounds",
    .does_not_prove = "that the direction is kept",
    .caught = "mutant epsilon_outside",
    .kind = PropertyKind::kBound,
    .ops = {"rms_norm"},
    .regimes = {"gaussian", "eps_dominated", "wide_exponents", "equal_magnitudes"},
    .relation = "((List.range n).map fun j => runN j ^ 2).sum = n * (meanSquare xsN / (meanSquare xsN + epsilonN))",
    .choose = choose_any,
    .meets = finite_x,
    .derive = derive_plain,
    .check = [](std::span<const PropertyRun> runs, const PropertyArgs&) { return check_length(runs, false); },
};

extern const Property kOutputLength = {
    .id = "ln.output_length",
    .lean = "own",
    .source = "lesson 003",
    .premises = "x finite; x not constant where epsilon = 0; called without weight and bias",
    .statement = "the output's length is sqrt(n v / (v + epsilon)), sqrt(n) for epsilon = 0, within the length of the elements' bounds",
    .does_not_prove = "that the direction is kept",
    .caught = "mutant sample_variance",
    .kind = PropertyKind::kBound,
    .ops = {"layer_norm"},
    .regimes = {"gaussian", "eps_dominated", "large_mean", "two_features", "residual_growth"},
    .relation = "((List.range n).map fun j => runN j ^ 2).sum = n * (variance xsN / (variance xsN + epsilonN))",
    .choose = choose_any,
    .meets = finite_x,
    .derive = derive_plain,
    .check = [](std::span<const PropertyRun> runs, const PropertyArgs&) { return check_length(runs, true); },
};

}  // namespace normfuzz
