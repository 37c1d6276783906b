#include "oracles/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "oracles/number/ball_arithmetic.h"

namespace normfuzz {
namespace {

#include "oracles/ops/all-inl.h"

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr mpfr_prec_t kMostBits = 8192;  // f64 spans 2^-1074..2^1024: its squares and their sums are exact far below this

std::vector<double> values_of(const Tensor* t, std::int64_t n, double absent) {
  return t ? t->values() : std::vector<double>(static_cast<std::size_t>(n), absent);
}

// Without a branch per element: a loop that compilers vectorize.
bool all_finite(const double* v, std::int64_t n) {
  int not_finite = 0;
  for (std::int64_t i = 0; i < n; ++i) not_finite |= !(std::fabs(v[i]) <= std::numeric_limits<double>::max());
  return not_finite == 0;
}
bool all_finite(const std::vector<double>& v) { return all_finite(v.data(), static_cast<std::int64_t>(v.size())); }

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

bool zero_spread(const RowInputs& row, bool centred) {
  if (row.epsilon != 0) return false;
  return std::all_of(row.x, row.x + row.n, [&](double v) { return v == (centred ? row.x[0] : 0.0); });
}

std::vector<ElementBound> special_row(const CaseRows& rows, const RowInputs& row) {
  const bool centred = rows.op() != "rms_norm";
  const bool has_nan = std::any_of(row.x, row.x + row.n, [](double v) { return std::isnan(v); });
  std::vector<ElementBound> out;
  for (std::int64_t i = 0; i < row.n; ++i) {
    if (has_nan || std::isnan(row.weight[i]) || std::isnan(row.bias[i]))
      out.push_back(unbounded(Expectation::kNan));
    else if (centred)
      out.push_back(unbounded(Expectation::kNotFinite));
    else
      out.push_back(unbounded(std::isinf(row.x[i]) ? Expectation::kNotFinite : Expectation::kAnything));
  }
  return out;
}

}  // namespace

void decode_row(const Tensor& t, const RowView& view, std::int64_t row, double* out) {
  if (view.contiguous()) return t.values(view.index(row, 0), view.cols(), out);
  for (std::int64_t i = 0; i < view.cols(); ++i) out[i] = t.value(view.index(row, i));
}

CaseRows::CaseRows(const Case& c) : CaseRows(c, std::make_shared<const Tensor>(*c.input("x"))) {}
CaseRows CaseRows::borrowing(const Case& c) {
  return {c, std::shared_ptr<const Tensor>(c.input("x"), [](const Tensor*) {})};
}

CaseRows::CaseRows(const Case& c, std::shared_ptr<const Tensor> x)
    : op_(c.op),
      storage_(c.dtype()),
      view_(find_op(c.op)->rows(c)),
      x_(std::move(x)),
      epsilon_(c.epsilon()),
      weight_offset_(c.number("weight_offset", 0)) {
  weight_ = values_of(c.input("weight"), view_.cols(), 1);
  bias_ = values_of(c.input("bias"), view_.cols(), 0);
  for (const double w : weight_) largest_parameter_ = std::max(largest_parameter_, std::fabs(weight_offset_ + w));
  for (const double b : bias_) largest_parameter_ = std::max(largest_parameter_, std::fabs(b));
  parameters_finite_ = all_finite(weight_) && all_finite(bias_);
  row_.resize(static_cast<std::size_t>(cols()));
  for (std::int64_t r = 0; r < rows(); ++r) {
    if (all_finite(row(r).x, cols())) continue;
    if (finite_.empty()) finite_.assign(static_cast<std::size_t>(rows()), 1);
    finite_[static_cast<std::size_t>(r)] = 0;
  }
}

RowInputs CaseRows::row(std::int64_t r) const {
  decode_row(*x_, view_, r, row_.data());
  return {cols(), row_.data(), weight_.data(), bias_.data(), epsilon_, weight_offset_};
}

std::vector<ElementBound> row_bounds(const CaseRows& rows, std::int64_t r, const Contract& contract, mpfr_prec_t bits) {
  RowInputs row = rows.row(r);
  if (!rows.finite(r)) return special_row(rows, row);
  if (zero_spread(row, rows.op() != "rms_norm")) {
    std::vector<ElementBound> out;
    for (std::int64_t i = 0; i < row.n; ++i)
      out.push_back(std::isnan(row.weight[i]) || std::isnan(row.bias[i])   ? unbounded(Expectation::kNan)
                    : std::isinf(row.weight[i]) || std::isinf(row.bias[i]) ? unbounded(Expectation::kAnything)
                                                                           : zero_denominator(row.bias[i], contract, rows.storage()));
    return out;
  }
  // MPFR sees finite parameters only; the elements of the others are filled in afterwards.
  std::vector<double> weight, bias;
  if (!rows.parameters_finite()) {
    weight.assign(row.weight, row.weight + row.n);
    bias.assign(row.bias, row.bias + row.n);
    for (auto* v : {&weight, &bias})
      for (double& e : *v)
        if (!std::isfinite(e)) e = 0;
    row.weight = weight.data();
    row.bias = bias.data();
  }
  std::vector<ElementBound> out(static_cast<std::size_t>(row.n));
  for (;; bits *= 2) {
    const PrecisionScope precision(bits);
    const BallArithmetic arithmetic(contract, rows.storage(), row.n);
    const auto balls = evaluate_formula(rows.op(), arithmetic, row);
    bool enclosed = true;
    for (std::size_t i = 0; i < out.size(); ++i) {
      enclosed = enclosed && mpfr_number_p(balls[i].centre.lower()) && mpfr_number_p(balls[i].centre.upper());
      if (!enclosed) break;
      out[i].allowed = balls[i].radius;
      out[i].limit = balls[i].limit;
      out[i].magnitude = balls[i].magnitude_before_cast.value();
      set_exact(out[i], balls[i].centre);
      if (contract.faithful) make_faithful(out[i], rows.storage());
    }
    if (enclosed) break;
    if (bits >= kMostBits) return std::vector<ElementBound>(out.size(), unbounded(Expectation::kAnything));
  }
  if (!rows.parameters_finite()) {
    const RowInputs original = rows.row(r);
    for (std::int64_t i = 0; i < row.n; ++i) {
      if (std::isfinite(original.weight[i]) && std::isfinite(original.bias[i])) continue;
      const bool nan = std::isnan(original.weight[i]) || std::isnan(original.bias[i]);
      out[static_cast<std::size_t>(i)] = unbounded(nan ? Expectation::kNan : Expectation::kAnything);
    }
  }
  return out;
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
        static_cast<double>(c.welford_tree_height), static_cast<double>(c.folded_affine), c.div_ulps, c.sqrt_ulps, c.rsqrt_ulps,
        static_cast<double>(c.flush_to_zero), static_cast<double>(c.denormals_are_zero), static_cast<double>(c.robust_range),
        static_cast<double>(c.cast_before_weight), static_cast<double>(c.cast_saturates), static_cast<double>(c.zero_denominator)})
    key += ' ' + std::to_string(v);
  return key;
}

}  // namespace normfuzz
