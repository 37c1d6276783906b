#include "harness/explain/ablation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "harness/shrink/edit.h"
#include "harness/shrink/simplicity.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

using Values = std::vector<double>;

double mean_of(const double* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] / static_cast<double>(n);
  return sum;
}

// mean((x - centre)^2) of the first row: what epsilon is added to.
double statistic(const Case& c) {
  const Values v = values_by_row(c, main_name(c));
  const std::int64_t n = shape_of(c).cols;
  const double centre = find_op(c.op)->centred() ? mean_of(v.data(), n) : 0;
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    sum += (v[static_cast<std::size_t>(i)] - centre) * (v[static_cast<std::size_t>(i)] - centre) / static_cast<double>(n);
  return sum;
}

std::vector<std::int64_t> up_to(std::int64_t n) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Padded rows of a matrix stay padded alike in a relative of other rows or `cols` columns.
void keep_layout(const Case& c, Case& relative, std::int64_t cols) {
  const Tensor& x = main_input(c);
  if (x.rank() != 2 || x.dense() || form_of(c) != Form::kRows) return;
  Tensor& t = *relative.input(main_name(c));
  const std::int64_t have = shape_of(c).cols;
  if (cols == have)
    t.strides = x.strides;
  else if (x.strides[1] == 1 && x.strides[0] > have)
    t.strides[0] = cols + x.strides[0] - have;
  else
    return;
  t.offset = x.offset;
}

double nearest_epsilon(double e) { return value_from_bits(DType::kF32, bits_from_value(DType::kF32, e)); }

void mean_offset(const Case& c, std::vector<Ablation>& out) {
  if (!find_op(c.op)->centred()) return;  // subtracts no mean
  const Values v = values_by_row(c, "x");
  const auto [rows, cols] = shape_of(c);
  bool offset = false;
  for (std::int64_t r = 0; r < rows; ++r) {
    const double m = mean_of(v.data() + r * cols, cols);
    double spread = 0;
    for (std::int64_t i = 0; i < cols; ++i) spread = std::max(spread, std::fabs(v[static_cast<std::size_t>(r * cols + i)] - m));
    offset |= std::fabs(m) > spread;
  }
  if (!offset) return;
  // By the first element the differences stay exact; by the mean the row is centred.
  out.push_back({"mean offset",
                 {with_each_row(c, "x",
                                [](double* x, std::int64_t n) {
                                  for (double first_x = x[0], *e = x; e < x + n; ++e) *e -= first_x;
                                }),
                  with_each_row(c, "x", [](double* x, std::int64_t n) {
                    for (double m = mean_of(x, n), *e = x; e < x + n; ++e) *e -= m;
                  })}});
}

// Only magnitudes far from 1 can matter by their range.
constexpr int kFarFromOne = 8;

void scale(const Case& c, std::vector<Ablation>& out) {
  double largest = 0;
  for (const double v : main_input(c).values())
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  const int k = largest == 0 ? 0 : std::ilogb(largest);
  if (std::abs(k) < kFarFromOne) return;
  const Case near_one = scaled(c, std::ldexp(1.0, -k));
  if (c.epsilon() == 0) {
    out.push_back({"scale", {near_one}});
    return;
  }
  // With epsilon scaled alike the exact result is the same, so what goes away is an effect of the range.
  const std::string mode = c.text("epsilon_mode", "");
  const double epsilon = nearest_epsilon(std::ldexp(c.epsilon(), mode == "add_outside" || mode == "max_norm" ? -k : -2 * k));
  const bool keeps_result = std::isfinite(epsilon) && epsilon > 0;
  out.push_back({"scale", {with_epsilon(near_one, keeps_result ? epsilon : c.epsilon())}});
}

void epsilon(const Case& c, std::vector<Ablation>& out) {
  if (!find_op(c.op)->affine()) {
    if (c.epsilon() != 0) out.push_back({"epsilon", {without_param(without_param(c, "epsilon"), "epsilon_mode")}});
    return;
  }
  if (c.epsilon() != kPlainEpsilon) out.push_back({"epsilon", {with_epsilon(c, kPlainEpsilon)}});
  const double s = statistic(c);
  if (!(s > 0) || !std::isfinite(s) || c.epsilon() == 0) return;
  // So small beside the statistic that no bit of the result depends on it.
  const double small = nearest_epsilon(std::ldexp(1.0, std::ilogb(s) - 2 * format_of(c.dtype()).precision));
  if (small > 0 && small < c.epsilon()) out.push_back({"epsilon", {with_epsilon(c, small)}});
}

