#include "harness/examine_property.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace normfuzz {
namespace {

// Every output of the op, of the size it should have: what a check may read without looking.
bool complete(const Case& c, const Outcome& o) {
  if (o.kind != OutcomeKind::kOk) return false;
  for (const auto& [name, layout] : find_op(c.op)->output_layouts(c)) {
    bool found = false;
    for (const auto& [given, t] : o.outputs) found = found || (given == name && t.size() == layout.size() && t.dtype == layout.dtype);
    if (!found) return false;
  }
  return true;
}

FailureClass class_of(const PropertyResult& r) {
  if (r.discrepancies.empty()) return FailureClass::kWrong;
  const double got = r.discrepancies[0].got;
  return std::isnan(got) ? FailureClass::kNan : std::isinf(got) ? FailureClass::kInf : FailureClass::kWrong;
}

// `which` of the derived runs, as a person counts them: the base is run 1.
void judge_derived_outcome(const Property& p, const Case& c, const Outcome& o, std::size_t which, Examination& e) {
  const bool process = o.kind == OutcomeKind::kCrashed || o.kind == OutcomeKind::kTimedOut;
  if ((!process && o.memory.clean()) || is_violation(e.judgement.verdict)) return;
  Judgement j = CaseJudge(c).judge(o, *contract_named("standard", c.dtype()));
  if (!process && j.failure != FailureClass::kMemory) return;
  j.detail = fmt::format("run {} of {}: {}", which + 2, p.id, j.detail);
  j.evidence.clear();
  e.judgement = std::move(j);
  e.by_property = true;
}

void raise(const Property& p, PropertyResult result, Examination& e) {
  Judgement& j = e.judgement;
  if (is_violation(j.verdict)) return;
  j.verdict = result.kind == PropertyKind::kBound ? Verdict::kContract : p.claim.empty() ? Verdict::kTheorem : Verdict::kBitwise;
  j.law = p.id;
  j.failure = class_of(result);
  j.detail = result.detail;
  j.violations = result.broken;
  j.evidence.clear();
  for (Discrepancy& d : result.discrepancies)
    j.evidence.push_back({std::move(d.output), d.index, d.got, d.expected, d.allowed, d.ulps, ElementVerdict::kViolation});
  e.by_property = true;
}

}  // namespace

void judge_property(const RunPlan& plan, const Outcome& base, std::span<const Outcome> derived, const Contract& contract, Examination& e) {
  if (base.kind != OutcomeKind::kOk) return;
  const Property& p = *plan.property;
  PropertyNote note{p.id};
  bool whole = complete(*plan.base, base);
  for (std::size_t i = 0; i < derived.size(); ++i) {
    judge_derived_outcome(p, plan.derived[i], derived[i], i, e);
    whole = whole && complete(plan.derived[i], derived[i]);
  }
  if (whole) {
    std::vector<std::unique_ptr<CaseBounds>> bounds;
    std::vector<PropertyRun> runs;
    const auto add = [&](const Case& c, const Outcome& o, const Contract& declared) {
      bounds.push_back(std::make_unique<CaseBounds>(c, declared));
      runs.push_back({&c, &o.outputs, &declared, bounds.back().get()});
    };
    add(*plan.base, base, contract);
    for (std::size_t i = 0; i < derived.size(); ++i) add(plan.derived[i], derived[i], plan.contracts[i]);
    PropertyResult result = p.check(runs, plan.base->property->args);
    note.met = result.state != PropertyResult::State::kVoid;
    note.broken = result.state == PropertyResult::State::kBroken;
    note.detail = result.detail;
    note.judged = p.claim.empty() || result.kind == PropertyKind::kBound || contract.claimed(std::string(p.claim));
    if (note.broken && note.judged) raise(p, std::move(result), e);
  }
  e.properties.push_back(std::move(note));
}

void note_standing_laws(const RunPlan& plan, const Outcome& base, Examination& e) {
  if (base.kind != OutcomeKind::kOk) return;
  const auto note = [&](std::string_view id, bool met) {
    const Property& p = *find_property(id);
    if (!p.applies_to(plan.base->op)) return;
    const bool broken = met && !e.by_property && std::string_view(e.judgement.law).substr(0, id.size()) == id;
    e.properties.push_back({id, met, broken, true, broken ? e.judgement.detail : ""});
  };
  for (const char* id : {"ln.one_feature_forward", "ln.one_feature_dx", "ln.one_feature_dweight"})
    if (const Property& p = *find_property(id); p.applies_to(plan.base->op)) note(id, p.meets(*plan.base, {}));
  note("bit.memory", true);
  if (plan.repeated) note("bit.determinism", true);
  note("bit.containment", !plan.finite_partner.empty());
}

}  // namespace normfuzz
