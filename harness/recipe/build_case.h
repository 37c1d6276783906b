// From a recipe to the case it names.
#pragma once

#include "core/case.h"
#include "harness/recipe/family.h"
#include "harness/recipe/recipe.h"

namespace normfuzz::fuzzing {

inline constexpr std::int64_t kMaxElements = 4096;      // of a case of an op that the filter certifies
inline constexpr std::int64_t kMaxSlowElements = 1024;  // of one of an op whose every element costs an enclosure

// A valid case (oracles/ops: validate), whatever the recipe. Its provenance has the regime; with a property family also its property, where
// arguments can be drawn. A pure function, the same on every machine.
Case build_case(const Family& family, const Recipe& recipe);

// The property that the recipe asks for; null in an op family.
const Property* property_of(const Family& family, const Recipe& recipe);

}  // namespace normfuzz::fuzzing
