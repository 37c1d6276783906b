// The bound of a contract around any formula, also one that is no op's: what the explainer holds wrong results against.
#pragma once

#include <functional>
#include <vector>

#include "oracles/bound.h"
#include "oracles/number/ball_arithmetic.h"

namespace normfuzz {

using BallFormula = std::function<std::vector<BallNumber>(const BallArithmetic&)>;

// One bound per number that the formula gives, each cast to `storage`; `n` is the length of the rows that it sums over. The formula is
// asked again with more bits while an enclosure is not finite.
std::vector<ElementBound> formula_bounds(const Contract& contract, DType storage, std::int64_t n, const BallFormula& formula);

}  // namespace normfuzz