// The other inputs and numbers of the ops that have them.
void other_arguments(const Case& c, std::vector<Ablation>& out) {
  if (const Tensor* dy = c.input("dy")) {
    const Values v = dy->values();
    if (std::any_of(v.begin(), v.end(), [](double e) { return e != 1; }))
      out.push_back({"cotangent", {with_input(c, "dy", mapped(*dy, [](double) { return 1.0; }))}});
  }
  if (const Tensor* residual = c.input("residual"))
    out.push_back({"residual", {with_input(c, "residual", mapped(*residual, [](double) { return 0.0; }))}});
  if (c.integer("training", 0) == 1 && c.input("running_mean"))
    out.push_back({"running statistics", {with_input(with_input(c, "running_mean", std::nullopt), "running_var", std::nullopt)}});
  if (c.number("p", 2) != 2) out.push_back({"p", {without_param(c, "p")}});
  if (const double rate = c.number("learning_rate", 1); rate != 1) {
    Case plain = c;
    plain.params["learning_rate"] = 1.0;
    out.push_back({"learning rate", {std::move(plain)}});
  }
}

// The same rows along the last axis, or in the other layout.
void axis_and_layout(const Case& c, std::vector<Ablation>& out) {
  if (form_of(c) == Form::kRows) return;
  if (row_kind(c) == RowKind::kAxis)
    out.push_back({"axis", {arranged(c, Form::kRows)}});
  else
    out.push_back({"layout", {arranged(c, form_of(c) == Form::kColumns ? Form::kChannelsLast : Form::kColumns)}});
}

void parameters(const Case& c, std::vector<Ablation>& out) {
  for (const char* name : {"weight", "bias", "q_weight", "k_weight"}) {
    const Tensor* t = c.input(name);
    if (!t) continue;
    const double plain = name != std::string("bias") ? 1 - c.number("weight_offset", 0) : 0;
    Ablation a{name, {with_input(c, name, mapped(*t, [&](double) { return plain; }))}};
    if (c.number("weight_offset", 0) == 0) a.without.push_back(with_input(c, name, std::nullopt));
    out.push_back(std::move(a));
    if (t->dtype != c.dtype()) out.push_back({"mixed dtypes", {with_input(c, name, cast(*t, c.dtype()))}});
  }
  if (c.number("weight_offset", 0) != 0) {
    Case without = c;
    without.params.erase("weight_offset");
    out.push_back({"weight offset", {without, with_input(without, "weight", mapped(*c.input("weight"), [](double w) { return w + 1; }))}});
  }
}

void layout(const Case& c, std::vector<Ablation>& out) {
  const auto changed = [&](const char* need, const auto& differs, const auto& change) {
    Case without = c;
    bool any = false;
    for (auto& [name, t] : without.inputs) {
      if (!t || !differs(*t)) continue;
      change(*t);
      any = true;
    }
    if (any) out.push_back({need, {std::move(without)}});
  };
  changed(
      "strides", [](const Tensor& t) { return t.strides != dense_strides(t.shape); },
      [](Tensor& t) { t.strides = dense_strides(t.shape); });
  changed(
      "offset", [](const Tensor& t) { return t.offset != 0; }, [](Tensor& t) { t.offset = 0; });
  changed(
      "alignment", [](const Tensor& t) { return t.misalign != 0; }, [](Tensor& t) { t.misalign = 0; });
}

void rows(const Case& c, std::vector<Ablation>& out) {
  const auto [count, cols] = shape_of(c);
  if (count < 2) return;
  constexpr std::int64_t kMost = 8;
  Ablation a{"rows", {}};
  const std::vector<std::int64_t> all = up_to(cols);
  for (std::int64_t r = 0; r < std::min(count, kMost); ++r) {
    Case one = arranged(c, std::span(&r, 1), all, form_of(c));
    keep_layout(c, one, cols);
    a.without.push_back(std::move(one));
  }
  out.push_back(std::move(a));
}

void dtype(const Case& c, std::vector<Ablation>& out) {
  if (c.dtype() == DType::kF64) return;
  const DType from = c.dtype(), to = from == DType::kF32 ? DType::kF64 : DType::kF32;
  Case wider = c;
  for (auto& [name, t] : wider.inputs)
    if (t && t->dtype == from) t = cast(*t, to);
  out.push_back({"dtype", {std::move(wider)}});
}

