#include "harness/shrink/passes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "harness/shrink/edit.h"
#include "harness/shrink/simplicity.h"
#include "oracles/ops/op.h"

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

// Position of the focus along one dimension of the row inputs.
std::int64_t along(const Case& c, const Focus& focus, int axis) {
  const Tensor& x = main_input(c);
  const auto [rows, cols] = shape_of(c);
  const std::int64_t index = view_of(c).index(std::min(focus.row, rows - 1), std::min(focus.col, cols - 1));
  return index / dense_strides(x.shape)[static_cast<std::size_t>(axis)] % x.shape[static_cast<std::size_t>(axis)];
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

// The row of an input that holds the focus.
std::vector<double> focus_row(const Case& c, const Focus& focus, std::string_view name) {
  const std::int64_t cols = shape_of(c).cols;
  const std::vector<double> x = values_by_row(c, name);
  const auto begin = x.begin() + std::min(focus.row, static_cast<std::int64_t>(x.size()) / cols - 1) * cols;
  return {begin, begin + cols};
}

// One row of two different values, in the ways that failures tell apart.
std::vector<std::vector<double>> tiny_rows(const std::vector<double>& row, double kept, DType d) {
  const double m = largest(row), p = power_of_two_below(m);
  std::vector<std::vector<double>> patterns = {{m}, {p}, {kept}};
  for (const double v : {p, power_of_two_below(kept), p / 2, p / 4, p * 2, kept}) {
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
  return patterns;
}

// The second row input as a unit vector, which tells positions apart.
void with_unit_vectors(const Case& c, const Focus& focus, std::vector<Case>& out) {
  for (const char* name : {"dy", "b"})
    if (c.input(name))
      for (const std::int64_t at : {std::int64_t{0}, focus.col})
        out.push_back(with_each_row(c, name, [&](double* v, std::int64_t n) {
          for (std::int64_t i = 0; i < n; ++i) v[i] = i == std::min(at, n - 1);
        }));
}

}  // namespace

std::vector<Case> shorter_axes(const Case& c, const Focus& focus) {
  std::vector<Case> out;
  const Tensor& x = main_input(c);
  for (int axis = 0; axis < x.rank(); ++axis)
    for (const Indices& keep : subsets(x.shape[static_cast<std::size_t>(axis)], along(c, focus, axis)))
      out.push_back(select(c, axis, keep));
  if (row_kind(c) == RowKind::kHeads)
    for (const Indices& keep : subsets(c.input("k")->shape[2], 0)) out.push_back(select_key_heads(c, keep));
  // The same members of every group.
  if (const std::int64_t groups = c.integer("groups", 1); groups > 1) {
    const int axis = row_axis(c);
    const std::int64_t members = x.shape[static_cast<std::size_t>(axis)] / groups;
    for (const Indices& keep : subsets(members, along(c, focus, axis) % members)) {
      Indices all;
      for (std::int64_t g = 0; g < groups; ++g)
        for (const std::int64_t k : keep) all.push_back(g * members + k);
      out.push_back(select(c, axis, all));
    }
  }
  return out;
}

std::vector<Case> tiny_relatives(const Case& c, const Focus& focus) {
  std::vector<Case> out;
  const auto [rows, cols] = shape_of(c);
  const std::vector<double> row = focus_row(c, focus, main_name(c));
  const double kept = row[static_cast<std::size_t>(std::min(focus.col, cols - 1))];
  std::set<Form> forms = {form_of(c), Form::kRows};
  for (const auto& values : tiny_rows(row, kept, c.dtype())) {
    if (static_cast<std::int64_t>(values.size()) >= main_input(c).size()) continue;
    for (const Form form : forms) {
      out.push_back(with_row(c, std::min(focus.row, rows - 1), values, form));
      with_unit_vectors(Case(out.back()), {0, 0}, out);
    }
  }
  return out;
}

std::vector<Case> simpler_shapes(const Case& c) {
  std::vector<Case> out;
  const Tensor& x = main_input(c);
  for (const Form form : forms_of(c)) out.push_back(arranged(c, form));
  if (!x.dense()) {
    const std::int64_t cols = shape_of(c).cols;
    std::vector<std::int64_t> strides = {cols + 1, cols + 2, 2 * cols};
    if (const int axis = row_axis(c); axis > 0) strides.push_back(x.strides[static_cast<std::size_t>(axis - 1)]);
    for (const std::int64_t stride : strides) {
      if (stride < cols) continue;
      out.push_back(arranged(c, Form::kRows));
      out.back().input(main_name(c))->strides[0] = stride;
    }
  }
  for (int axis = 0; x.rank() > 2 && axis < x.rank(); ++axis)
    if (auto without = without_axis(c, axis)) out.push_back(std::move(*without));
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
  if (!takes(c, "epsilon")) return;
  const double now = c.epsilon();
  std::vector<double> values = {kPlainEpsilon, 1, 0, 0x1p-10, 0x1p-20, 0x1p-40, 0x1p10};
  for (const double v : simpler_values(now, DType::kF32))
    if (v > 0) values.push_back(v);
  const std::string mode = c.text("epsilon_mode", "");
  const int power = mode == "add_outside" || mode == "max_norm" ? 1 : 2;  // of a length that epsilon stands beside
  for (const double epsilon : values) {
    out.push_back(with_epsilon(c, epsilon));
    if (epsilon == 0 || now == 0) continue;
    const int k = static_cast<int>(std::lround(std::log2(epsilon / now) / power));
    for (const int shift : {k - 1, k, k + 1})
      if (shift != 0) out.push_back(scaled(with_epsilon(c, epsilon), std::ldexp(1.0, shift)));
  }
  if (find_op(c.op)->affine() || c.input("residual")) return;
  out.push_back(without_param(without_param(c, "epsilon"), "epsilon_mode"));
  for (const char* other : {"add_inside", "add_outside", "max_norm", "max_square"}) {
    out.push_back(c);
    out.back().params["epsilon_mode"] = std::string(other);
  }
}

// A number of the call: absent, then the given ones, then fewer bits of its own.
void with_numbers(const Case& c, const char* name, std::vector<double> values, std::vector<Case>& out) {
  if (!c.params.count(name)) return;
  out.push_back(without_param(c, name));
  for (const double v : simpler_values(c.number(name, 0), DType::kF32)) values.push_back(v);
  for (const double v : values) {
    out.push_back(c);
    out.back().params[name] = v;
  }
}

// Fewer groups of the same channels.
void with_groups(const Case& c, std::vector<Case>& out) {
  const std::int64_t groups = c.integer("groups", 1);
  for (std::int64_t fewer = 1; fewer < std::min<std::int64_t>(groups, 65); ++fewer)
    if (groups % fewer == 0) {
      out.push_back(c);
      out.back().params["groups"] = fewer;
    }
}

// Spelled out although it is the default.
void without_defaults(const Case& c, std::vector<Case>& out) {
  for (const char* name : {"normalized_axis", "axis", "layout"})
    if (c.params.count(name)) {
      Case bare = without_param(c, name);
      if (row_axis(bare) == row_axis(c)) out.push_back(std::move(bare));
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
    if (t && !is_row_input(name) && t->dtype != c.dtype()) out.push_back(with_input(c, name, cast(*t, c.dtype())));
  if (weight && bias && weight->dtype != c.dtype())
    out.push_back(with_input(with_input(c, "weight", cast(*weight, c.dtype())), "bias", cast(*bias, c.dtype())));
  for (const char* name : {"q_weight", "k_weight"})
    if (c.input(name)) out.push_back(with_input(c, name, std::nullopt));
  if (const Tensor* mean = c.input("running_mean")) {
    if (c.integer("training", 0) == 1) {
      Case without = with_input(with_input(c, "running_mean", std::nullopt), "running_var", std::nullopt);
      out.push_back(without_param(without_param(without, "momentum"), "variance"));
    }
    if (mean->dtype != c.dtype())
      out.push_back(
          with_input(with_input(c, "running_mean", cast(*mean, c.dtype())), "running_var", cast(*c.input("running_var"), c.dtype())));
  }
  if (c.params.count("variance")) out.push_back(without_param(c, "variance"));
  without_defaults(c, out);
  with_groups(c, out);
  with_numbers(c, "p", {1, std::numeric_limits<double>::infinity(), 3, 4, 1.5}, out);
  with_numbers(c, "learning_rate", {1, 0.5, 0x1p-10}, out);
  with_numbers(c, "momentum", {0.5, 1, 0, 0.25}, out);
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
void around_a_base(const Case& c, const std::string& name, const std::vector<double>& v, double base, std::vector<Case>& out) {
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
      out.push_back(with_input(c, name, mapped(*c.input(name), [&](double e) { return to + step(e - base, i++ % v.size()); })));
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
  const RowView view = view_of(c);
  const std::int64_t row = std::min(focus.row, view.rows() - 1), col = std::min(focus.col, view.cols() - 1);
  for (const auto& [name, t] : c.inputs) {
    if (!t) continue;
    if (!is_row_input(name)) {
      whole_tensor(c, name, t->value(view.parameter(row, col)), out);
      continue;
    }
    const std::vector<double> values = focus_row(c, focus, name);
    whole_tensor(c, name, values[static_cast<std::size_t>(col)], out);
    if (name != "dy") around_a_base(c, name, values, values[0], out);
  }
  with_unit_vectors(c, focus, out);
  if (c.input("b")) {
    for (const double factor : {1.0, -1.0}) out.push_back(with_input(c, "b", mapped(*c.input("a"), [&](double v) { return factor * v; })));
    for (const int k : {-32, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 32}) out.push_back(scaled(c, std::ldexp(1.0, k)));
  }
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
