#include "oracles/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "oracles/formula_bounds.h"
#include "oracles/number/ball_arithmetic.h"
#include "oracles/ops/geometry.h"
#include "oracles/row_facts.h"

namespace normfuzz {
namespace {

#include "oracles/ops/all-inl.h"
// after the formulas
#include "oracles/sums-inl.h"

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr mpfr_prec_t kFirstBits = 192;  // as slice_bounds() has by default
constexpr mpfr_prec_t kMostBits = 8192;  // f64 spans 2^-1074..2^1024: its squares and their sums are exact far below this

// Head and tail of an enclosure, and a bound of what they miss.
void set_exact(ElementBound& b, const Interval& y) {
  b.head = mpfr_get_d(y.lower(), MPFR_RNDN);
  if (!std::isfinite(b.head)) {  // beyond double: only reachable for f64, where it overflows for every kernel
    b.head = std::copysign(std::numeric_limits<double>::max(), b.head);
    b.error = kInfinity;
    return;
  }
  Real rest;
  mpfr_sub_d(rest.get(), y.upper(), b.head, MPFR_RNDU);
  const double high = mpfr_get_d(rest.get(), MPFR_RNDU);
  mpfr_sub_d(rest.get(), y.lower(), b.head, MPFR_RNDD);
  b.tail = mpfr_get_d(rest.get(), MPFR_RNDN);
  const Up width = Up(std::max(0.0, high - b.tail));
  // high - tail and tail itself are each rounded once: relative 2^-52 of the tail, or one subnormal.
  b.error = mpfr_zero_p(rest.get()) && high == 0 ? 0 : (width + Up(std::fabs(b.tail)) * Up(0x1p-52) + Up(0x1p-1074)).value();
}

double one_ulp(DType d, double exact_head, double exact_error) {
  const FloatFormat& f = format_of(d);
  const double smallest = std::max(0.0, std::fabs(exact_head) - exact_error);
  int exponent = 0;
  std::frexp(smallest, &exponent);
  const int e = smallest == 0 ? f.min_exponent : std::clamp(exponent - 1, f.min_exponent, f.max_exponent);
  return std::ldexp(1.0, e - f.precision + 1);
}

// `faithful`: strictly less than one ulp of the output type, which for a computed number means a neighbour of the exact value.
void make_faithful(ElementBound& b, DType storage) {
  if (b.limit == Limit::kZeroDenominator) return;
  b.limit = Limit::kNone;
  b.allowed = one_ulp(storage, b.head + b.tail, b.error) * (1 - 0x1p-50);
  b.magnitude = (Up(std::fabs(b.head)) + Up(std::fabs(b.tail)) + Up(b.error) + Up(b.allowed)).value();
}

ElementBound unbounded(Expectation expect) {
  ElementBound b;
  b.expect = expect;
  b.allowed = kInfinity;
  b.limit = expect == Expectation::kAnything ? Limit::kPrecision : Limit::kNone;
  return b;
}

// The row divides by an exact zero (epsilon = 0 and no spread): the totalized value is the bias.
ElementBound zero_denominator(double bias, const Contract& contract, DType storage) {
  ElementBound b;
  b.head = bias;
  if (contract.zero_denominator == ZeroDenominator::kNan) {
    b.expect = Expectation::kNan;
  } else if (contract.zero_denominator == ZeroDenominator::kZero) {
    b.allowed = (Up(std::fabs(bias)) * Up(format_of(storage).unit_roundoff) + Up(format_of(storage).half_subnormal)).value();
  } else {
    b.allowed = kInfinity;
    b.limit = Limit::kZeroDenominator;
  }
  return b;
}

// x + residual is NaN somewhere although neither is.
bool opposite_infinities(const RowInputs& row) {
  for (std::int64_t i = 0; i < row.n; ++i)
    if (std::isinf(row.x[i]) && row.x[i] == -row.other[i]) return true;
  return false;
}

Expectation not_finite(bool nan) { return nan ? Expectation::kNan : Expectation::kNotFinite; }

// A row with NaN or infinite inputs, element by element of its slice.
std::vector<ElementBound> special_row(const CaseRows& rows, const RowInputs& row) {
  const OpInfo& op = rows.info();
  const bool sums = op.formula == Formula::kAddRmsNorm;
  const bool nan = has_nan(row.x, row.n) || has_nan(row.other, row.n) || (sums && opposite_infinities(row));
  std::vector<ElementBound> out;
  const auto each = [&](auto expectation) {
    for (std::int64_t i = 0; i < row.n; ++i) out.push_back(unbounded(expectation(i)));
  };
  // The largest of several numbers may leave NaN out.
  const bool keeps_nan = row.p <= std::numeric_limits<double>::max();
  if (op.shape == OutputShape::kRows) {
    out.push_back(unbounded(nan && !keeps_nan ? Expectation::kAnything : not_finite(nan)));
  } else if (op.formula == Formula::kLpNormalize) {
    each([&](std::int64_t i) {
      if (std::isnan(row.x[i])) return Expectation::kNan;
      if (nan) return keeps_nan ? Expectation::kNan : Expectation::kAnything;
      return std::isinf(row.x[i]) ? Expectation::kNotFinite : Expectation::kAnything;
    });
  } else if (op.shape == OutputShape::kGradients) {
    const bool infinite_weight = std::any_of(row.weight, row.weight + row.n, [](double w) { return std::isinf(w); });
    // Every dx of the row sees every x and dy of it through the means; of rms_norm an infinite dy alone meets xhat = 0 in places.
    each([&](std::int64_t) {
      return nan || has_nan(row.weight, row.n) ? Expectation::kNan : infinite_weight ? Expectation::kAnything : Expectation::kNotFinite;
    });
  } else {
    each([&](std::int64_t i) {
      if (nan || std::isnan(row.weight[i]) || std::isnan(row.bias[i])) return Expectation::kNan;
      const bool infinite = std::isinf(row.x[i]) || (sums && std::isinf(row.other[i]));
      return op.subtracts_mean() || infinite ? Expectation::kNotFinite : Expectation::kAnything;
    });
  }
  return out;
}

// A row that divides by an exact zero.
std::vector<ElementBound> zero_divisor_row(const CaseRows& rows, const RowInputs& row, const Contract& contract) {
  const OpInfo& op = rows.info();
  std::vector<ElementBound> out;
  if (op.shape == OutputShape::kRows) return {zero_denominator(0, contract, rows.storage())};
  for (std::int64_t i = 0; i < row.n; ++i) {
    if (op.shape == OutputShape::kGradients) {
      out.push_back(unbounded(Expectation::kValue));
      out.back().limit = Limit::kZeroDenominator;
    } else if (!op.forward_map()) {
      out.push_back(zero_denominator(0, contract, rows.storage()));
    } else if (row.given_moments) {  // x - mean need not be 0: an infinity, or NaN
      out.push_back(unbounded(Expectation::kValue));
      out.back().limit = Limit::kZeroDenominator;
    } else {
      out.push_back(std::isnan(row.weight[i]) || std::isnan(row.bias[i])   ? unbounded(Expectation::kNan)
                    : std::isinf(row.weight[i]) || std::isinf(row.bias[i]) ? unbounded(Expectation::kAnything)
                                                                           : zero_denominator(row.bias[i], contract, rows.storage()));
    }
  }
  return out;
}

// Copies of a row's parameters with finite numbers in place of those that are not: MPFR sees only these, and what depends on the others is
// filled in afterwards.
struct FiniteParameters {
  explicit FiniteParameters(RowInputs& row) : weight(row.weight, row.weight + row.n), bias(row.bias, row.bias + row.n) {
    for (auto* v : {&weight, &bias})
      for (double& e : *v)
        if (!std::isfinite(e)) e = 0;
    row.weight = weight.data();
    row.bias = bias.data();
  }
  std::vector<double> weight, bias;
};

void fill_parameter_specials(const CaseRows& rows, const RowInputs& row, std::vector<ElementBound>& out) {
  if (rows.parameters_finite()) return;
  const bool whole_row = rows.info().shape == OutputShape::kGradients;  // dx_i sees every weight
  const bool any_nan = has_nan(row.weight, row.n);
  for (std::int64_t i = 0; i < row.n; ++i) {
    if (!whole_row && std::isfinite(row.weight[i]) && std::isfinite(row.bias[i])) continue;
    const bool nan = whole_row ? any_nan : std::isnan(row.weight[i]) || std::isnan(row.bias[i]);
    out[static_cast<std::size_t>(i)] = unbounded(nan ? Expectation::kNan : Expectation::kAnything);
  }
}

// Head, tail and radius of every ball; false: an enclosure is not finite and needs more bits. `last`: there are none, and such an element
// may be anything.
bool set_bounds(const std::vector<Ball>& balls, const Contract& contract, DType storage, bool last, std::vector<ElementBound>& out) {
  out.assign(balls.size(), {});
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!mpfr_number_p(balls[i].centre.lower()) || !mpfr_number_p(balls[i].centre.upper())) {
      if (!last) return false;
      out[i] = unbounded(Expectation::kAnything);
      continue;
    }
    out[i].allowed = balls[i].radius;
    out[i].limit = balls[i].limit;
    out[i].magnitude = balls[i].magnitude_before_cast.value();
    set_exact(out[i], balls[i].centre);
    if (contract.faithful) make_faithful(out[i], storage);
  }
  return true;
}

