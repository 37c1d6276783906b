#include "oracles/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "oracles/bound.h"
#include "oracles/number/correct_rounding.h"
#include "oracles/number/interval_arithmetic.h"
#include "oracles/row_facts.h"

namespace normfuzz {
namespace {

#include "oracles/ops/all-inl.h"
// after the formulas
#include "oracles/sums-inl.h"

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr mpfr_prec_t kFirstBits = 192;

// Where Ziv's loop may stop: an enclosure of this precision that holds a rounding boundary m has y = m, so a tie is a tie and a zero is
// zero. Why: y = w d/s + b with s^2 = v + eps, hence y = m if and only if w^2 d^2 - q^2 s^2 = 0 with q = m - b, and everything here is a
// dyadic number over n or n^2. f64: every input is a multiple of 2^-1074 and m of 2^-1075, so a difference that is not zero is at least
// 2^-4298/n^2. Dividing it by
//   s^2 (|w d/s| + |q|) <= 2^2049 2^1045 leaves |y - m| >= 2^-7440 for n <= 2^24. The enclosure's width is below 2^-9100 at 12288 bits:
//   d is known to 2^(1070 - 12288), the spread is at least 2^-1075, so d/s to 2^-10130 relative to sqrt(n), times |w| <= 2^1024.
// f32 and narrower (multiples of 2^-149, below 2^128): |y - m| >= 2^-1040, the width is below 2^-1600 at 3072 bits.
// The other ops of one square root (norms with p = 2, cosine, unit vectors, dx) are algebraic in the same way; for a p that is not an
// integer, and for dweight, a sum of square roots over the rows, no such separation is known: there the rule is a convention, which says
// that a result within 2^-1000 of a boundary lies on it.
mpfr_prec_t decisive_bits(const Case& c) {
  for (const auto& [name, tensor] : c.inputs)
    if (tensor && tensor->dtype == DType::kF64) return 12288;
  return 3072;
}

// A decimal boundary is a multiple of 10^-j/2 instead of 2^-1075, j <= digits + 1000 (the smallest result that is not zero exceeds
// 10^-1000): its square adds 2 log2(10) j < 7 j bits to the separation above.
mpfr_prec_t decisive_bits(const Case& c, int digits) { return decisive_bits(c) + 7 * (digits + 1000); }

bool contains_zero(const Interval& y) { return mpfr_sgn(y.lower()) <= 0 && mpfr_sgn(y.upper()) >= 0; }

// Decides elements in a storage format.
struct RoundedTo {
  DType dtype;
  using Value = std::uint64_t;
  Value special(double v) const { return bits_from_value(dtype, v == 0 ? 0.0 : v); }
  // Empty: ask again with more bits. `last`: the enclosure is as good as its boundary.
  std::optional<Value> enclosed(const Interval& y, bool last) const {
    if (y.is_zero()) return bits_from_value(dtype, 0.0);
    const Value lower = correctly_rounded(dtype, y.lower()), upper = correctly_rounded(dtype, y.upper());
    if (lower == upper && !(value_from_bits(dtype, lower) == 0 && contains_zero(y))) return lower;
    if (!last) return std::nullopt;
    if (contains_zero(y)) return bits_from_value(dtype, 0.0);
    return lower & 1 ? upper : lower;  // a tie between neighbours: the last bit of an even significand is 0
  }
};

// Decides elements in decimal.
struct InDecimal {
  int digits;
  using Value = std::string;
  Value special(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    const PrecisionScope precision(kFirstBits);
    return *enclosed(Interval(v), true);
  }
  std::optional<Value> enclosed(const Interval& y, bool last) const {
    if (y.is_zero() || (last && contains_zero(y))) return "0";
    const Value lower = text_of(y.lower()), upper = text_of(y.upper());
    if (lower == upper) return lower;
    if (!last) return std::nullopt;
    return (lower[lower.find('e') - 1] - '0') % 2 ? upper : lower;
  }

