// The property of a case put to its runs, and what every outcome says about the laws that are always asked. Of examine.cc.
#pragma once

#include "harness/examine.h"

namespace normfuzz {

// `outcomes`: the base's, then those of plan.derived. Raises the judgement where the base's own is no violation.
void judge_property(const RunPlan& plan, const Outcome& base, std::span<const Outcome> derived, const Contract& contract, Examination& e);

// ln.one_feature_forward, bit.memory, bit.determinism, bit.containment: decided by the judge and by examine.cc, counted here. Call last.
void note_standing_laws(const RunPlan& plan, const Outcome& base, Examination& e);

}  // namespace normfuzz
