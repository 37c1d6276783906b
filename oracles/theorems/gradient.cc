// chan.vjp, chan.differentiable: the analytic gradient against central differences of the formula, written out here once more in MPFR.
#include <fmt/format.h>

#include "oracles/theorems/relations.h"

namespace normfuzz {
namespace theorems {
namespace {

constexpr std::int64_t kCols = 512;      // of a row that is differenced; a few milliseconds
constexpr mpfr_prec_t kPrecision = 512;  // steps of 2^-40 lose 40 bits of 512, differences of squares of them 80 more
constexpr int kStep = -40;               // binades of a step below the scale of the row

struct Place {
  std::int64_t row, column;
};
std::optional<Place> place_of(const Case& base, const PropertyArgs& args) {
  const auto row = integer_arg(args, "row"), column = integer_arg(args, "column");
  const RowView view = rows_of(base);
  if (!row || !column || *row < 0 || *row >= view.rows() || *column < 0 || *column >= view.cols()) return std::nullopt;
  return Place{*row, *column};
}
bool place_meets(const Case& base, const PropertyArgs& args) {
  return base.input("x") && base.epsilon() > 0 && rows_of(base).cols() <= kCols && finite_inputs(base) && place_of(base, args);
}
std::optional<PropertyArgs> choose_place(const Case& base, std::uint64_t state) {
  if (!base.input("x")) return std::nullopt;
  const RowView view = rows_of(base);
  if (view.rows() < 1 || view.cols() < 1) return std::nullopt;
  Draw draw(state);
  PropertyArgs args = {{"row", std::to_string(draw.between(0, view.rows() - 1))},
                       {"column", std::to_string(draw.between(0, view.cols() - 1))}};
  return place_meets(base, args) ? std::optional<PropertyArgs>(std::move(args)) : std::nullopt;
}

// sum_i c_i weight_i (x_i - mean) / sqrt(variance + epsilon) of a row, with one element moved; c: the cotangent, or ones.
class Contracted {
 public:
  Contracted(const Case& c, const Place& place) : case_(c), view_(rows_of(c)), place_(place), centred_(find_op(c.op)->centred()) {}

  // The scale of a step: a power of two near sqrt(variance + epsilon).
  int scale() const {
    const RowMoments m = moments_of(case_, view_, place_.row);
    const Interval s = sqrt((centred_ ? m.variance : m.mean_square) + Interval(case_.epsilon()));
    return s.upper_double() > 0 && std::isfinite(s.upper_double()) ? std::ilogb(s.upper_double()) : 0;
  }
  Interval at(double step) const {
    const auto n = static_cast<unsigned long>(view_.cols());
    Interval mean, spread, sum;
    if (centred_) {
      for (std::int64_t i = 0; i < view_.cols(); ++i) mean += x(i, step);
      mean = mean / n;
    }
    for (std::int64_t i = 0; i < view_.cols(); ++i) spread += square(x(i, step) - mean);
    const Interval r = rsqrt(spread / n + Interval(case_.epsilon()));
    for (std::int64_t i = 0; i < view_.cols(); ++i) sum += coefficient(i) * (x(i, step) - mean);
    return sum * r;
  }
  // (f(h) - f(-h)) / 2h
  Interval difference(int binade) const {
    const double h = std::ldexp(1.0, binade);
    return (at(h) - at(-h)) * Interval(std::ldexp(1.0, -binade - 1));
  }

