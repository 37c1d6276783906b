#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/explain/ablation.h"
#include "harness/explain/suspects.h"
#include "harness/shrink/edit.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

bool has(const std::vector<std::string>& words, std::string_view word) {
  for (const std::string& w : words)
    if (w == word) return true;
  return false;
}

// Where no formula and no contract names the kind of bug, the law and the needs do.
std::string family_of(const Examination& e, const std::vector<std::string>& needs) {
  const Judgement& j = e.judgement;
  if (e.by_property && j.law.starts_with("bit.") && j.failure != FailureClass::kMemory) {
    std::string name = j.law.substr(4);
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
  }
  if (j.failure == FailureClass::kMemory)
    return has(needs, "strides") || has(needs, "offset") || has(needs, "alignment") ? "layout and alignment" : "memory";
  if (j.law == "bit.containment") return "containment";
  if (j.law == "bit.determinism") return "determinism";
  if (j.verdict == Verdict::kCrashed) return "crash";
  if (j.verdict == Verdict::kTimedOut) return "hang";
  if (j.verdict == Verdict::kRangeLimit || has(needs, "scale")) return "range";
  if (has(needs, "zero row")) return "zero rows";
  if (has(needs, "width tail")) return "width and tails";
  if (has(needs, "epsilon")) return "epsilon";
  if (has(needs, "mean offset")) return "cancellation";
  if (has(needs, "weight") || has(needs, "bias") || has(needs, "weight offset")) return "parameters";
  if (has(needs, "layout") || has(needs, "axis")) return "axis and layout";
  if (j.law.starts_with("ln.one_feature")) return "degenerate shapes";
  return "wrong result";
}

std::string shape_text(const Case& c) {
  const auto [rows, cols] = shape_of(c);
  std::string text = cols > 1 ? fmt::format("{} columns", cols) : find_op(c.op)->affine() ? "one feature" : "one element";
  if (rows > 1) text += fmt::format(" in {} rows", rows);
  return text;
}

std::string number_text(double v, DType d) {
  if (std::isnan(v)) return "NaN";
  const int digits = d == DType::kF64 ? 17 : d == DType::kF32 ? 9 : 6;  // enough to tell neighbours apart
  return fmt::format("{:.{}g}", v + 0.0, digits);                       // a zero's sign decides nothing here
}

std::string what_happened(const Examination& examined, DType d) {
  const Judgement& j = examined.judgement;
  if (j.verdict == Verdict::kCrashed) return fmt::format("crashes ({})", j.detail);
  if (j.verdict == Verdict::kTimedOut) return "does not return";
  if (j.failure == FailureClass::kMemory) return fmt::format("breaks memory ({})", j.detail);
  if (examined.by_property || j.law == "bit.determinism" || j.law == "bit.containment")
    return fmt::format("breaks {}: {}", j.law, j.detail);
  if (j.evidence.empty()) return j.detail.empty() ? "returns a wrong result" : j.detail;
  const ElementEvidence& e = j.evidence[0];
  const std::string got = number_text(e.got, d), exact = number_text(e.exact, d);
  if (j.law == "ln.one_feature_forward") return fmt::format("returns {} instead of the bias {}", got, exact);
  if (j.law.starts_with("ln.one_feature")) return fmt::format("returns {} = {} instead of 0", e.output, got);
  const std::string place = e.output == "y" ? "" : fmt::format("{}[{}] = ", e.output, e.index);
  if (std::isnan(e.exact)) return fmt::format("returns {}{} where a NaN is due", place, got);
  const std::string values = fmt::format("returns {}{} where the exact value is {}", place, got, exact);
  if (j.verdict == Verdict::kRangeLimit)
    return values + ": a statistic leaves the range of the accumulation type, which the contract allows";
  return values + fmt::format(" and the contract allows an error of {:.3g}", e.allowed);
}

// A formula or contract is sought only where numbers are at fault.
bool about_numbers(const Examination& e) {
  const Judgement& j = e.judgement;
  return !e.by_property && (j.verdict == Verdict::kContract || (j.verdict == Verdict::kTheorem && j.law.substr(0, 4) != "bit."));
}

