#include "cli/element_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/table.h"

namespace normfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How bad an element is: its class first, its error over its bound second.
std::pair<int, double> badness(const ElementEvidence& e) {
  constexpr int kClass[] = {0, 3, 1, 2};  // within, violation, limit, undecided
  const double error = std::fabs(e.got - e.exact);
  const double ratio = std::isnan(error) ? (std::isnan(e.got) && std::isnan(e.exact) ? 0 : kInfinity) : error == 0 ? 0 : error / e.allowed;
  return {kClass[static_cast<int>(e.verdict)], std::isnan(ratio) ? kInfinity : ratio};
}

// The shortest decimal that tells a number of the format from its neighbours.
std::string number_of(DType d, double v) {
  if (std::isnan(v)) return "nan";  // whatever its sign
  return d == DType::kF64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
}

// Three digits more than the format holds.
std::string exact_of(DType d, double v) { return fmt::format("{:.{}g}", v + 0.0, d == DType::kF64 ? 17 : d == DType::kF32 ? 12 : 8); }

std::string verdict_of(ElementVerdict v) {
  constexpr const char* kNames[] = {"", "beyond the bound", "no bound", "undecided"};
  return kNames[static_cast<int>(v)];
}

}  // namespace

std::vector<ElementEvidence> listed_elements(CaseJudge& judge, const Outcome& outcome, const Judgement& judgement,
                                             const Contract& contract) {
  const bool about_runs = judgement.law == "bit.determinism" || judgement.law == "bit.containment";
  if (about_runs || judgement.elements > kMostListedElements) return judgement.evidence;
  return judge.all_elements(outcome, contract);
}

DType widest_output(const Outcome& outcome) {
  DType widest = outcome.outputs.empty() ? DType::kF64 : outcome.outputs[0].second.dtype;
  for (const auto& [name, t] : outcome.outputs)
    if (format_of(t.dtype).precision > format_of(widest).precision) widest = t.dtype;
  return widest;
}

std::string element_table(const std::vector<ElementEvidence>& elements, DType storage, std::size_t limit) {
  std::vector<std::size_t> order(elements.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return badness(elements[a]) > badness(elements[b]); });
  order.resize(std::min(limit, order.size()));
  std::vector<std::vector<std::string>> rows = {{"element", "got", "exact", "allowed error", "ulps", ""}};
  for (const std::size_t i : order) {
    const ElementEvidence& e = elements[i];
    rows.push_back({fmt::format("{}[{}]", e.output, e.index), number_of(storage, e.got), exact_of(storage, e.exact),
                    fmt::format("{:.3g}", e.allowed), fmt::format("{:.3g}", e.ulps), verdict_of(e.verdict)});
  }
  std::string out = elements.empty() ? "" : table(rows, {1, 2, 3, 4});
  if (order.size() < elements.size()) out += fmt::format("... {} more, none worse (--rows N shows N)\n", elements.size() - order.size());
  return out;
}

std::string verdict_line(const Judgement& j, const std::string& contract) {
  std::string line(name_of(j.verdict));
  if (j.verdict == Verdict::kCertified || j.verdict == Verdict::kUndecided)
    line += " under the contract " + contract;
  else if (!j.law.empty())
    line += ", " + j.law;
  if (is_violation(j.verdict) && j.violations > 0) line += fmt::format(", {} of {} elements", j.violations, j.elements);
  if (j.worst_ratio > 0) line += fmt::format("; largest error within a bound: {:.3g} of it, {:.3g} ulps", j.worst_ratio, j.worst_ulps);
  if (j.unbounded > 0) line += fmt::format("; {} elements without a bound", j.unbounded);
  if (!j.detail.empty()) line += ": " + j.detail;
  return line;
}

}  // namespace normfuzz
