#include "oracles/theorems/tools.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/hex_float.h"
#include "core/mix_bits.h"

namespace normfuzz::theorems {

std::uint64_t Draw::next() { return mix_bits(state_ += 0x9e3779b97f4a7c15u); }
// The remainder prefers small values by less than 2^-40 for every range in use (below 2^24).
std::int64_t Draw::between(std::int64_t lo, std::int64_t hi) {
  return lo + static_cast<std::int64_t>(next() % (static_cast<std::uint64_t>(hi - lo) + 1));
}

std::optional<PropertyArgs> no_arguments_if(Meets* meets, const Case& base) {
  return meets(base, {}) ? std::optional<PropertyArgs>(PropertyArgs{}) : std::nullopt;
}

std::string text_of(double v) { return hex_from_value(v); }

std::optional<double> number_arg(const PropertyArgs& args, std::string_view name) {
  const auto it = args.find(std::string(name));
  if (it == args.end()) return std::nullopt;
  const auto v = value_from_hex(it->second);
  return v ? std::optional<double>(*v) : std::nullopt;
}

std::optional<std::int64_t> integer_arg(const PropertyArgs& args, std::string_view name) {
  const auto it = args.find(std::string(name));
  if (it == args.end()) return std::nullopt;
  std::int64_t v = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [at, error] = std::from_chars(it->second.data(), end, v);
  return error == std::errc{} && at == end ? std::optional<std::int64_t>(v) : std::nullopt;
}

Case bare(const Case& base) {
  Case c = base;
  c.property.reset();
  c.expect.clear();
  c.source.clear();
  c.note.clear();
  return c;
}

bool finite(const Tensor* t) {
  if (!t) return true;
  for (std::int64_t i = 0, n = t->size(); i < n; ++i)
    if (!std::isfinite(t->value(i))) return false;
  return true;
}
bool finite_inputs(const Case& c) {
  return std::all_of(c.inputs.begin(), c.inputs.end(), [](const auto& input) { return finite(input.second ? &*input.second : nullptr); });
}

std::optional<Tensor> times(const Tensor& t, double c) {
  Tensor out = t;
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) {
    const double v = t.value(i), product = v * c;
    // The product in double is itself rounded: exact only where its error is zero, and where nothing underflowed or overflowed.
    if (!std::isfinite(product) || (product == 0 && v != 0) || std::fma(v, c, -product) != 0 || !representable(t.dtype, product))
      return std::nullopt;
    if (product != 0 && std::fabs(product) < 0x1p-960) return std::nullopt;  // the error term itself may have underflowed (2^-960 2^-106)
    out.set_value(i, product);
  }
  return out;
}

std::optional<double> epsilon_times(double epsilon, double c) {
  const double product = epsilon * c;
  if (!std::isfinite(product) || (product == 0 && epsilon != 0) || std::fma(epsilon, c, -product) != 0 ||
      !representable(DType::kF32, product))
    return std::nullopt;
  return product;
}

Case with_x(Case c, Tensor x) {
  c.set_input("x", std::move(x));
  return c;
}
Case with_epsilon(Case c, double epsilon) {
  c.params["epsilon"] = epsilon;
  return c;
}
Case without_parameters(Case c) {
  c.params.erase("weight_offset");
  for (auto& [name, t] : c.inputs)
    if (name == "weight" || name == "bias") t.reset();
  return c;
}
RowView rows_of(const Case& c) { return find_op(c.op)->rows(c); }

std::vector<std::int64_t> sampled_rows(const RowView& view) {
  constexpr std::int64_t kElements = 1024;  // milliseconds of MPFR
  const std::int64_t wanted = std::clamp<std::int64_t>(kElements / std::max<std::int64_t>(view.cols(), 1), 1, view.rows());
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < wanted; ++i) rows.push_back(i * (view.rows() - 1) / std::max<std::int64_t>(wanted - 1, 1));
  return rows;
}

std::vector<std::int64_t> sampled_elements(const Case& c, std::string_view output) {
  std::int64_t size = 0;
  for (const auto& [name, t] : find_op(c.op)->output_layouts(c))
    if (name == output) size = t.size();
  constexpr std::int64_t kAll = 1024;
  std::vector<std::int64_t> at;
  const RowView view = rows_of(c);
  if (size > kAll && size == view.rows() * view.cols()) {
    for (const std::int64_t row : sampled_rows(view))
      for (std::int64_t i = 0; i < view.cols(); ++i) at.push_back(view.index(row, i));
    return at;
  }
  const std::int64_t wanted = std::min<std::int64_t>(size, kAll);
  for (std::int64_t i = 0; i < wanted; ++i) at.push_back(wanted == size ? i : i * (size - 1) / (wanted - 1));
  return at;
}

const ElementBound* usable(const PropertyRun& run, std::string_view output, std::int64_t index) {
  const ElementBound& b = run.bounds->of(output, index);
  if (b.expect != Expectation::kValue || b.limit != Limit::kNone || !std::isfinite(b.allowed) || !std::isfinite(b.error)) return nullptr;
  // Where the value before the cast may reach the largest number of the output, an infinity or a saturated value is permitted.
  const DType storage = run.outputs ? run.output(output).dtype : run.input->dtype();
  if (!(b.magnitude < format_of(storage).max_finite)) return nullptr;
  if (run.outputs && !std::isfinite(run.output(output).value(index))) return nullptr;
  return &b;
}

Interval exact_of(const ElementBound& b) { return Interval(b.head) + Interval(b.tail); }

Interval root(const Interval& s) { return sqrt(s); }
bool beyond(const Interval& difference, const Interval& allowed) {
  if (mpfr_greater_p(difference.lower(), allowed.upper())) return true;
  Real negated;
  mpfr_neg(negated.get(), allowed.upper(), MPFR_RNDN);  // exact: the same precision
  return mpfr_less_p(difference.upper(), negated.get()) != 0;
}
double middle(const Interval& a) { return a.lower_double() / 2 + a.upper_double() / 2; }

double in_ulps(double difference, double at, DType storage) {
  const FloatFormat& f = format_of(storage);
  const double size = std::max(std::fabs(at), f.smallest_normal);
  if (!std::isfinite(size)) return std::numeric_limits<double>::infinity();
  return std::fabs(difference) / std::max(std::ldexp(1.0, std::ilogb(size) - f.precision + 1), f.smallest_subnormal);
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

PropertyResult holds() { return {}; }
PropertyResult vacant() {
  PropertyResult r;
  r.state = PropertyResult::State::kVoid;
  return r;
}
void add(PropertyResult& r, PropertyKind kind, Discrepancy d) {
  r.state = PropertyResult::State::kBroken;
  r.kind = kind;
  ++r.broken;
  if (r.discrepancies.size() < kMaxDiscrepancies) r.discrepancies.push_back(std::move(d));
}

std::string_view main_output(const Case& c) { return find_op(c.op)->outputs.front(); }

}  // namespace normfuzz::theorems