void values(const Case& c, std::vector<Ablation>& out) {
  Case finite = c;
  bool any_special = false;
  for (auto& [name, t] : finite.inputs) {
    if (!t || !is_row_input(name)) continue;
    for (const double v : t->values()) any_special |= !std::isfinite(v);
    t = mapped(*t, [](double e) { return std::isfinite(e) ? e : 1; });
  }
  if (any_special) out.push_back({"special values", {std::move(finite)}});
  const std::string name = main_name(c);
  const Values v = values_by_row(c, name);
  const auto cols = static_cast<std::size_t>(shape_of(c).cols);
  const bool zero = std::all_of(v.begin(), v.end(), [](double e) { return e == 0; });
  bool constant = cols > 1;
  for (std::size_t i = 0; i < v.size(); ++i) constant = constant && v[i] == v[i / cols * cols];
  if (!zero && !constant) return;
  out.push_back({zero ? "zero row" : "constant row",
                 {with_each_row(c, name, [](double* x, std::int64_t) { x[0] = x[0] == 0 ? 1 : 2 * x[0]; }),
                  with_each_row(c, name, [](double* x, std::int64_t n) { x[n - 1] = x[n - 1] == 0 ? 3 : x[n - 1] / 2; })}});
}

Case repeated(const Case& c, std::int64_t to) {
  const auto [rows, have] = shape_of(c);
  std::vector<std::int64_t> cols = up_to(to);
  for (std::int64_t& col : cols) col %= have;
  Case out = arranged(c, up_to(rows), cols, form_of(c));
  keep_layout(c, out, to);
  return out;
}

// Simple numbers can hide a failure by luck (1/sqrt(1/4) is exact in any format): the same case with x times 1.25 and 1.75 too.
void add_relatives(std::vector<Case>& cases) {
  const std::size_t n = cases.size();
  for (std::size_t i = 0; i < n; ++i)
    for (const double factor : {1.25, 1.75}) cases.push_back(scaled(cases[i], factor));
}

class Questions {
 public:
  Questions(const ShrinkResult& shrunk, const Probe& probe) : shrunk_(shrunk.examination.judgement), probe_(probe) {}

  // True if some answer says something and none shows the failure. A crash or hang is asked as few times as possible.
  bool gone(std::vector<Case> cases) const {
    const bool costly = shrunk_.verdict == Verdict::kCrashed || shrunk_.verdict == Verdict::kTimedOut;
    if (!costly) add_relatives(cases);
    std::erase_if(cases, [](const Case& c) { return !validate(c); });
    bool answered = false;
    for (std::size_t at = 0; at < cases.size();) {
      const std::size_t count = costly ? 1 : cases.size() - at;
      for (const Examination& e : probe_(std::span(cases).subspan(at, count))) {
        if (e.judgement.verdict == shrunk_.verdict && e.judgement.law == shrunk_.law && finite(e.judgement) == finite(shrunk_))
          return false;
        answered |= e.judgement.verdict != Verdict::kUnsupported && e.judgement.verdict != Verdict::kRejected;
      }
      at += count;
    }
    return answered;
  }

 private:
  // A NaN or an infinity is one kind of failure, a wrong number another.
  static bool finite(const Judgement& j) { return j.failure != FailureClass::kNan && j.failure != FailureClass::kInf; }

  const Judgement& shrunk_;
  const Probe& probe_;
};

}  // namespace

std::vector<Ablation> ablations(const Case& c) {
  std::vector<Ablation> out;
  for (const auto& find : {mean_offset, scale, epsilon, parameters, other_arguments, axis_and_layout, layout, rows, dtype, values})
    find(c, out);
  return out;
}

Widths other_widths(const Case& c) {
  constexpr std::int64_t kVector = 16;  // the widest vector of 32-bit elements in use
  const std::int64_t n = shape_of(c).cols;
  Widths w;
  for (const std::int64_t to : {2 * n, 3 * n, 4 * n, n + 1}) w.others.push_back(repeated(c, to));
  if (n % kVector != 0)
    for (const std::int64_t multiple : {kVector / 4, kVector / 2, kVector})
      if (n % multiple != 0)
        for (const std::int64_t odd : {1, 3})  // a mean over a power of two is exact where others are not
          w.next_multiples.push_back(repeated(c, (n / multiple + 1) * multiple * odd));
  for (const std::int64_t steps : {1, 2, 4}) w.same_remainder.push_back(repeated(c, n + steps * kVector));
  return w;
}

std::vector<std::string> needs_of(const ShrinkResult& shrunk, const Probe& probe) {
  const Questions ask(shrunk, probe);
  std::set<std::string> needs;
  for (Ablation& a : ablations(shrunk.shrunk))
    if (!needs.count(a.need) && ask.gone(std::move(a.without))) needs.insert(a.need);
  Widths w = other_widths(shrunk.shrunk);
  const bool no_tail = w.next_multiples.empty();
  if (no_tail || ask.gone(std::move(w.next_multiples))) {
    if (!no_tail && !ask.gone(std::move(w.same_remainder)))
      needs.insert("width tail");
    else if (ask.gone(std::move(w.others)))
      needs.insert("columns");
  }
  return {needs.begin(), needs.end()};
}

}  // namespace normfuzz
