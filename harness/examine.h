// Runs cases on a target and judges what comes back, the laws and theorems that need further runs included. Campaign, shrinker, explainer,
// repro and grade all go through here: one mechanism.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/judge.h"
#include "harness/run/worker.h"
#include "oracles/theorems/property.h"

namespace normfuzz {

// What a target's outcomes of a case are judged by; the default where what it declares makes no contract.
Contract contract_of(const Target& target, const Case& c);

// What one outcome says about one property (oracles/theorems/property.h).
struct PropertyNote {
  std::string_view id;
  bool met = false;         // the premises were, and everything the statement is about was there
  bool broken = false;      // by the target
  bool judged = true;       // false: broken, and the target does not claim it: a line of its grade
  std::string detail = {};  // of a broken one
};

struct Examination {
  Outcome outcome;
  Judgement judgement;
  std::string contradiction;  // of filter and MPFR; never empty in a sound build
  std::vector<PropertyNote> properties;
  bool by_property = false;  // the judgement is about the case's property, not about the case alone
};

struct ExamineOptions {
  bool repeat = false;       // also run every case twice and compare bits (bit.determinism)
  bool containment = false;  // cases with NaN or infinite rows also run with those rows finite; the other rows' bits must not change
  bool audit = false;        // put filter-certified rows to MPFR too
};

// The runs that one case needs: itself first, then what the laws compare it with. Points at the case, which must outlive it.
struct RunPlan {
  const Case* base = nullptr;
  bool repeated = false;               // the same call again, second in line
  const Property* property = nullptr;  // of the case, if its premises are met and a kernel can be asked
  std::vector<Case> derived;           // by the property, next in line
  std::vector<Contract> contracts;     // that the target declares for them: they may be calls of other ops
  std::vector<Case> finite_partner;    // last in line: the case with its non-finite rows replaced; empty or one
  std::vector<const Case*> runs() const;
};
// `target`: whose contracts the derived calls of a property have; null: all have this one.
RunPlan plan_runs(const Case& c, const CaseRows& rows, const Contract& contract, const ExamineOptions& options,
                  const Target* target = nullptr);

// Judges the outcomes of a plan, in the plan's order. `judge` belongs to the plan's case.
Examination judge_runs(CaseJudge& judge, const RunPlan& plan, std::span<Outcome> outcomes, const Contract& contract,
                       const ExamineOptions& options);

// One after another on a worker, each with its own contract from the target's promise.
std::vector<Examination> examine(Worker& worker, const Target& target, std::span<const Case> cases, const ExamineOptions& options);

}  // namespace normfuzz