 private:
  Value text_of(mpfr_srcptr v) const {
    mpfr_exp_t exponent = 0;
    const std::unique_ptr<char, void (*)(char*)> raw(mpfr_get_str(nullptr, &exponent, 10, static_cast<std::size_t>(digits), v, MPFR_RNDN),
                                                     mpfr_free_str);
    std::string text = raw.get();
    const std::size_t first = text[0] == '-' ? 2 : 1;  // behind the first digit
    if (digits > 1) text.insert(first, 1, '.');
    return text + (exponent > 0 ? "e+" : "e-") + std::to_string(std::abs(exponent - 1));
  }
};

// xhat is exactly zero: 0 * weight + bias over the extended reals.
double from_zero(double weight, double bias) { return std::isfinite(weight) ? bias : kNan; }

// The row with every weight or bias that is not finite replaced so that the formula is finite: an element with an infinite weight becomes
// xhat times a positive number, whose sign is all that matters.
struct FiniteParameters {
  explicit FiniteParameters(const RowInputs& row) : weight(row.weight, row.weight + row.n), bias(row.bias, row.bias + row.n) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      if (!std::isfinite(weight[i]) || !std::isfinite(bias[i])) bias[i] = 0;
      if (!std::isfinite(weight[i])) weight[i] = 1;
    }
  }
  std::vector<double> weight, bias;
};

// What an element with a weight or bias that is not finite is; empty: the sign of xhat is not known yet.
std::optional<double> with_infinite_parameter(const Interval& y, double weight, double bias, bool last) {
  if (std::isfinite(weight) || std::isnan(weight) || std::isnan(bias)) return weight + bias;
  if (!y.is_zero() && contains_zero(y)) return last ? std::optional(kNan) : std::nullopt;
  if (y.is_zero()) return kNan;
  return (mpfr_sgn(y.lower()) > 0 ? weight : -weight) + bias;
}

template <class Decide>
using Values = std::vector<typename Decide::Value>;

// |a - b| or |x| of a row with infinities: +inf, NaN for inf - inf.
double infinite_norm(const RowInputs& row) {
  for (std::int64_t i = 0; row.other && i < row.n; ++i)
    if (std::isinf(row.x[i]) && row.x[i] == row.other[i]) return kNan;
  return std::numeric_limits<double>::infinity();
}

// A row with NaN or infinities.
template <class Decide>
Values<Decide> special_row(const CaseRows& rows, const RowInputs& row, const Decide& decide) {
  const OpInfo& op = rows.info();
  bool nan = has_nan(row.x, row.n) || has_nan(row.other, row.n);
  const auto infinite = [&](std::int64_t i) {
    return std::isinf(row.x[i]) || (op.formula == Formula::kAddRmsNorm && std::isinf(row.other[i]));
  };
  for (std::int64_t i = 0; op.formula == Formula::kAddRmsNorm && i < row.n; ++i)
    nan = nan || (std::isinf(row.x[i]) && row.x[i] == -row.other[i]);
  if (op.shape == OutputShape::kRows) return {decide.special(nan || op.formula == Formula::kCosine ? kNan : infinite_norm(row))};
  const bool all_nan = nan || op.subtracts_mean() || op.shape == OutputShape::kGradients;
  Values<Decide> out;
  for (std::int64_t i = 0; i < row.n; ++i)
    out.push_back(decide.special(all_nan || infinite(i) ? kNan : from_zero(row.weight[i], row.bias[i])));
  return out;
}

