#include "harness/shrink/simplicity.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "harness/shrink/edit.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

// |v| = odd 2^e. Premise: finite, not zero.
struct OddAndExponent {
  std::uint64_t odd;
  int exponent;
};
OddAndExponent odd_and_exponent(double v) {
  int e = 0;
  const auto integer = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(v), &e), 53));
  const int trailing = std::countr_zero(integer);
  return {integer >> trailing, e - 53 + trailing};
}

std::int64_t layout_cost(const Tensor& t) {
  if (t.dense()) return 0;
  const auto dense = dense_strides(t.shape);
  std::int64_t cost = 1 + t.offset + t.misalign;
  for (std::size_t i = 0; i < dense.size(); ++i) cost += std::abs(t.strides[i] - dense[i]);
  return cost;
}

// What an absent tensor saves; more than any epsilon costs, so that a tensor never stays for epsilon's sake.
constexpr std::int64_t kPresent = 4096, kOtherDtype = 2048, kWeightOffset = 2048;

// Of another axis than the last, or channels last: more than the numbers beside it.
constexpr std::int64_t kOtherAxis = 1024;

// The numbers and names of the call; absent ones cost nothing.
std::int64_t number_cost(const Case& c, const OpInfo& op) {
  std::int64_t cost = c.number("weight_offset", 0) != 0 ? kWeightOffset : 0;
  if (op.forward_map() || op.affine() || c.params.count("epsilon")) cost += epsilon_cost(c.epsilon());
  const std::string mode = c.text("epsilon_mode", "none");
  if (mode != "none") cost += mode == "add_inside" ? 64 : mode == "add_outside" ? 65 : mode == "max_norm" ? 66 : 67;
  if (const double p = c.number("p", 2); p != 2) cost += p == 1 ? 1 : std::isinf(p) ? 2 : 2 + value_cost(p);
  if (c.params.count("momentum")) cost += std::abs(value_cost(c.number("momentum", 0)) - value_cost(0.5));
  if (c.params.count("learning_rate")) cost += std::abs(value_cost(c.number("learning_rate", 0)) - value_cost(1));
  cost += std::max<std::int64_t>(0, c.integer("groups", 1) - 1);
  return cost + (form_of(c) == Form::kRows ? 0 : kOtherAxis) + (form_of(c) == Form::kChannelsLast ? 1 : 0);
}

std::int64_t parameter_cost(const Case& c, const OpInfo& op) {
  std::int64_t cost = number_cost(c, op);
  for (const auto& [name, t] : c.inputs)
    if (t && !is_row_input(name)) cost += kPresent + (t->dtype != c.dtype() ? kOtherDtype : 0);
  return cost + static_cast<std::int64_t>(c.params.size());
}

std::int64_t tensor_cost(const Tensor& t) {
  std::vector<double> v = t.values();
  std::int64_t cost = 0;
  for (const double e : v) cost += value_cost(e);
  std::sort(v.begin(), v.end(), [](double a, double b) { return std::bit_cast<std::uint64_t>(a) < std::bit_cast<std::uint64_t>(b); });
  const auto same = [](double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); };
  return cost + (std::unique(v.begin(), v.end(), same) - v.begin());
}

}  // namespace

std::int64_t value_cost(double v) {
  if (std::isnan(v)) return 4000;
  if (std::isinf(v)) return 3900 + std::signbit(v);
  if (v == 0) return std::signbit(v);
  const auto [odd, e] = odd_and_exponent(v);
  const int bits = std::bit_width(odd);
  return 16 * bits + std::abs(e + bits - 1) + std::signbit(v);
}

std::int64_t epsilon_cost(double epsilon) {
  if (epsilon == kPlainEpsilon) return 0;
  if (epsilon == 1) return 1;
  if (epsilon == 0) return 2;
  return 2 + value_cost(epsilon);
}

Simplicity simplicity(const Case& c) {
  Simplicity s;
  const OpInfo* op = find_op(c.op);
  if (!op || (!c.input("x") && !c.input("a") && !c.input("q"))) return s;
  s.elements = main_input(c).size();
  if (const Tensor* k = c.input("k")) s.elements += k->size();
  s.rows = shape_of(c).rows;
  s.rank = std::abs(main_input(c).rank() - 2);
  for (const auto& [name, t] : c.inputs) {
    if (!t) continue;
    s.layout += layout_cost(*t);
    s.values += tensor_cost(*t);
  }
  s.parameters = parameter_cost(c, *op);
  return s;
}

std::vector<double> simpler_values(double v, DType d) {
  std::vector<double> out;
  const auto add = [&](double e) { out.push_back(e); };
  for (const double e : {0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0}) add(e);
  if (std::isfinite(v) && v != 0) {
    add(-v);
    int exponent = 0;
    const double fraction = std::frexp(v, &exponent);
    for (const int bits : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 52})
      for (const double rounded : {std::trunc(std::ldexp(fraction, bits)), std::nearbyint(std::ldexp(fraction, bits))})
        add(std::ldexp(rounded, exponent - bits));
    if (std::fabs(v) < 0x1p52)
      for (const double step : {1.0, 0x1p-2, 0x1p-4, 0x1p-8, 0x1p4, 0x1p8}) add(std::nearbyint(v / step) * step);
    const int top = exponent - 1;
    for (const int to : {0, top / 2, top - top / 4, top > 0 ? top - 1 : top + 1, top > 0 ? top - 4 : top + 4})
      add(std::ldexp(fraction, to + 1));
  }
  const std::int64_t cost = value_cost(v);
  std::erase_if(out, [&](double e) { return value_cost(e) >= cost || !representable(d, e); });
  std::stable_sort(out.begin(), out.end(), [](double a, double b) { return value_cost(a) < value_cost(b); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace normfuzz