// Bounds of what `results` computes on the contract's balls; with more bits while an enclosure is not finite.
template <class Results>
std::vector<ElementBound> enclosed_bounds(const Contract& contract, DType storage, std::int64_t n, mpfr_prec_t bits, Results results) {
  std::vector<ElementBound> out;
  for (;; bits *= 2) {
    const PrecisionScope precision(bits);
    const BallArithmetic arithmetic(contract, storage, n);
    if (set_bounds(results(arithmetic), contract, storage, bits >= kMostBits, out)) return out;
  }
}

std::vector<Ball> cast_results(const BallArithmetic& a, const std::vector<BallNumber>& numbers) {
  return a.results(static_cast<std::int64_t>(numbers.size()), [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; });
}

// A row whose x, other, weights and biases are finite, or have been made so.
std::vector<ElementBound> finite_row(const CaseRows& rows, std::int64_t r, RowInputs row, const Contract& contract, mpfr_prec_t bits) {
  if (divides_by_zero(rows.info(), row)) return zero_divisor_row(rows, row, contract);
  const RowInputs original = row;
  std::optional<FiniteParameters> finite;
  if (!rows.parameters_finite()) finite.emplace(row);
  std::vector<ElementBound> out = enclosed_bounds(contract, rows.slice_storage(r), row.n, bits,
                                                  [&](const BallArithmetic& a) { return evaluate_formula(rows.op(), a, row); });
  fill_parameter_specials(rows, original, out);
  return out;
}