// Ziv's loop over a row: more bits until every element is decided.
template <class Decide>
Values<Decide> ordinary_row(const CaseRows& rows, RowInputs row, mpfr_prec_t last_bits, const Decide& decide) {
  const RowInputs original = row;
  const FiniteParameters finite(row);
  row.weight = finite.weight.data();
  row.bias = finite.bias.data();
  const bool whole_row = rows.info().shape == OutputShape::kGradients;  // dx_i sees every weight
  const bool nan = whole_row && !std::all_of(original.weight, original.weight + row.n, [](double w) { return std::isfinite(w); });
  const bool divides_by_elements = rows.info().formula == Formula::kLayerNormGraph;  // some of which may be zero
  std::vector<std::optional<typename Decide::Value>> decided(static_cast<std::size_t>(rows.info().shape == OutputShape::kRows ? 1 : row.n));
  std::size_t open = decided.size();
  for (mpfr_prec_t bits = kFirstBits; open > 0; bits = std::min(2 * bits, last_bits)) {
    const PrecisionScope precision(bits);
    const std::vector<Interval> y = evaluate_formula(rows.op(), IntervalArithmetic{}, row);
    for (std::size_t i = 0; i < decided.size(); ++i) {
      if (decided[i]) continue;
      if (!mpfr_number_p(y[i].lower()) || !mpfr_number_p(y[i].upper())) {
        if (bits < last_bits || !divides_by_elements) continue;
        decided[i] = decide.special(kNan);
        --open;
        continue;
      }
      const double weight = original.weight[i], bias = original.bias[i];
      if (nan)
        decided[i] = decide.special(kNan);
      else if (std::isfinite(weight) && std::isfinite(bias))
        decided[i] = decide.enclosed(y[i], bits == last_bits);
      else if (const auto v = with_infinite_parameter(y[i], weight, bias, bits == last_bits))
        decided[i] = decide.special(*v);
      open -= decided[i].has_value();
    }
  }
  Values<Decide> out;
  for (auto& v : decided) out.push_back(std::move(*v));
  return out;
}

// x_i by given moments, or x_i + residual_i, where one of the numbers is not finite; empty where none is.
std::optional<double> special_element(const RowInputs& row, std::int64_t i) {
  if (row.second_output) {
    if (std::isfinite(row.x[i]) && std::isfinite(row.other[i])) return std::nullopt;
    return (std::isfinite(row.x[i]) ? 0 : row.x[i]) + (std::isfinite(row.other[i]) ? 0 : row.other[i]);
  }
  if (std::isfinite(row.x[i]) && std::isfinite(row.mean) && std::isfinite(row.variance)) return std::nullopt;
  if (std::isnan(row.variance)) return kNan;
  const double d = (std::isfinite(row.x[i]) ? 0 : row.x[i]) - (std::isfinite(row.mean) ? 0 : row.mean);
  if (std::isnan(d) || (std::isinf(d) && std::isinf(row.variance))) return kNan;
  if (!std::isinf(d)) return from_zero(row.weight[i], row.bias[i]);  // over an infinite deviation
  return d * row.weight[i] + row.bias[i];
}

// A row of an op whose elements do not meet, some of which are not finite.
template <class Decide>
Values<Decide> special_elements(const CaseRows& rows, RowInputs row, bool ieee, mpfr_prec_t last_bits, const Decide& decide);

// What a row without spread is, totalized: the bias of an affine map, 0 of a cosine or unit vector. dx depends on the cotangents: not here.
template <class Decide>
Values<Decide> no_spread_row(const CaseRows& rows, const RowInputs& row, bool ieee_nan, const Decide& decide) {
  Values<Decide> out;
  if (row.given_moments && ieee_nan) {  // (x - mean)/0
    for (std::int64_t i = 0; i < row.n; ++i) {
      const double d = row.x[i] == row.mean ? kNan : std::copysign(std::numeric_limits<double>::infinity(), row.x[i] - row.mean);
      out.push_back(decide.special(d * row.weight[i] + row.bias[i]));
    }
    return out;
  }
  for (std::int64_t i = 0; i < (rows.info().shape == OutputShape::kRows ? 1 : row.n); ++i)
    out.push_back(decide.special(ieee_nan ? kNan : !rows.info().forward_map() ? 0 : from_zero(row.weight[i], row.bias[i])));
  return out;
}

template <class Decide>
Values<Decide> finite_row(const CaseRows& rows, const RowInputs& row, bool ieee, mpfr_prec_t last_bits, const Decide& decide) {
  if (!no_spread(rows.info(), row) || (row.epsilon != 0 && !rows.info().forward_map())) return ordinary_row(rows, row, last_bits, decide);
  return no_spread_row(rows, row, ieee, decide);
}