 private:
  Interval x(std::int64_t i, double step) const {
    const Interval v(case_.input("x")->value(view_.index(place_.row, i)));
    return i == place_.column ? v + Interval(step) : v;
  }
  Interval coefficient(std::int64_t i) const {
    const Tensor* dy = case_.input("dy");
    return exact_weight(case_, i) * Interval(dy ? dy->value(view_.index(place_.row, i)) : 1 + static_cast<double>(i % 5));
  }
  const Case& case_;
  const RowView view_;
  const Place place_;
  const bool centred_;
};

// Central differences err by a multiple of h^2: the one of h/2 is off by a third of how much halving changed it, hence by less than that.
PropertyResult check_vjp_oracle(std::span<const PropertyRun> runs, const PropertyArgs& args) {
  const Case& c = *runs[0].input;
  const Place place = *place_of(c, args);
  const std::int64_t index = rows_of(c).index(place.row, place.column);
  const ElementBound* b = usable(runs[0], "dx", index);
  if (!b) return vacant();
  const PrecisionScope precision(kPrecision);
  const Contracted f(c, place);
  const int step = f.scale() + kStep;
  if (step < -1000 || step > 1000) return vacant();
  const Interval coarse = f.difference(step), fine = f.difference(step - 1);
  PropertyResult r = vacant();
  compare(r, "dx", index, exact_of(*b), fine, abs(coarse - fine) + Interval(b->error), c.dtype(), "dx against central differences");
  return r;
}
PropertyResult check_vjp(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const PropertyRun& run = runs[0];
  const Tensor& dx = run.output("dx");
  PropertyResult r = vacant();
  for (const std::int64_t at : sampled_elements(*run.input, "dx"))
    if (const ElementBound* b = usable(run, "dx", at))
      compare(r, "dx", at, Interval(dx.value(at)), exact_of(*b), Interval(b->allowed) + Interval(b->error), dx.dtype, "dx against J^T dy");
  return r;
}

// ---- differentiable ----

constexpr int kQuotientStep =
    -20;                       // y is enclosed to 106 bits: its differences keep 80, and the terms of order h^4 are 2^-40 of those of h^2
constexpr int kQuotients = 3;  // steps h, h/2, h/4
constexpr std::int64_t kElements = 4096;

// The case in f64, x moved by each step in both directions; nothing where f64 does not hold a moved element.
std::optional<std::vector<Case>> moved_cases(const Case& base, const PropertyArgs& args) {
  const auto place = place_of(base, args);
  if (!place) return std::nullopt;
  Case wide = bare(base);
  for (auto& [name, t] : wide.inputs) {
    if (!t || t->dtype == DType::kF64) continue;
    Tensor f64 = Tensor::zeros(DType::kF64, t->shape);
    for (std::int64_t i = 0, n = t->size(); i < n; ++i) f64.set_value(i, t->value(i));
    t = std::move(f64);
  }
  Tensor& x = *wide.input("x");
  x = dense(std::move(x));
  const std::int64_t at = rows_of(base).index(place->row, place->column);
  const double centre = static_cast<double>(static_cast<float>(x.value(at)));  // leaves room for the step behind its last place
  const int step = Contracted(base, *place).scale() + kQuotientStep;
  std::vector<Case> out;
  for (int k = 0; k < kQuotients; ++k)
    for (const double sign : {1.0, -1.0}) {
      const double h = sign * std::ldexp(1.0, step - k), moved = centre + h;
      if (!std::isfinite(centre) || moved - centre != h || moved - h != centre) return std::nullopt;
      x.set_value(at, moved);
      out.push_back(wide);
    }
  return out;
}
bool moved_meets(const Case& base, const PropertyArgs& args) {
  const auto output = integer_arg(args, "output");
  if (!base.input("x") || base.input("x")->size() > kElements || !place_meets(base, args)) return false;
  return output && *output >= 0 && *output < rows_of(base).cols() && moved_cases(base, args);
}
std::optional<PropertyArgs> choose_moved(const Case& base, std::uint64_t state) {
  auto args = choose_place(base, state);
  if (!args) return std::nullopt;
  (*args)["output"] = std::to_string(Draw(~state).between(0, rows_of(base).cols() - 1));
  return moved_meets(base, *args) ? args : std::nullopt;
}

// Halving the step divides the change of a quotient of order h^2 by four; by two or more is asked for.
PropertyResult check_differentiable(std::span<const PropertyRun> runs, const PropertyArgs& args) {
  const Case& c = *runs[0].input;
  const Place place = *place_of(c, args);
  const std::int64_t index = rows_of(c).index(place.row, *integer_arg(args, "output"));
  const std::int64_t moved = rows_of(c).index(place.row, place.column);
  Interval quotients[kQuotients], noise;
  for (std::size_t k = 0; k < kQuotients; ++k) {
    const PropertyRun &up = runs[2 * k + 1], &down = runs[2 * k + 2];
    const ElementBound *a = usable(up, "y", index), *b = usable(down, "y", index);
    if (!a || !b) return vacant();
    const Interval width = Interval(up.input->input("x")->value(moved)) - Interval(down.input->input("x")->value(moved));
    quotients[k] = (exact_of(*a) - exact_of(*b)) / width;
    noise += (Interval(a->error) + Interval(b->error)) / width;
  }
  PropertyResult r = vacant();
  compare_at_most(r, "y", index, abs(quotients[1] - quotients[2]), abs(quotients[0] - quotients[1]) / 2, noise + noise, DType::kF64,
                  "the change of a difference quotient");
  return r;
}

}  // namespace
}  // namespace theorems

using namespace theorems;

extern const Property kVjp = {
    .id = "chan.vjp",
    .lean = "chanLNTensor3_has_vjp, rowLNVecFlat_has_vjp",
    .source = "seed 002",
    .premises = "epsilon > 0; all inputs finite; rows of at most 512",
    .statement = "the oracle's dx is the limit of central differences of sum dy y, of order h^2; a kernel's is within its bound of it",
    .does_not_prove = "anything about dweight and dbias: see chan.gamma_contract, chan.beta_contract",
    .caught = "mutant no_mean_gradient; oracle without the term mean(g)",
    .kind = PropertyKind::kBound,
    .ops = {"layer_norm_backward", "channel_layer_norm_backward", "rms_norm_backward"},
    .regimes = {"gaussian", "eps_dominated", "large_mean", "few_bits"},
    .choose = choose_place,
    .meets = place_meets,
    .check = check_vjp,
    .check_oracle = check_vjp_oracle,
};

extern const Property kDifferentiable = {
    .id = "chan.differentiable",
    .lean = "rowLNVecFlat_diff, chanLNTensor3_diff, rowLNVecFlat_gamma_diffAt, rowLNVecFlat_beta_diffAt",
    .source = "seed 002",
    .premises = "epsilon > 0; all inputs finite; rows of at most 512; the moved elements exact in f64",
    .statement = "central difference quotients of the oracle's y in an element of x converge with the order h^2",
    .does_not_prove = "what the limit is: see chan.vjp",
    .caught = "oracle that moves with the step by a jump",
    .kind = PropertyKind::kOracle,
    .ops = {"layer_norm", "channel_layer_norm", "rms_norm"},
    .regimes = {"gaussian", "eps_dominated", "large_mean", "few_bits"},
    .choose = choose_moved,
    .meets = moved_meets,
    .derive = [](const Case& base, const PropertyArgs& args) { return *moved_cases(base, args); },
    .check_oracle = check_differentiable,
};

}  // namespace normfuzz
