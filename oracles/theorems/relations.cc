#include "oracles/theorems/relations.h"

#include <fmt/format.h>

namespace normfuzz::theorems {

void compare(PropertyResult& r, std::string_view output, std::int64_t index, const Interval& got, const Interval& expected,
             const Interval& allowed, DType storage, std::string_view what) {
  if (r.state == PropertyResult::State::kVoid) r.state = PropertyResult::State::kHolds;
  if (!beyond(got - expected, allowed)) return;
  const double is = middle(got), should = middle(expected);
  if (r.broken == 0)
    r.detail = fmt::format("{}: {}[{}] gives {:.17g} where the theorem says {:.17g}, and the bounds allow {:.3g}", what, output, index, is,
                           should, allowed.upper_double());
  add(r, PropertyKind::kBound, {std::string(output), index, is, should, allowed.upper_double(), in_ulps(is - should, should, storage)});
}

void compare_at_most(PropertyResult& r, std::string_view output, std::int64_t index, const Interval& got, const Interval& limit,
                     const Interval& allowed, DType storage, std::string_view what) {
  if (r.state == PropertyResult::State::kVoid) r.state = PropertyResult::State::kHolds;
  if (!mpfr_greater_p((got - limit).lower(), allowed.upper())) return;
  const double is = middle(got), most = middle(limit);
  if (r.broken == 0)
    r.detail = fmt::format("{}: {}[{}] gives {:.17g}, at most {:.17g} by the theorem, and the bounds allow {:.3g}", what, output, index, is,
                           most, allowed.upper_double());
  add(r, PropertyKind::kBound, {std::string(output), index, is, most, allowed.upper_double(), in_ulps(is - most, most, storage)});
}

PropertyResult equal_within_bounds(const PropertyRun& a, const PropertyRun& b, std::string_view what, const PlaceOf& place,
                                   std::string_view output, std::string_view other_output) {
  const std::string_view name = output.empty() ? main_output(*a.input) : output, other_name = other_output.empty() ? name : other_output;
  const Tensor &p = a.output(name), &q = b.output(other_name);
  PropertyResult r = vacant();
  for (const std::int64_t at : sampled_elements(*a.input, name)) {
    const std::int64_t there = place(at);
    if (there < 0) continue;
    const ElementBound *bound = usable(a, name, at), *other = usable(b, other_name, there);
    if (!bound || !other) continue;
    compare(r, name, at, Interval(p.value(at)), Interval(q.value(there)), Interval(bound->allowed) + Interval(other->allowed), p.dtype,
            what);
  }
  return r;
}

PropertyResult equal_enclosures(const PropertyRun& a, const PropertyRun& b, std::string_view what, const PlaceOf& place,
                                std::string_view output) {
  const std::string_view name = output.empty() ? main_output(*a.input) : output;
  PropertyResult r = vacant();
  for (const std::int64_t at : sampled_elements(*a.input, name)) {
    const std::int64_t there = place(at);
    if (there < 0) continue;
    const ElementBound *bound = usable(a, name, at), *other = usable(b, name, there);
    if (!bound || !other) continue;
    if (r.state == PropertyResult::State::kVoid) r.state = PropertyResult::State::kHolds;
    if (!beyond(exact_of(*bound) - exact_of(*other), Interval(bound->error) + Interval(other->error))) continue;
    if (r.broken == 0) r.detail = fmt::format("{}: the exact {}[{}] is {:a} and {:a}", what, name, at, bound->head, other->head);
    add(r, PropertyKind::kOracle, {std::string(name), at, bound->head, other->head, bound->error + other->error, 0});
  }
  return r;
}

PropertyResult equal_bits(const PropertyRun& base, const PropertyRun& other, const PlaceOf& place, BitRule rule, std::string_view what) {
  const std::string_view name = main_output(*base.input);
  const Tensor &p = base.output(name), &q = other.output(name);
  PropertyResult r;
  for (std::int64_t at = 0, n = p.size(); at < n; ++at) {
    const std::int64_t there = place(at);
    if (there < 0 || there >= q.size()) continue;
    const double got = q.value(there), expected = rule.sign * p.value(at);
    const bool equal = rule.zeros_equal || rule.sign < 0 ? same_number(got, expected) : same_bits(p, at, q, there);
    if (equal) continue;
    if (r.broken == 0) r.detail = fmt::format("{}: {}[{}] is {:a}, not {:a}", what, name, there, got, expected);
    add(r, PropertyKind::kExact, {std::string(name), at, got, expected, 0, in_ulps(got - expected, expected, p.dtype)});
  }
  return r;
}

double weight_at(const Case& c, std::int64_t col) {
  const Tensor* w = c.input("weight");
  return w ? c.number("weight_offset", 0) + w->value(col) : 1;
}
Interval exact_weight(const Case& c, std::int64_t col) {
  const Tensor* w = c.input("weight");
  return w ? Interval(c.number("weight_offset", 0)) + Interval(w->value(col)) : Interval(1.0);
}
double bias_at(const Case& c, std::int64_t col) {
  const Tensor* b = c.input("bias");
  return b ? b->value(col) : 0;
}

RowMoments moments_of(const Case& c, const RowView& view, std::int64_t row) {
  const Tensor& x = *c.input("x");
  RowMoments m;
  const double first = x.value(view.index(row, 0));
  for (std::int64_t i = 0; i < view.cols(); ++i) {
    const double v = x.value(view.index(row, i));
    m.mean += Interval(v);
    m.mean_square += square(Interval(v));
    m.constant = m.constant && v == first;
  }
  const auto n = static_cast<unsigned long>(view.cols());
  m.mean = m.constant ? Interval(first) : m.mean / n;
  m.mean_square = m.mean_square / n;
  for (std::int64_t i = 0; i < view.cols() && !m.constant; ++i) m.variance += square(Interval(x.value(view.index(row, i))) - m.mean);
  m.variance = m.variance / n;
  return m;
}

}  // namespace normfuzz::theorems