template <class Decide>
Values<Decide> special_elements(const CaseRows& rows, RowInputs row, bool ieee, mpfr_prec_t last_bits, const Decide& decide) {
  const RowInputs original = row;
  std::vector<double> x(row.x, row.x + row.n), other(row.other, row.other + (row.other ? row.n : 0));
  for (auto* v : {&x, &other})
    for (double& e : *v)
      if (!std::isfinite(e)) e = 0;
  row.x = x.data();
  row.other = other.empty() ? nullptr : other.data();
  if (!std::isfinite(row.mean)) row.mean = 0;
  if (!std::isfinite(row.variance)) row.variance = 1;
  Values<Decide> out = finite_row(rows, row, ieee, last_bits, decide);
  for (std::int64_t i = 0; i < row.n; ++i)
    if (const auto v = special_element(original, i)) out[static_cast<std::size_t>(i)] = decide.special(*v);
  return out;
}

template <class Decide>
Values<Decide> row_values(const CaseRows& rows, std::int64_t r, Reading reading, mpfr_prec_t last_bits, const Decide& decide) {
  const RowInputs row = rows.row(r);
  const bool ieee = row.epsilon == 0 && reading == Reading::kIeee;
  if (!rows.finite(r)) return elementwise(row) ? special_elements(rows, row, ieee, last_bits, decide) : special_row(rows, row, decide);
  return finite_row(rows, row, ieee, last_bits, decide);
}

// Weights whose sums a number which is not finite, or a division 0/0 in the IEEE reading, makes NaN (an infinite sum is NaN here
// too).
std::vector<char> spoiled_columns(const CaseRows& rows, Reading reading, bool weight) {
  std::vector<char> spoiled(static_cast<std::size_t>(rows.parameters()), 0);
  for (std::int64_t r = 0; r < rows.rows(); ++r) {
    const RowInputs row = rows.row(r);
    const bool x_nan = has_nan(row.x, row.n), centred = rows.info().centred();
    const bool x_infinite = std::any_of(row.x, row.x + row.n, [](double v) { return std::isinf(v); });
    const bool zero_by_zero = reading == Reading::kIeee && divides_by_zero(rows.info(), row);
    for (std::int64_t i = 0; i < row.n; ++i)
      spoiled[static_cast<std::size_t>(rows.view().parameter(r, i))] |=
          !std::isfinite(row.other[i]) || (weight && (x_nan || zero_by_zero || (x_infinite && (centred || std::isinf(row.x[i])))));
  }
  return spoiled;
}

template <class Decide>
Values<Decide> sum_values(const CaseRows& rows, Reading reading, mpfr_prec_t last_bits, const Decide& decide) {
  const auto n = static_cast<std::size_t>(rows.parameters());
  const std::vector<char> weights = spoiled_columns(rows, reading, true), biases = spoiled_columns(rows, reading, false);
  const bool update = rows.info().shape == OutputShape::kUpdate;
  std::vector<std::optional<typename Decide::Value>> decided(static_cast<std::size_t>(rows.slice_size(rows.slices() - 1)));
  std::size_t open = decided.size();
  for (std::size_t k = 0; k < decided.size(); ++k) {
    const double parameter = (k < n ? rows.weights() : rows.biases())[k % n];
    if (!(k < n ? weights : biases)[k % n] && (!update || std::isfinite(parameter))) continue;
    const bool infinite = update && !(k < n ? weights : biases)[k % n];
    decided[k] = decide.special(infinite ? parameter : kNan);
    --open;
  }
  for (mpfr_prec_t bits = kFirstBits; open > 0; bits = std::min(2 * bits, last_bits)) {
    const PrecisionScope precision(bits);
    const std::vector<Interval> y = summed_over_rows(rows, IntervalArithmetic{});
    for (std::size_t k = 0; k < decided.size(); ++k) {
      if (decided[k] || !mpfr_number_p(y[k].lower()) || !mpfr_number_p(y[k].upper())) continue;
      decided[k] = decide.enclosed(y[k], bits == last_bits);
      open -= decided[k].has_value();
    }
  }
  Values<Decide> out;
  for (auto& v : decided) out.push_back(std::move(*v));
  return out;
}

// (1 - momentum) before + momentum now where one of them is not finite; empty where both are.
std::optional<double> special_statistic(const RowInputs& row, bool mean) {
  const double before = mean ? row.mean : row.variance;
  double now = 0;
  for (std::int64_t i = 0; i < row.n; ++i)
    if (!std::isfinite(row.x[i])) now += row.x[i];
  if (now != 0 && !mean) now = kNan;  // a deviation from an infinite mean
  if (std::isfinite(before) && now == 0) return std::nullopt;
  return (1 - row.momentum) * before + row.momentum * now;
}