// A row with numbers that are not finite, of an op whose elements do not meet: each says what becomes of it alone.
std::vector<ElementBound> special_elements(const CaseRows& rows, std::int64_t r, const Contract& contract, mpfr_prec_t bits) {
  RowInputs row = rows.row(r);
  const auto all = [&](Expectation e) { return std::vector<ElementBound>(static_cast<std::size_t>(row.n), unbounded(e)); };
  if (row.given_moments && (std::isnan(row.mean) || std::isnan(row.variance))) return all(Expectation::kNan);
  if (row.given_moments && std::isinf(row.variance)) return all(Expectation::kAnything);  // 1/inf is 0 by a root, not by every estimate
  const std::vector<double> x(row.x, row.x + row.n), other(row.other, row.other + (row.other ? row.n : 0));
  std::vector<double> finite_x = x, finite_other = other;
  for (auto* v : {&finite_x, &finite_other})
    for (double& e : *v)
      if (!std::isfinite(e)) e = 0;
  row.x = finite_x.data();
  row.other = other.empty() ? nullptr : finite_other.data();
  const bool infinite_mean = row.given_moments && std::isinf(row.mean);
  if (infinite_mean) row.mean = 0;
  std::vector<ElementBound> out = finite_row(rows, r, row, contract, bits);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double sum = infinite_mean ? x[i] - rows.row(r).mean : x[i] + (other.empty() || std::isfinite(other[i]) ? 0 : other[i]);
    if (std::isfinite(sum) || out[i].expect == Expectation::kNan) continue;
    out[i] = unbounded(not_finite(std::isnan(sum)));
  }
  return out;
}

std::vector<ElementBound> row_bounds(const CaseRows& rows, std::int64_t r, const Contract& contract, mpfr_prec_t bits) {
  const RowInputs row = rows.row(r);
  if (rows.finite(r)) return finite_row(rows, r, row, contract, bits);
  return elementwise(row) ? special_elements(rows, r, contract, bits) : special_row(rows, row);
}

