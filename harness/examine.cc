#include "harness/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/examine_property.h"

namespace normfuzz {
namespace {

// The same call with every non-finite element of its rows replaced by 1; empty if all or no rows are finite, or if every output sums over
// all rows.
std::vector<Case> with_finite_rows(const Case& c, const CaseRows& rows) {
  std::int64_t finite = 0;
  for (std::int64_t r = 0; r < rows.rows(); ++r) finite += rows.finite(r);
  if (finite == 0 || finite == rows.rows() || rows.info().shape == OutputShape::kUpdate) return {};
  Case replaced = c;
  for (const char* name : {"x", "dy", "a", "b", "residual", "q", "k"}) {
    Tensor* t = replaced.input(name);
    for (std::int64_t i = 0, n = t ? t->size() : 0; i < n; ++i)
      if (const double v = t->value(i); !(v - v == 0)) t->set_value(i, 1);
  }
  return {std::move(replaced)};
}

// First element of any output whose bits differ between two runs.
std::optional<OutputElement> first_difference(const Outcome& a, const Outcome& b) {
  for (std::size_t k = 0; k < a.outputs.size() && k < b.outputs.size(); ++k) {
    const Tensor &p = a.outputs[k].second, &q = b.outputs[k].second;
    for (std::int64_t i = 0, n = std::min(p.size(), q.size()); i < n; ++i)
      if (!same_bits(p, i, q, i)) return OutputElement{static_cast<int>(k), i};
  }
  return std::nullopt;
}

// The same over what the finite rows give: an element of a sum over all rows belongs to no row.
std::optional<OutputElement> first_difference_of_rows(const Outcome& a, const Outcome& b, const CaseRows& rows) {
  if (a.outputs.size() != b.outputs.size()) return std::nullopt;
  for (std::size_t k = 0; k < a.outputs.size(); ++k)
    if (a.outputs[k].second.size() != b.outputs[k].second.size()) return std::nullopt;
  for (std::int64_t s = 0; s < rows.slices(); ++s) {
    if (rows.is_sums(s) || !rows.finite(s)) continue;
    for (std::int64_t i = 0; i < rows.slice_size(s); ++i) {
      const OutputElement e = rows.element(s, i);
      const auto output = static_cast<std::size_t>(e.output);
      if (!same_bits(a.outputs[output].second, e.index, b.outputs[output].second, e.index)) return e;
    }
  }
  return std::nullopt;
}

// "y[3]" and what two runs gave there, into `format`.
void add_law(Judgement& j, Verdict verdict, std::string_view law, FailureClass failure, const OutputElement& at, const Outcome& got,
             const Outcome& other, std::string_view format) {
  if (verdict >= j.verdict) return;
  const auto& [name, tensor] = got.outputs[static_cast<std::size_t>(at.output)];
  const auto unsigned_nan = [](double v) { return std::isnan(v) ? std::fabs(v) : v; };
  const double value = tensor.value(at.index), other_value = other.outputs[static_cast<std::size_t>(at.output)].second.value(at.index);
  j.verdict = verdict;
  j.law = law;
  j.failure = failure;
  j.detail = fmt::format(fmt::runtime(format), fmt::format("{}[{}]", name, at.index), unsigned_nan(value), unsigned_nan(other_value));
  ++j.violations;
  j.evidence = {{name, at.index, value, other_value, 0, 0, ElementVerdict::kViolation}};
}

}  // namespace

std::vector<const Case*> RunPlan::runs() const {
  std::vector<const Case*> all = {base};
  if (repeated) all.push_back(base);
  for (const Case& c : derived) all.push_back(&c);
  for (const Case& c : finite_partner) all.push_back(&c);
  return all;
}

RunPlan plan_runs(const Case& c, const CaseRows& rows, const Contract& contract, const ExamineOptions& options, const Target* target) {
  RunPlan plan;
  plan.base = &c;
  plan.repeated = options.repeat && contract.claimed("determinism");
  if (c.property) {
    const Property* p = find_property(c.property->id);
    const bool asked = p && p->needs_kernel() && p->applies_to(c.op) && (!p->only_claimed || contract.claimed(std::string(p->claim)));
    if (asked && p->meets(c, c.property->args)) {
      plan.property = p;
      if (p->derive) plan.derived = p->derive(c, c.property->args);
      for (const Case& d : plan.derived) {
        const auto declared = target ? target->contract(d.op, d.dtype()) : Result<Contract>(contract);
        plan.contracts.push_back(declared ? *declared : contract);
      }
    }
  }
  if (options.containment) plan.finite_partner = with_finite_rows(c, rows);
  return plan;
}

Examination judge_runs(CaseJudge& judge, const RunPlan& plan, std::span<Outcome> outcomes, const Contract& contract,
                       const ExamineOptions& options) {
  Examination e;
  e.judgement = judge.judge(outcomes[0], contract, options.audit);
  e.contradiction = judge.contradiction();
  const bool ran = outcomes[0].kind == OutcomeKind::kOk;
  if (ran && plan.repeated && outcomes[1].kind == OutcomeKind::kOk)
    if (const auto at = first_difference(outcomes[0], outcomes[1]))
      add_law(e.judgement, Verdict::kBitwise, "bit.determinism", FailureClass::kNondeterministic, *at, outcomes[0], outcomes[1],
              "the same call gave {1:a} and then {2:a} at {0}");
  if (ran && !plan.finite_partner.empty() && outcomes.back().kind == OutcomeKind::kOk)
    if (const auto at = first_difference_of_rows(outcomes[0], outcomes.back(), judge.rows()))
      add_law(e.judgement, Verdict::kTheorem, "bit.containment", FailureClass::kWrong, *at, outcomes[0], outcomes.back(),
              "{0} is {1:a} beside a non-finite row and {2:a} beside a finite one");
  if (plan.property) judge_property(plan, outcomes[0], outcomes.subspan(plan.repeated ? 2 : 1, plan.derived.size()), contract, e);
  note_standing_laws(plan, outcomes[0], e);
  e.outcome = std::move(outcomes[0]);
  return e;
}

Contract contract_of(const Target& target, const Case& c) {
  const auto contract = target.contract(c.op, c.dtype());
  return contract ? *contract : *contract_named("standard", c.dtype());
}

std::vector<Examination> examine(Worker& worker, const Target& target, std::span<const Case> cases, const ExamineOptions& options) {
  std::vector<std::unique_ptr<CaseJudge>> judges;
  std::vector<RunPlan> plans;
  std::vector<Contract> contracts;
  std::vector<const Case*> runs;
  for (const Case& c : cases) {
    judges.push_back(std::make_unique<CaseJudge>(c));
    contracts.push_back(contract_of(target, c));
    plans.push_back(plan_runs(c, judges.back()->rows(), contracts.back(), options, &target));
    for (const Case* run : plans.back().runs()) runs.push_back(run);
  }
  std::vector<Outcome> outcomes = worker.run(runs);
  std::vector<Examination> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::size_t count = plans[i].runs().size();
    out.push_back(judge_runs(*judges[i], plans[i], std::span(outcomes).subspan(at, count), contracts[i], options));
    at += count;
  }
  return out;
}

}  // namespace normfuzz
