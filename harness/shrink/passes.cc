#include "harness/shrink/passes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "harness/shrink/edit.h"
#include "harness/shrink/simplicity.h"

namespace normfuzz {
namespace {

using Indices = std::vector<std::int64_t>;

Indices range(std::int64_t begin, std::int64_t end) {
  Indices out(static_cast<std::size_t>(end - begin));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

// Sizes worth trying: all small ones, around powers of two, and the large ones that drop little.
std::set<std::int64_t> sizes_below(std::int64_t extent) {
  std::set<std::int64_t> sizes;
  for (std::int64_t s = 1; s <= 17; ++s) sizes.insert(s);
  for (std::int64_t p = 32; p < extent; p *= 2) sizes.insert({p - 1, p, p + 1});
  for (const std::int64_t s : {extent / 2, 3 * extent / 4, extent - 1, extent - 2, extent - 4, extent - 8, extent - 16}) sizes.insert(s);
  std::erase_if(sizes, [&](std::int64_t s) { return s < 1 || s >= extent; });
  return sizes;
}

// Subsets of 0..extent-1: ends, windows around `focus`, every second index, all but one.
std::vector<Indices> subsets(std::int64_t extent, std::int64_t focus) {
  std::vector<Indices> out;
  for (const std::int64_t size : sizes_below(extent)) {
    std::set<std::int64_t> begins = {0, extent - size, focus - size + 1, focus, focus - size / 2};
    for (const std::int64_t begin : begins)
      if (begin >= 0 && begin + size <= extent) out.push_back(range(begin, begin + size));
    if (size == 2 && focus > 0) out.push_back({0, focus});
    if (size == 2 && focus < extent - 1) out.push_back({focus, extent - 1});
  }
  if (extent <= 32 && extent > 1)
    for (std::int64_t drop = 0; drop < extent; ++drop) {
      Indices all = range(0, extent);
      all.erase(all.begin() + drop);
      out.push_back(std::move(all));
    }
  return out;
}

// Position of the focus along one dimension of x.
std::int64_t along(const Case& c, const Focus& focus, int axis) {
  const Tensor& x = *c.input("x");
  const auto first = static_cast<int>(shape_of(c).first_axis);
  std::int64_t linear = axis < first ? focus.row : focus.col;
  for (int i = (axis < first ? first : x.rank()) - 1; i > axis; --i) linear /= x.shape[static_cast<std::size_t>(i)];
  return linear % x.shape[static_cast<std::size_t>(axis)];
}

double power_of_two_below(double v) { return v == 0 || !std::isfinite(v) ? 1 : std::copysign(std::ldexp(1.0, std::ilogb(v)), v); }
double ulp_at(double v, DType d) {
  const FloatFormat& f = format_of(d);
  return v == 0 || !std::isfinite(v) ? 1 : std::ldexp(1.0, std::max(std::ilogb(v), f.min_exponent) - f.precision + 1);
}
double largest(const std::vector<double>& v) {
  double m = 0;
  for (const double e : v)
    if (std::isfinite(e)) m = std::max(m, std::fabs(e));
  return m;
}

// The row of x that holds the focus.
std::vector<double> focus_row(const Case& c, const Focus& focus) {
  const auto [first, rows, cols] = shape_of(c);
  const std::vector<double> x = c.input("x")->values();
  const auto begin = x.begin() + std::min(focus.row, rows - 1) * cols;
  return {begin, begin + cols};
}

}  // namespace

std::vector<Case> shorter_axes(const Case& c, const Focus& focus) {
  std::vector<Case> out;
  for (int axis = 0; axis < c.input("x")->rank(); ++axis)
    for (const Indices& keep : subsets(c.input("x")->shape[static_cast<std::size_t>(axis)], along(c, focus, axis)))
      out.push_back(select(c, axis, keep));
  return out;
}

std::vector<Case> tiny_relatives(const Case& c, const Focus& focus) {
  std::vector<Case> out;
  const std::vector<double> row = focus_row(c, focus);
  const DType d = c.dtype();
  const double m = largest(row), p = power_of_two_below(m),
               k = row[static_cast<std::size_t>(std::min<std::int64_t>(focus.col, shape_of(c).cols - 1))];
  std::vector<std::vector<double>> patterns = {{m}, {p}, {k}};
  for (const double v : {p, power_of_two_below(k), p / 2, p / 4, p * 2, k}) {
    const double u = ulp_at(v, d);
    for (const std::vector<double>& two : {std::vector<double>{v, -v}, {v, 0}, {0, v}, {v, v}, {v, v + u}, {v, v + 1}, {v, v + 4 * u}}) {
      patterns.push_back(two);
      patterns.push_back({two[0], two[1], two[0], two[1]});
      patterns.push_back({two[0], two[0], two[0], two[1]});
      patterns.push_back({two[0], two[0], two[1]});
      for (const std::size_t n : {5, 6, 7, 8}) {
        patterns.emplace_back(n, two[0]);
        patterns.back().back() = two[1];
      }
    }
  }
  for (const auto& values : patterns)
    if (static_cast<std::int64_t>(values.size()) < c.input("x")->size()) out.push_back(with_rows(c, 1, values));
  return out;
}

std::vector<Case> simpler_shapes(const Case& c) {
  std::vector<Case> out;
  const auto [first, rows, cols] = shape_of(c);
  const Tensor& x = *c.input("x");
  out.push_back(flattened(c));
  if (!x.dense()) {
    for (const std::int64_t stride : {cols + 1, cols + 2, 2 * cols}) out.push_back(flattened(c, stride));
    if (first > 0) {
      const std::int64_t stride = x.strides[static_cast<std::size_t>(first - 1)];
      if (stride >= cols) out.push_back(flattened(c, stride));
    }
  }
  for (int axis = 0; axis < x.rank(); ++axis)
    if (x.rank() > 2 && x.shape[static_cast<std::size_t>(axis)] == 1 && !(axis == x.rank() - 1 && first == axis))
      out.push_back(without_axis(c, axis));
  return out;
}

std::vector<Case> simpler_layouts(const Case& c) {
  std::vector<Case> out;
  Case all = c;
  for (auto& [name, t] : all.inputs)
    if (t) t = dense(*t);
  out.push_back(all);
  for (const auto& [name, t] : c.inputs) {
    if (!t || t->dense()) continue;
    out.push_back(with_input(c, name, dense(*t)));
    const auto change = [&, n = name, original = *t](const std::function<void(Tensor&)>& edit) {
      Tensor changed = original;
      edit(changed);
      out.push_back(with_input(c, n, std::move(changed)));
    };
    change([](Tensor& s) { s.offset = 0; });
    change([](Tensor& s) { s.misalign = 0; });
    change([](Tensor& s) { s.offset = s.misalign = 0; });
    const auto plain = dense_strides(t->shape);
    change([&](Tensor& s) { s.strides = plain; });
    for (std::size_t axis = 0; axis < plain.size(); ++axis) {
      const std::int64_t now = t->strides[axis];
      for (const std::int64_t to : {plain[axis], plain[axis] + 1, plain[axis] + 2, 2 * plain[axis], (plain[axis] + now) / 2, now - 1})
        change([&](Tensor& s) {
          s.strides[axis] = to;
          if (to == 0) set_values(s, 0, {});
        });
    }
  }
  return out;
}

namespace {

// Another epsilon, and x scaled so that it keeps its size beside it.
void with_epsilons(const Case& c, std::vector<Case>& out) {
  const double now = c.epsilon();
  std::vector<double> values = {kPlainEpsilon, 1, 0, 0x1p-10, 0x1p-20, 0x1p-40, 0x1p10};
  for (const double v : simpler_values(now, DType::kF32))
    if (v > 0) values.push_back(v);
  for (const double epsilon : values) {
    out.push_back(with_epsilon(c, epsilon));
    if (epsilon == 0 || now == 0) continue;
    const int k = static_cast<int>(std::lround(std::log2(epsilon / now) / 2));
    for (const int shift : {k - 1, k, k + 1})
      if (shift != 0) out.push_back(with_input(out.back(), "x", mapped(*c.input("x"), [&](double v) { return std::ldexp(v, shift); })));
  }
}

}  // namespace

std::vector<Case> simpler_parameters(const Case& c) {
  std::vector<Case> out;
  const Tensor *weight = c.input("weight"), *bias = c.input("bias");
  Case bare = c;
  bare.params.erase("weight_offset");
  if (weight && bias) out.push_back(with_input(with_input(bare, "weight", std::nullopt), "bias", std::nullopt));
  if (weight) out.push_back(with_input(bare, "weight", std::nullopt));
  if (bias) out.push_back(with_input(c, "bias", std::nullopt));
  if (c.params.count("weight_offset")) {
    out.push_back(bare);
    if (weight) out.push_back(with_input(bare, "weight", mapped(*weight, [&](double w) { return w + c.number("weight_offset", 0); })));
  }
  for (const auto& [name, t] : c.inputs)
    if (t && name != "x" && t->dtype != c.dtype()) out.push_back(with_input(c, name, cast(*t, c.dtype())));
  if (weight && bias && weight->dtype != c.dtype())
    out.push_back(with_input(with_input(c, "weight", cast(*weight, c.dtype())), "bias", cast(*bias, c.dtype())));
  if (c.params.count("normalized_axis") && c.integer("normalized_axis", -1) != -1) {
    Case spelled = c;
    spelled.params.erase("normalized_axis");
    if (shape_of(spelled).first_axis == shape_of(c).first_axis) out.push_back(spelled);
  } else if (c.params.count("normalized_axis")) {
    out.push_back(c);
    out.back().params.erase("normalized_axis");
  }
  with_epsilons(c, out);
  return out;
}

namespace {

double with_bits(double v, int bits) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

// x as base + small steps, for failures that need a large mean.
void around_a_base(const Case& c, const std::vector<double>& v, double base, std::vector<Case>& out) {
  const DType d = c.dtype();
  const double p = power_of_two_below(base), half = std::ldexp(1.0, format_of(d).precision / 2);  // squares of half's neighbours round
  for (const double to : {0.0, p, p / 2, p / 4, p / 16, p / 256, p * 2, half, half * 2, half * 4, half * 8}) {
    const double u = ulp_at(to, d);
    std::vector<std::function<double(double, std::size_t)>> steps = {
        [](double difference, std::size_t) { return difference; },
        [&](double difference, std::size_t) { return difference == 0 ? 0 : std::copysign(u, difference); },
        [&](double difference, std::size_t) { return difference == 0 ? 0 : 1.0; },
        [&](double difference, std::size_t) { return difference == 0 ? 0 : u; },
        [&](double difference, std::size_t) { return with_bits(difference, 1); },
        [&](double, std::size_t i) { return static_cast<double>(i) * u; },
        [&](double, std::size_t i) { return static_cast<double>(i % 2) * u; },
        [&](double, std::size_t i) { return static_cast<double>(i); },
        [](double, std::size_t i) { return static_cast<double>(i % 2); },
    };
    for (const auto& step : steps) {
      std::size_t i = 0;
      out.push_back(with_input(c, "x", mapped(*c.input("x"), [&](double e) { return to + step(e - base, i++ % v.size()); })));
    }
  }
}

void whole_tensor(const Case& c, const std::string& name, double kept, std::vector<Case>& out) {
  const Tensor& t = *c.input(name);
  const auto propose = [&](const std::function<double(double)>& f) { out.push_back(with_input(c, name, mapped(t, f))); };
  for (const double all : {0.0, 1.0, -1.0, 2.0, kept, power_of_two_below(kept)}) propose([&](double) { return all; });
  propose([](double v) { return std::fabs(v); });
  propose([](double v) { return -v; });
  propose([](double v) { return std::isfinite(v) ? v : 0; });
  for (const int bits : {1, 2, 3, 4, 6, 8, 11, 16, 24}) propose([&](double v) { return with_bits(v, bits); });
  for (const double step : {1.0, 0x1p-4, 0x1p4, 0x1p8}) propose([&](double v) { return std::nearbyint(v / step) * step; });
  const double m = largest(t.values());
  const int top = m == 0 ? 0 : std::ilogb(m);
  for (const int k : {-top, -top / 2, -1, -2, -4, -8, -16, -32, 1, 2, 4, 8, 16, 32})
    if (k != 0) propose([&](double v) { return std::ldexp(v, k); });
}

}  // namespace

std::vector<Case> simpler_tensors(const Case& c, const Focus& focus) {
  std::vector<Case> out;
  const auto [first, rows, cols] = shape_of(c);
  const std::vector<double> row = focus_row(c, focus);
  const auto col = static_cast<std::size_t>(std::min(focus.col, cols - 1));
  whole_tensor(c, "x", row[col], out);
  around_a_base(c, row, row[0], out);
  for (const char* name : {"weight", "bias"})
    if (const Tensor* t = c.input(name)) whole_tensor(c, name, t->value(static_cast<std::int64_t>(col)), out);
  return out;
}

std::vector<Edit> simpler_elements(const Case& c, std::size_t most) {
  constexpr std::int64_t kPlaces = 32;  // a larger tensor is edited in blocks
  std::vector<Edit> out;
  for (const auto& [name, t] : c.inputs) {
    if (!t) continue;
    const std::int64_t n = t->size(), block = (n + kPlaces - 1) / kPlaces;
    for (std::int64_t first = 0; first < n; first += block) {
      const std::int64_t count = std::min(block, n - first);
      std::vector<double> choices = simpler_values(t->value(first), t->dtype);
      const std::size_t kept = std::min(most, choices.size());
      for (std::size_t i = 0; i < kept; ++i) {  // the simplest third, then evenly spaced
        const std::size_t at =
            i < kept / 3 ? i
                         : choices.size() - 1 - (kept - 1 - i) * (choices.size() - kept / 3) / std::max<std::size_t>(1, kept - kept / 3);
        out.push_back({name, first, std::vector<double>(static_cast<std::size_t>(count), choices[at])});
      }
    }
  }
  return out;
}

Case edited(Case c, const Edit& e) {
  set_values(*c.input(e.tensor), e.first, e.values);
  return c;
}

}  // namespace normfuzz
