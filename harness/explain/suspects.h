// What the output agrees with, where it does not agree with the formula: another formula, or a weaker contract.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/case.h"
#include "harness/run/outcome.h"
#include "oracles/contract.h"

namespace normfuzz {

struct Suspect {
  std::string text;    // "matches the variance over n - 1", "consistent with folded affine"
  std::string family;  // kind of bug, as public reports name it: "statistics", "epsilon", "cancellation", ...
  bool operator==(const Suspect&) const = default;
};

// The known wrong formulas whose exact value lies within the contract's bound of every element of the outputs that are wrong, likeliest
// first.
std::vector<Suspect> matching_formulas(const Case& c, const Outcome& outcome, const Contract& contract);

// The first weaker contract that admits y: the one that names what the kernel does beyond its promise. One with finite bounds comes
// before one that permits anything here.
std::optional<Suspect> admitting_contract(const Case& c, const Outcome& outcome, const Contract& contract);

}  // namespace normfuzz
