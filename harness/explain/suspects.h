// What the output agrees with, where it does not agree with the formula: another formula, or a weaker contract.
#pragma once

#include <optional>
#include <string>

#include "core/case.h"
#include "harness/run/outcome.h"
#include "oracles/contract.h"

namespace normfuzz {

struct Suspect {
  std::string text;    // "matches the variance over n - 1", "consistent with folded affine"
  std::string family;  // kind of bug, as public reports name it: "statistics", "epsilon", "cancellation", ...
};

// A known wrong formula whose exact value lies within the contract's bound of every element of y.
std::optional<Suspect> matching_formula(const Case& c, const Outcome& outcome, const Contract& contract);

// The first weaker contract that admits y: the one that names what the kernel does beyond its promise. One with finite bounds comes
// before one that permits anything here.
std::optional<Suspect> admitting_contract(const Case& c, const Outcome& outcome, const Contract& contract);

}  // namespace normfuzz
