#include "harness/examine.h"

#include <fmt/format.h>

namespace normfuzz {
namespace {

bool finite_row(const Case& c, const RowView& view, std::int64_t row) {
  const Tensor& x = *c.input("x");
  for (std::int64_t i = 0; i < view.cols(); ++i)
    if (const double v = x.value(view.index(row, i)); !(v - v == 0)) return false;
  return true;
}

// The same call with every non-finite element of x replaced by 1; empty if all or no rows are finite.
std::vector<Case> with_finite_rows(const Case& c) {
  const RowView view = find_op(c.op)->rows(c);
  std::int64_t finite = 0;
  for (std::int64_t r = 0; r < view.rows(); ++r) finite += finite_row(c, view, r);
  if (finite == 0 || finite == view.rows()) return {};
  Case replaced = c;
  Tensor& x = *replaced.input("x");
  for (std::int64_t i = 0, n = x.size(); i < n; ++i)
    if (const double v = x.value(i); !(v - v == 0)) x.set_value(i, 1);
  return {std::move(replaced)};
}

// First element whose bits differ between two runs; -1 when there is none. NaN payloads count as equal NaNs.
std::int64_t first_difference(const Outcome& a, const Outcome& b, const auto& skip_row, const RowView& view) {
  if (a.outputs.empty() || b.outputs.empty()) return -1;
  const Tensor &p = a.outputs[0].second, &q = b.outputs[0].second;
  for (std::int64_t r = 0; r < view.rows(); ++r) {
    if (skip_row(r)) continue;
    for (std::int64_t i = 0; i < view.cols(); ++i) {
      const std::int64_t index = view.index(r, i);
      if (p.bits(index) != q.bits(index) && !(is_nan_bits(p.dtype, p.bits(index)) && is_nan_bits(q.dtype, q.bits(index)))) return index;
    }
  }
  return -1;
}

void add_law(Judgement& j, Verdict verdict, std::string_view law, FailureClass failure, std::int64_t index, const Outcome& got, const Outcome& other,
             std::string detail) {
  if (verdict >= j.verdict) return;
  j.verdict = verdict;
  j.law = law;
  j.failure = failure;
  j.detail = std::move(detail);
  ++j.violations;
  j.evidence = {{"y", index, got.outputs[0].second.value(index), other.outputs[0].second.value(index), 0, 0, ElementVerdict::kViolation}};
}

}  // namespace

RunPlan plan_runs(const Case& c, const Contract& contract, const ExamineOptions& options) {
  RunPlan plan;
  plan.cases.push_back(c);
  if (options.repeat && contract.claimed("determinism")) {
    plan.cases.push_back(c);
    plan.repeated = true;
  }
  if (options.containment)
    for (Case& partner : with_finite_rows(c)) {
      plan.contained = static_cast<int>(plan.cases.size());
      plan.cases.push_back(std::move(partner));
    }
  return plan;
}

Examination judge_runs(CaseJudge& judge, const RunPlan& plan, std::span<Outcome> outcomes, const Contract& contract, const ExamineOptions& options) {
  Examination e;
  e.judgement = judge.judge(outcomes[0], contract, options.audit);
  e.contradiction = judge.contradiction();
  const bool ran = outcomes[0].kind == OutcomeKind::kOk;
  const RowView& view = judge.rows().view();
  if (ran && plan.repeated && outcomes[1].kind == OutcomeKind::kOk) {
    const auto at = first_difference(outcomes[0], outcomes[1], [](std::int64_t) { return false; }, view);
    if (at >= 0)
      add_law(e.judgement, Verdict::kBitwise, "bit.determinism", FailureClass::kNondeterministic, at, outcomes[0], outcomes[1],
              fmt::format("the same call gave {:a} and then {:a} at y[{}]", outcomes[0].outputs[0].second.value(at), outcomes[1].outputs[0].second.value(at), at));
  }
  if (ran && plan.contained >= 0 && outcomes[static_cast<std::size_t>(plan.contained)].kind == OutcomeKind::kOk) {
    const Outcome& other = outcomes[static_cast<std::size_t>(plan.contained)];
    const auto at = first_difference(outcomes[0], other, [&](std::int64_t r) { return !finite_row(plan.cases[0], view, r); }, view);
    if (at >= 0)
      add_law(e.judgement, Verdict::kTheorem, "bit.containment", FailureClass::kWrong, at, outcomes[0], other,
              fmt::format("y[{}] is {:a} beside a non-finite row and {:a} beside a finite one", at, outcomes[0].outputs[0].second.value(at), other.outputs[0].second.value(at)));
  }
  e.outcome = std::move(outcomes[0]);
  return e;
}

std::vector<Examination> examine(Worker& worker, const Target& target, std::span<const Case> cases, const ExamineOptions& options) {
  std::vector<RunPlan> plans;
  std::vector<Contract> contracts;
  std::vector<const Case*> runs;
  for (const Case& c : cases) {
    const auto contract = target.contract(c.op, c.dtype());
    contracts.push_back(contract ? *contract : *contract_named("standard", c.dtype()));
    plans.push_back(plan_runs(c, contracts.back(), options));
  }
  for (const RunPlan& plan : plans)
    for (const Case& c : plan.cases) runs.push_back(&c);
  std::vector<Outcome> outcomes = worker.run(runs);
  std::vector<Examination> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    CaseJudge judge(plans[i].cases[0]);
    out.push_back(judge_runs(judge, plans[i], std::span(outcomes).subspan(at, plans[i].cases.size()), contracts[i], options));
    at += plans[i].cases.size();
  }
  return out;
}

}  // namespace normfuzz