template <class Decide>
Values<Decide> statistic_values(const CaseRows& rows, mpfr_prec_t last_bits, const Decide& decide) {
  const auto n = static_cast<std::size_t>(rows.parameters());
  std::vector<std::optional<typename Decide::Value>> decided(2 * n);
  for (std::size_t k = 0; k < decided.size(); ++k)
    if (const auto v = special_statistic(rows.row(static_cast<std::int64_t>(k % n)), k < n)) decided[k] = decide.special(*v);
  const auto open = [&] { return std::any_of(decided.begin(), decided.end(), [](const auto& d) { return !d; }); };
  for (mpfr_prec_t bits = kFirstBits; open(); bits = std::min(2 * bits, last_bits)) {
    const PrecisionScope precision(bits);
    const std::vector<Interval> y = statistics_of_rows(rows, IntervalArithmetic{});
    for (std::size_t k = 0; k < decided.size(); ++k)
      if (!decided[k] && mpfr_number_p(y[k].lower()) && mpfr_number_p(y[k].upper())) decided[k] = decide.enclosed(y[k], bits == last_bits);
  }
  Values<Decide> out;
  for (auto& v : decided) out.push_back(std::move(*v));
  return out;
}

template <class Decide>
Values<Decide> slice_values(const CaseRows& rows, std::int64_t slice, Reading reading, mpfr_prec_t last_bits, const Decide& decide) {
  if (rows.is_sums(slice) && rows.info().shape == OutputShape::kStatistics) return statistic_values(rows, last_bits, decide);
  return rows.is_sums(slice) ? sum_values(rows, reading, last_bits, decide) : row_values(rows, slice, reading, last_bits, decide);
}

}  // namespace

std::optional<Reading> reading_from_name(std::string_view name) {
  if (name == "totalized") return Reading::kTotalized;
  if (name == "ieee") return Reading::kIeee;
  return std::nullopt;
}

std::string_view name_of(Reading r) { return r == Reading::kIeee ? "ieee" : "totalized"; }

Result<std::map<std::string, Tensor>> exact_outputs(const Case& c, Reading reading) {
  if (const Status valid = validate(c); !valid) return Error{valid.error()};
  const CaseRows rows(c);
  std::map<std::string, Tensor> out;
  for (const auto& [name, layout] : rows.info().output_layouts(c)) out.emplace(name, Tensor::zeros(layout.dtype, layout.shape));
  for (std::int64_t s = 0; s < rows.slices(); ++s) {
    const auto values = slice_values(rows, s, reading, decisive_bits(c), RoundedTo{rows.slice_storage(s)});
    for (std::int64_t i = 0; i < rows.slice_size(s); ++i) {
      const OutputElement e = rows.element(s, i);
      out.at(rows.outputs()[static_cast<std::size_t>(e.output)]).set_bits(e.index, values[static_cast<std::size_t>(i)]);
    }
  }
  return out;
}

Result<std::map<std::string, std::vector<std::string>>> exact_decimal(const Case& c, int digits, Reading reading) {
  if (digits < 1 || digits > kMaxDigits)
    return Error{"digits: " + std::to_string(digits) + ", expected 1 to " + std::to_string(kMaxDigits)};
  if (const Status valid = validate(c); !valid) return Error{valid.error()};
  const CaseRows rows(c);
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& [name, layout] : rows.info().output_layouts(c))
    out.emplace(name, std::vector<std::string>(static_cast<std::size_t>(layout.size())));
  for (std::int64_t s = 0; s < rows.slices(); ++s) {
    auto values = slice_values(rows, s, reading, decisive_bits(c, digits), InDecimal{digits});
    for (std::int64_t i = 0; i < rows.slice_size(s); ++i) {
      const OutputElement e = rows.element(s, i);
      out.at(rows.outputs()[static_cast<std::size_t>(e.output)])[static_cast<std::size_t>(e.index)] =
          std::move(values[static_cast<std::size_t>(i)]);
    }
  }
  return out;
}

}  // namespace normfuzz
