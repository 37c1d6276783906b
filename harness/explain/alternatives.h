// Wrong formulas, each with the bounds that the contract puts around its exact value. suspects.cc asks which of them an output agrees with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "oracles/bound.h"

namespace normfuzz {

// The bound of one element of an output under the wrong formula; empty: the formula says nothing about it.
using AlternativeBounds = std::function<std::optional<ElementBound>(std::string_view output, std::int64_t index)>;

struct Alternative {
  std::string name;    // "the variance over n - 1"
  std::string family;  // "statistics"
  AlternativeBounds bounds;
};

// Premise of all: every row and parameter is finite; the case outlives what is returned.
// Rows of the normalizing ops and of their dx formed by other elements: the whole map, another axis, the other layout.
std::vector<Alternative> other_rows(const Case& c, const Contract& contract);
// The same op with other arguments: another p, epsilon or mode, the weight or all rows but one left out.
std::vector<Alternative> other_arguments(const Case& c, const Contract& contract);
// Formulas that are no op's: terms and roots left out.
std::vector<Alternative> other_formulas(const Case& c, const Contract& contract);

}  // namespace normfuzz
