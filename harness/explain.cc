#include <cmath>

#include <fmt/format.h>

#include "harness/explain/ablation.h"
#include "harness/explain/suspects.h"
#include "harness/shrink/edit.h"

namespace normfuzz {
namespace {

bool has(const std::vector<std::string>& words, std::string_view word) {
  for (const std::string& w : words)
    if (w == word) return true;
  return false;
}

// Where no formula and no contract names the kind of bug, the law and the needs do.
std::string family_of(const Judgement& j, const std::vector<std::string>& needs) {
  if (j.law == "bit.memory") return has(needs, "strides") || has(needs, "offset") || has(needs, "alignment") ? "layout and alignment" : "memory";
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
  if (j.law == "ln.one_feature_forward") return "degenerate shapes";
  return "wrong result";
}

std::string shape_text(const Case& c) {
  const auto [first, rows, cols] = shape_of(c);
  std::string text = cols == 1 ? "one feature" : fmt::format("{} columns", cols);
  if (rows > 1) text += fmt::format(" in {} rows", rows);
  return text;
}

std::string what_happened(const Judgement& j) {
  if (j.verdict == Verdict::kCrashed) return fmt::format("crashes ({})", j.detail);
  if (j.verdict == Verdict::kTimedOut) return "does not return";
  if (j.law == "bit.memory") return fmt::format("breaks memory ({})", j.detail);
  if (j.law == "bit.determinism" || j.law == "bit.containment") return fmt::format("breaks {}: {}", j.law, j.detail);
  if (j.evidence.empty()) return j.detail.empty() ? "returns a wrong result" : j.detail;
  const ElementEvidence& e = j.evidence[0];
  if (j.law == "ln.one_feature_forward") return fmt::format("returns {:.6g} instead of the bias {:.6g}", e.got, e.exact);
  if (j.law == "constant_row") return fmt::format("returns {:.6g} instead of the bias {:.6g} for a constant row", e.got, e.exact);
  return fmt::format("returns {:.9g} where the exact value is {:.9g} and the contract allows an error of {:.3g}", e.got, e.exact, e.allowed);
}

// A formula or contract is sought only where numbers are at fault.
bool about_numbers(const Judgement& j) {
  return j.verdict == Verdict::kContract || j.verdict == Verdict::kRangeLimit || (j.verdict == Verdict::kTheorem && j.law.substr(0, 4) != "bit.");
}

}  // namespace

Explanation explain(const ShrinkResult& shrunk, const Contract& contract, const Probe& probe) {
  const Judgement& j = shrunk.examination.judgement;
  Explanation e;
  if (shrunk.reproduced) e.needs = needs_of(shrunk, probe);
  std::optional<Suspect> formula, weaker;
  if (about_numbers(j)) {
    formula = matching_formula(shrunk.shrunk, shrunk.examination.outcome, contract);
    weaker = admitting_contract(shrunk.shrunk, shrunk.examination.outcome, contract);
  }
  if (weaker) e.admitted_by = weaker->text;
  e.bug_family = formula ? formula->family : weaker ? weaker->family : family_of(j, e.needs);
  e.sentence = fmt::format("{} of {} in {} {}", shrunk.shrunk.op, shape_text(shrunk.shrunk), name_of(shrunk.shrunk.dtype()), what_happened(j));
  if (!e.needs.empty()) e.sentence += fmt::format("; needs {}", fmt::join(e.needs, ", "));
  if (formula) e.sentence += "; " + formula->text;
  else if (weaker) e.sentence += "; " + weaker->text;
  e.sentence += '.';
  return e;
}

}  // namespace normfuzz
