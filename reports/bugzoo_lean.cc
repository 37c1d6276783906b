#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "harness/shrink/edit.h"
#include "reports/bugzoo_entry.h"

namespace normfuzz {
namespace {

// A finite double as an exact rational number of Lean.
std::string rational(double v) {
  if (v == 0) return "(0 : ℝ)";
  int exponent = 0;
  auto odd = static_cast<std::int64_t>(std::ldexp(std::frexp(v, &exponent), 53));
  exponent -= 53;
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(odd));
  odd >>= zeros;
  exponent += zeros;
  constexpr int kPlain = 62;  // integers that print without a power
  const std::string numerator = odd < 0 ? fmt::format("-{}", -odd) : fmt::format("{}", odd);
  if (exponent == 0) return fmt::format("({} : ℝ)", numerator);
  if (exponent < 0 && exponent >= -kPlain) return fmt::format("({} / {} : ℝ)", numerator, std::int64_t{1} << -exponent);
  if (exponent < 0) return fmt::format("({} / 2 ^ {} : ℝ)", numerator, -exponent);
  if (exponent + std::bit_width(static_cast<std::uint64_t>(std::abs(odd))) <= kPlain)
    return fmt::format("({} : ℝ)", odd * (std::int64_t{1} << exponent));
  return fmt::format("({} * 2 ^ {} : ℝ)", numerator, exponent);
}

std::string list(const std::vector<double>& values) {
  std::string out = "[";
  for (const double v : values) out += (out.size() > 1 ? ", " : "") + rational(v);
  return out + "]";
}

constexpr const char* kDefinitions = R"(noncomputable def mean (xs : List ℝ) : ℝ := xs.sum / xs.length
noncomputable def variance (xs : List ℝ) : ℝ := (xs.map fun x => (x - mean xs) ^ 2).sum / xs.length
noncomputable def meanSquare (xs : List ℝ) : ℝ := (xs.map fun x => x ^ 2).sum / xs.length
noncomputable def layerNorm (xs : List ℝ) (epsilon : ℝ) (weight bias : List ℝ) (i : ℕ) : ℝ :=
  (xs.getD i 0 - mean xs) / √(variance xs + epsilon) * weight.getD i 0 + bias.getD i 0
noncomputable def rmsNorm (xs : List ℝ) (epsilon : ℝ) (weight bias : List ℝ) (i : ℕ) : ℝ :=
  xs.getD i 0 / √(meanSquare xs + epsilon) * weight.getD i 0 + bias.getD i 0
)";

// The offending element: the worst one of the judgement.
const ElementEvidence* offender(const Finding& f) { return f.judgement.evidence.empty() ? nullptr : &f.judgement.evidence[0]; }

struct Row {
  std::vector<double> x, weight, bias;
  std::int64_t column = 0;
};

bool all_finite(const std::vector<double>& v) {
  for (const double e : v)
    if (!std::isfinite(e)) return false;
  return true;
}

Row row_of(const Case& c, std::int64_t index) {
  const auto [first, rows, cols] = shape_of(c);
  const auto n = static_cast<std::size_t>(cols);
  Row r{{}, std::vector<double>(n, 1), std::vector<double>(n, 0), index % cols};
  for (std::int64_t i = 0; i < cols; ++i) r.x.push_back(c.input("x")->value(index / cols * cols + i));
  if (const Tensor* w = c.input("weight")) r.weight = w->values();
  if (const Tensor* b = c.input("bias")) r.bias = b->values();
  for (double& w : r.weight) w += c.number("weight_offset", 0);
  return r;
}

std::string statement(const Entry& e, const ElementEvidence& at) {
  const Finding& f = e.finding;
  const Row row = row_of(f.shrunk, at.index);
  if (!all_finite(row.x) || !all_finite(row.weight) || !all_finite(row.bias))
    return "-- The row holds a NaN or an infinity: no statement over the reals.\n";
  const std::string value = fmt::format("{} {} {} {} {} {}", f.op == "rms_norm" ? "rmsNorm" : "layerNorm", list(row.x),
                                        rational(f.shrunk.epsilon()), list(row.weight), list(row.bias), row.column);
  if (f.law == "ln.one_feature_forward") {
    std::string out = fmt::format(
        "/-- one_feature_layernorm_scalar_contract, for this case: the exact value is the bias. -/\ndef contract : Prop :=\n  {} = {}\n",
        value, rational(at.exact));
    if (std::isfinite(at.got))
      return out + fmt::format("\n/-- What the kernel returned is another number. -/\ndef divergence : Prop :=\n  {} ≠ {}\n",
                               rational(at.got), value);
    return out + "\n-- The kernel returned a NaN or an infinity, which is no real number.\n";
  }
  if (!std::isfinite(at.got))
    return fmt::format(
        "/-- The exact value is finite and this large at most; the kernel returned {}. -/\ndef divergence : Prop :=\n  |{}| ≤ {}\n",
        number_text(at.got), value, rational(std::nextafter(std::fabs(at.exact), HUGE_VAL)));
  if (!std::isfinite(at.allowed)) return "-- The contract bounds no error here.\n";
  return fmt::format(
      "/-- The kernel's result is farther from the exact value than the contract '{}' allows. -/\ndef divergence : Prop :=\n  {} < |{} - "
      "{}|\n",
      f.law, rational(at.allowed), rational(at.got), value);
}

}  // namespace

std::string lean_text(const Entry& e) {
  const Finding& f = e.finding;
  const Law law = law_of(f);
  std::string out = fmt::format(
      "-- {}\n-- {}\n-- A statement, not a checked proof: no Lean tool has read this file. All numbers are exact.\nimport "
      "Mathlib\n\nnamespace NormFuzz\n\n",
      f.slug.empty() ? slug_of(f) : f.slug, law.theorem);
  const ElementEvidence* at = offender(f);
  const bool numeric = at && at->output == "y" && at->index >= 0 && f.law.substr(0, 4) != "bit." && f.shrunk.input("x") &&
                       at->index < f.shrunk.input("x")->size();
  if (numeric)
    out += std::string(kDefinitions) + "\n" + statement(e, *at);
  else
    out += "-- The law is about bits, memory or the process, not about real numbers: nothing to state here.\n";
  return out + "\nend NormFuzz\n";
}

}  // namespace normfuzz
