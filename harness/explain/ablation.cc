#include "harness/explain/ablation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/shrink/edit.h"
#include "harness/shrink/simplicity.h"

namespace normfuzz {
namespace {

using Values = std::vector<double>;

double mean_of(const double* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] / static_cast<double>(n);
  return sum;
}

// x with every row moved by what `shift` says of it.
Case with_each_row(const Case& c, const auto& change) {
  const auto [first, rows, cols] = shape_of(c);
  Tensor x = *c.input("x");
  Values v = x.values();
  for (std::int64_t r = 0; r < rows; ++r) change(v.data() + r * cols, cols);
  set_values(x, 0, v);
  return with_input(c, "x", std::move(x));
}

// mean((x - centre)^2) of the first row: what epsilon is added to.
double statistic(const Case& c) {
  const Values v = c.input("x")->values();
  const std::int64_t n = shape_of(c).cols;
  const double centre = c.op == "rms_norm" ? 0 : mean_of(v.data(), n);
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    sum += (v[static_cast<std::size_t>(i)] - centre) * (v[static_cast<std::size_t>(i)] - centre) / static_cast<double>(n);
  return sum;
}

double nearest_epsilon(double e) { return value_from_bits(DType::kF32, bits_from_value(DType::kF32, e)); }

void mean_offset(const Case& c, std::vector<Ablation>& out) {
  if (c.op == "rms_norm") return;  // subtracts no mean
  const Values v = c.input("x")->values();
  const auto [first, rows, cols] = shape_of(c);
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
                 {with_each_row(c,
                                [](double* x, std::int64_t n) {
                                  for (double first_x = x[0], *e = x; e < x + n; ++e) *e -= first_x;
                                }),
                  with_each_row(c, [](double* x, std::int64_t n) {
                    for (double m = mean_of(x, n), *e = x; e < x + n; ++e) *e -= m;
                  })}});
}

// Only magnitudes far from 1 can matter by their range.
constexpr int kFarFromOne = 8;

void scale(const Case& c, std::vector<Ablation>& out) {
  double largest = 0;
  for (const double v : c.input("x")->values())
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  const int k = largest == 0 ? 0 : std::ilogb(largest);
  if (std::abs(k) < kFarFromOne) return;
  const Case scaled = with_input(c, "x", mapped(*c.input("x"), [&](double v) { return std::ldexp(v, -k); }));
  // With epsilon scaled alike the exact result is the same, so what goes away is an effect of the range.
  const double epsilon = nearest_epsilon(std::ldexp(c.epsilon(), -2 * k));
  const bool keeps_result = std::isfinite(epsilon) && (epsilon > 0 || c.epsilon() == 0);
  out.push_back({"scale", {with_epsilon(scaled, keeps_result ? epsilon : c.epsilon())}});
}

void epsilon(const Case& c, std::vector<Ablation>& out) {
  if (c.epsilon() != kPlainEpsilon) out.push_back({"epsilon", {with_epsilon(c, kPlainEpsilon)}});
  const double s = statistic(c);
  if (!(s > 0) || !std::isfinite(s) || c.epsilon() == 0) return;
  // So small beside the statistic that no bit of the result depends on it.
  const double small = nearest_epsilon(std::ldexp(1.0, std::ilogb(s) - 2 * format_of(c.dtype()).precision));
  if (small > 0 && small < c.epsilon()) out.push_back({"epsilon", {with_epsilon(c, small)}});
}

void parameters(const Case& c, std::vector<Ablation>& out) {
  for (const char* name : {"weight", "bias"}) {
    const Tensor* t = c.input(name);
    if (!t) continue;
    const double plain = name == std::string("weight") ? 1 - c.number("weight_offset", 0) : 0;
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
  const auto [first, count, cols] = shape_of(c);
  if (count < 2) return;
  constexpr std::int64_t kMost = 8;
  Ablation a{"rows", {}};
  const Values v = c.input("x")->values();
  for (std::int64_t r = 0; r < std::min(count, kMost); ++r) {
    Case one = with_rows(c, 1, Values(v.begin() + r * cols, v.begin() + (r + 1) * cols));
    const Tensor& x = *c.input("x");
    if (x.rank() == 2 && !x.dense()) {
      one.input("x")->strides = x.strides;
      one.input("x")->offset = x.offset;
    }
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
  const Values v = c.input("x")->values();
  if (!std::all_of(v.begin(), v.end(), [](double e) { return std::isfinite(e); }))
    out.push_back({"special values", {with_input(c, "x", mapped(*c.input("x"), [](double e) { return std::isfinite(e) ? e : 1; }))}});
  const auto [first, count, cols] = shape_of(c);
  const bool zero = std::all_of(v.begin(), v.end(), [](double e) { return e == 0; });
  bool constant = cols > 1;
  for (std::size_t i = 0; i < v.size(); ++i)
    constant = constant && v[i] == v[i / static_cast<std::size_t>(cols) * static_cast<std::size_t>(cols)];
  if (!zero && !constant) return;
  out.push_back({zero ? "zero row" : "constant row",
                 {with_each_row(c, [](double* x, std::int64_t) { x[0] = x[0] == 0 ? 1 : 2 * x[0]; }),
                  with_each_row(c, [](double* x, std::int64_t n) { x[n - 1] = x[n - 1] == 0 ? 3 : x[n - 1] / 2; })}});
}

Case repeated(const Case& c, std::int64_t to) {
  const auto [first, count, cols] = shape_of(c);
  const Values v = c.input("x")->values();
  Values wide;
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t i = 0; i < to; ++i) wide.push_back(v[static_cast<std::size_t>(r * cols + i % cols)]);
  Case out = with_rows(c, count, wide);
  const Tensor& x = *c.input("x");
  if (x.rank() == 2 && !x.dense() && x.strides[1] == 1 && x.strides[0] > cols) {
    out.input("x")->strides[0] = to + x.strides[0] - cols;
    out.input("x")->offset = x.offset;
  }
  return out;
}

// Simple numbers can hide a failure by luck (1/sqrt(1/4) is exact in any format): the same case with x times 1.25 and 1.75 too.
void add_relatives(std::vector<Case>& cases) {
  const std::size_t n = cases.size();
  for (std::size_t i = 0; i < n; ++i)
    for (const double factor : {1.25, 1.75})
      cases.push_back(with_input(cases[i], "x", mapped(*cases[i].input("x"), [&](double v) { return v * factor; })));
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
  for (const auto& find : {mean_offset, scale, epsilon, parameters, layout, rows, dtype, values}) find(c, out);
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
