// Which targets a command works on, from what the user wrote.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "harness/run/manifest.h"

namespace normfuzz {

// All targets of this build, unavailable ones included.
Result<std::vector<Target>> built_targets();

// Each item is a name ("cpu", "onednn:avx2", "onednn:*", several with commas) or the path of a module that ends in .so or .py, also with
// ":variant". None: every available target in its default variant, but for the mutants, whose bugs are no news. A target that is unknown
// or not available is an error where it was asked for by name.
Result<std::vector<TargetChoice>> choose_from(const std::vector<std::string>& items);

}  // namespace normfuzz