// What keeps a column of the sums over all rows from having an enclosure.
struct ColumnSpecials {                                            // by parameter
  std::vector<char> nan_weight, open_weight, nan_bias, open_bias;  // must be NaN; must not be finite
  bool anything = false;                                           // an order of operations decides
  bool zero_divisor = false;

  explicit ColumnSpecials(const CaseRows& rows) {
    const auto n = static_cast<std::size_t>(rows.parameters());
    nan_weight = open_weight = nan_bias = open_bias = std::vector<char>(n, 0);
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      const RowInputs row = rows.row(r);
      // Such a row's xhat is 0/0 in every column, also where its dy is not finite in one of them.
      zero_divisor = zero_divisor || (all_finite(row.x, row.n) && divides_by_zero(rows.info(), row));
      if (rows.finite(r)) continue;
      const bool nan = has_nan(row.x, row.n);
      bool infinite = false;
      for (std::int64_t i = 0; i < row.n; ++i) infinite = infinite || std::isinf(row.x[i]);
      for (std::int64_t i = 0; i < row.n; ++i) {
        const double dy = row.other[i];
        const auto j = static_cast<std::size_t>(rows.view().parameter(r, i));
        nan_bias[j] |= std::isnan(dy);
        open_bias[j] |= !std::isfinite(dy);
        nan_weight[j] |= nan || std::isnan(dy);
        // xhat is NaN in every column of a centred row with an infinity, and x_j r = inf 0 in that column of rms_norm.
        open_weight[j] |= !std::isfinite(dy) || (infinite && (rows.info().centred() || std::isinf(row.x[i])));
      }
      anything = anything || (infinite && !rows.info().centred());
    }
  }

  void apply(std::size_t j, bool weight, ElementBound& b) const {
    const bool nan = weight ? nan_weight[j] : nan_bias[j], open = weight ? open_weight[j] : open_bias[j];
    if (nan || open)
      b = unbounded(not_finite(nan));
    else if (weight && anything)
      b = unbounded(Expectation::kAnything);
    else if (weight && zero_divisor) {
      b = unbounded(Expectation::kValue);
      b.limit = Limit::kZeroDenominator;
    }
  }
};

// The new running statistics. Those of a row, or from an old value, that is not finite are not; a weight of zero may or may not hide that.
std::vector<ElementBound> statistics_bounds(const CaseRows& rows, const Contract& contract, mpfr_prec_t bits) {
  const auto n = static_cast<std::size_t>(rows.parameters());
  std::vector<ElementBound> out = enclosed_bounds(contract, rows.slice_storage(rows.slices() - 1), rows.cols(), bits,
                                                  [&](const BallArithmetic& a) { return cast_results(a, statistics_of_rows(rows, a)); });
  for (std::size_t c = 0; c < n; ++c) {
    const RowInputs row = rows.row(static_cast<std::int64_t>(c));
    const bool nan = has_nan(row.x, row.n), open = !rows.finite(static_cast<std::int64_t>(c));
    for (const bool mean : {true, false}) {
      const double before = mean ? row.mean : row.variance;
      if (!open && std::isfinite(before)) continue;
      const bool hidden = (open && row.momentum == 0) || (!std::isfinite(before) && row.momentum == 1);
      out[mean ? c : n + c] = unbounded(hidden ? Expectation::kAnything : not_finite(nan || std::isnan(before)));
    }
  }
  return out;
}

std::vector<ElementBound> sums_bounds(const CaseRows& rows, const Contract& contract, mpfr_prec_t bits) {
  const auto n = static_cast<std::size_t>(rows.parameters());
  std::vector<ElementBound> out = enclosed_bounds(contract, rows.slice_storage(rows.slices() - 1), rows.cols(), bits,
                                                  [&](const BallArithmetic& a) { return cast_results(a, summed_over_rows(rows, a)); });
  const ColumnSpecials specials(rows);
  const bool update = rows.info().shape == OutputShape::kUpdate;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::size_t j = k % n;
    const bool weight = k < n;
    specials.apply(j, weight, out[k]);
    const double parameter = (weight ? rows.weights() : rows.biases())[j];
    if (update && !std::isfinite(parameter)) out[k] = unbounded(not_finite(std::isnan(parameter)));
  }
  return out;
}

}  // namespace

