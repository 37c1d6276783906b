#include "harness/examine.h"

#include <fmt/format.h>

namespace normfuzz {
namespace {

// The same call with every non-finite element of x replaced by 1; empty if all or no rows are finite.
std::vector<Case> with_finite_rows(const Case& c, const CaseRows& rows) {
  std::int64_t finite = 0;
  for (std::int64_t r = 0; r < rows.rows(); ++r) finite += rows.finite(r);
  if (finite == 0 || finite == rows.rows()) return {};
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

void add_law(Judgement& j, Verdict verdict, std::string_view law, FailureClass failure, std::int64_t index, const Outcome& got,
             const Outcome& other, std::string detail) {
  if (verdict >= j.verdict) return;
  j.verdict = verdict;
  j.law = law;
  j.failure = failure;
  j.detail = std::move(detail);
  ++j.violations;
  j.evidence = {{"y", index, got.outputs[0].second.value(index), other.outputs[0].second.value(index), 0, 0, ElementVerdict::kViolation}};
}

}  // namespace

std::vector<const Case*> RunPlan::runs() const {
  std::vector<const Case*> all = {base};
  if (repeated) all.push_back(base);
  for (const Case& c : finite_partner) all.push_back(&c);
  return all;
}

RunPlan plan_runs(const Case& c, const CaseRows& rows, const Contract& contract, const ExamineOptions& options) {
  RunPlan plan;
  plan.base = &c;
  plan.repeated = options.repeat && contract.claimed("determinism");
  if (options.containment) plan.finite_partner = with_finite_rows(c, rows);
  return plan;
}

Examination judge_runs(CaseJudge& judge, const RunPlan& plan, std::span<Outcome> outcomes, const Contract& contract,
                       const ExamineOptions& options) {
  Examination e;
  e.judgement = judge.judge(outcomes[0], contract, options.audit);
  e.contradiction = judge.contradiction();
  const bool ran = outcomes[0].kind == OutcomeKind::kOk;
  const RowView& view = judge.rows().view();
  if (ran && plan.repeated && outcomes[1].kind == OutcomeKind::kOk) {
    const auto at = first_difference(
        outcomes[0], outcomes[1], [](std::int64_t) { return false; }, view);
    if (at >= 0)
      add_law(e.judgement, Verdict::kBitwise, "bit.determinism", FailureClass::kNondeterministic, at, outcomes[0], outcomes[1],
              fmt::format("the same call gave {:a} and then {:a} at y[{}]", outcomes[0].outputs[0].second.value(at),
                          outcomes[1].outputs[0].second.value(at), at));
  }
  if (ran && !plan.finite_partner.empty() && outcomes.back().kind == OutcomeKind::kOk) {
    const Outcome& other = outcomes.back();
    const auto at = first_difference(
        outcomes[0], other, [&](std::int64_t r) { return !judge.rows().finite(r); }, view);
    if (at >= 0)
      add_law(e.judgement, Verdict::kTheorem, "bit.containment", FailureClass::kWrong, at, outcomes[0], other,
              fmt::format("y[{}] is {:a} beside a non-finite row and {:a} beside a finite one", at, outcomes[0].outputs[0].second.value(at),
                          other.outputs[0].second.value(at)));
  }
  e.outcome = std::move(outcomes[0]);
  return e;
}

std::vector<Examination> examine(Worker& worker, const Target& target, std::span<const Case> cases, const ExamineOptions& options) {
  std::vector<std::unique_ptr<CaseJudge>> judges;
  std::vector<RunPlan> plans;
  std::vector<Contract> contracts;
  std::vector<const Case*> runs;
  for (const Case& c : cases) {
    judges.push_back(std::make_unique<CaseJudge>(c));
    const auto contract = target.contract(c.op, c.dtype());
    contracts.push_back(contract ? *contract : *contract_named("standard", c.dtype()));
    plans.push_back(plan_runs(c, judges.back()->rows(), contracts.back(), options));
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
