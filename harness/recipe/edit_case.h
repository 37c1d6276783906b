// The recipe's changes to a case that has been drawn. Of build_case.cc.
#pragma once

#include "core/case.h"
#include "harness/recipe/recipe.h"

namespace normfuzz::fuzzing {

void apply_edits(Case& c, const Recipe& recipe);

// The epsilon that the recipe asks for, of ops and modes that have one.
void apply_epsilon(Case& c, const Recipe& recipe);

// Without weight or bias where the recipe says so and the op can do without.
void drop_parameters(Case& c, const Recipe& recipe);

}  // namespace normfuzz::fuzzing