// Cases beside the shrunk one: simple numbers match many wrong formulas by luck.
std::vector<Case> relatives_of(const Case& c) {
  std::vector<Case> out;
  for (const double factor : {1.25, 1.375, 1.625, 1.75}) out.push_back(scaled(c, factor));
  // Wrong uses of a small epsilon agree to 16 bits; those of a large one do not, nor do those beside values of its own size.
  if (find_op(c.op)->affine() || c.epsilon() != 0)
    for (const double epsilon : {0x1p-6, 1.0}) out.push_back(with_epsilon(scaled(c, 1.25), epsilon));
  double largest = 0;
  for (const double v : main_input(c).values()) largest = std::max(largest, std::fabs(v));
  constexpr double kRootOfEpsilon = 0x1p-8;  // near the root of 1e-5
  if (largest > 0 && std::isfinite(largest)) out.push_back(scaled(c, 1.25 * kRootOfEpsilon / std::exp2(std::ilogb(largest))));
  Case others = scaled(c, 1.25);  // weights, biases, cotangents and second rows that differ from element to element
  bool any = false;
  for (auto& [name, t] : others.inputs) {
    if (!t || name == main_name(c)) continue;
    double step = 0.5;
    t = mapped(*t, [&](double v) { return v + (step += 0.25); });
    any = true;
  }
  if (any) out.push_back(std::move(others));
  std::erase_if(out, [](const Case& k) { return !validate(k); });
  return out;
}

// Suspects that also match what became of these cases, as far as they fail too.
std::vector<Suspect> also_matching(std::vector<Suspect> found, const std::vector<Case>& relatives, const Contract& contract,
                                   const Probe& probe) {
  const std::vector<Examination> results = probe(relatives);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_violation(results[i].judgement.verdict)) continue;
    const std::vector<Suspect> also = matching_formulas(relatives[i], results[i].outcome, contract);
    std::erase_if(found, [&](const Suspect& s) { return std::find(also.begin(), also.end(), s) == also.end(); });
  }
  return found;
}

// A formula that matches the output of the shrunk case, and that of its relatives.
std::optional<Suspect> matching_formula(const ShrinkResult& shrunk, const Contract& contract, const Probe& probe) {
  std::vector<Suspect> found = matching_formulas(shrunk.shrunk, shrunk.examination.outcome, contract);
  if (found.empty()) return std::nullopt;
  found = also_matching(std::move(found), relatives_of(shrunk.shrunk), contract, probe);
  if (found.size() > 1) {  // n - 1 and 1 are one of two columns; a width may also be a bug of its own, so this only chooses
    std::vector<Case> wider = other_widths(shrunk.shrunk).others;
    for (Case& c : wider) c = scaled(c, 1.25);
    const std::vector<Suspect> fewer = also_matching(found, wider, contract, probe);
    if (!fewer.empty()) found = fewer;
  }
  return found.empty() ? std::nullopt : std::optional(found[0]);
}

}  // namespace

Explanation explain(const ShrinkResult& shrunk, const Contract& contract, const Probe& probe) {
  const Judgement& j = shrunk.examination.judgement;
  Explanation e;
  if (shrunk.reproduced) e.needs = needs_of(shrunk, probe);
  std::optional<Suspect> formula, weaker;
  // A NaN at large magnitudes only is no formula's: any that divides by zero would match it.
  const bool range = has(e.needs, "scale") && (j.failure == FailureClass::kNan || j.failure == FailureClass::kInf);
  if (about_numbers(shrunk.examination)) {
    if (!range) formula = matching_formula(shrunk, contract, probe);
    weaker = admitting_contract(shrunk.shrunk, shrunk.examination.outcome, contract);
  }
  if (weaker) e.admitted_by = weaker->text;
  e.bug_family = formula ? formula->family : range ? "range" : weaker ? weaker->family : family_of(shrunk.examination, e.needs);
  e.sentence = fmt::format("{} of {} in {} {}", shrunk.shrunk.op, shape_text(shrunk.shrunk), name_of(shrunk.shrunk.dtype()),
                           what_happened(shrunk.examination, shrunk.shrunk.dtype()));
  if (!e.needs.empty()) e.sentence += fmt::format("; needs {}", fmt::join(e.needs, ", "));
  if (formula)
    e.sentence += "; " + formula->text;
  else if (weaker)
    e.sentence += "; " + weaker->text;
  e.sentence += '.';
  return e;
}

}  // namespace normfuzz