std::vector<ElementBound> formula_bounds(const Contract& contract, DType storage, std::int64_t n, const BallFormula& formula) {
  return enclosed_bounds(contract, storage, n, kFirstBits, [&](const BallArithmetic& a) { return cast_results(a, formula(a)); });
}

std::vector<ElementBound> slice_bounds(const CaseRows& rows, std::int64_t slice, const Contract& contract, mpfr_prec_t bits) {
  if (!rows.is_sums(slice)) return row_bounds(rows, slice, contract, bits);
  return rows.info().shape == OutputShape::kStatistics ? statistics_bounds(rows, contract, bits) : sums_bounds(rows, contract, bits);
}

ErrorInterval error_of(double got, const ElementBound& b) {
  if (!std::isfinite(got) || !std::isfinite(b.error)) return {std::isfinite(got) ? 0 : kInfinity, kInfinity};
  // (got - head) - tail: each difference is rounded once, relative 2^-53.
  const double difference = got - b.head, d = std::fabs(difference - b.tail);
  if (!std::isfinite(difference)) return {std::numeric_limits<double>::max(), kInfinity};
  const double slack = (Up(std::fabs(difference)) * Up(0x1p-53) + Up(d) * Up(0x1p-52) + Up(b.error)).value();
  const double exactly = difference == 0 || b.tail == 0 ? 0 : 0x1p-1074;
  return {std::max(0.0, (d - slack) * (1 - 0x1p-52)), (Up(d) + Up(slack) + Up(exactly)).value()};
}

ElementVerdict certify(double got, const ElementBound& b, const Contract& contract, DType storage) {
  switch (b.expect) {
    case Expectation::kNan:
      return std::isnan(got) ? ElementVerdict::kWithin : ElementVerdict::kViolation;
    case Expectation::kNotFinite:
      return std::isfinite(got) ? ElementVerdict::kViolation : ElementVerdict::kWithin;
    case Expectation::kAnything:
      return ElementVerdict::kLimit;
    case Expectation::kValue:
      break;
  }
  if (b.limit != Limit::kNone) return ElementVerdict::kLimit;
  if (std::isnan(got)) return ElementVerdict::kViolation;
  const RoundingProfile p(contract, storage, 1);
  const bool may_overflow = b.magnitude >= (p.output_u > 0 ? p.output_limit : p.max);
  if (std::isinf(got)) {
    // Permitted only where the value before the cast can reach max + ulp/2 with that sign.
    const bool sign_possible = std::signbit(got) == std::signbit(b.head) || b.allowed >= std::fabs(b.head);
    return may_overflow && sign_possible ? ElementVerdict::kWithin : ElementVerdict::kViolation;
  }
  if (may_overflow && contract.cast_saturates && std::fabs(got) == p.output_max && std::signbit(got) == std::signbit(b.head))
    return ElementVerdict::kWithin;
  const ErrorInterval e = error_of(got, b);
  if (e.upper <= b.allowed) return ElementVerdict::kWithin;
  if (e.lower > b.allowed) return ElementVerdict::kViolation;
  return ElementVerdict::kUndecided;
}

double error_in_ulps(double got, const ElementBound& b, DType storage) {
  if (b.expect != Expectation::kValue || b.head == 0) return 0;  // zero has no last place
  return error_of(got, b).upper / one_ulp(storage, b.head + b.tail, 0);
}

std::string fingerprint(const Contract& c) {
  std::string key;
  for (const double v :
       {static_cast<double>(c.faithful), static_cast<double>(c.accumulate), static_cast<double>(c.moments),
        static_cast<double>(c.welford_tree_height), static_cast<double>(c.folded_affine), static_cast<double>(c.folded_xhat),
        static_cast<double>(c.folded_backward), c.div_ulps, c.sqrt_ulps, c.rsqrt_ulps, c.pow_ulps, static_cast<double>(c.flush_to_zero),
        static_cast<double>(c.denormals_are_zero), static_cast<double>(c.robust_range), static_cast<double>(c.cast_before_weight),
        static_cast<double>(c.residual), static_cast<double>(c.cast_saturates), static_cast<double>(c.zero_denominator)})
    key += ' ' + std::to_string(v);
  return key;
}

}  // namespace normfuzz
