// A case from arrays on the command line: --op, the inputs by name, --epsilon, --param.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "core/case.h"

namespace normfuzz {

struct CaseInput {
  std::string op, x, weight, bias, dy, a, b, epsilon, dtype;
  std::vector<std::string> params;
};

// Declares all options but --x and --a, which `check` takes as options and `repro` as its PATH.
void declare_case_input(OptionSet& options, CaseInput& input);

// True if any array is given by its option.
bool any_array(const CaseInput& input);

// Reads the .npy files and checks the case. A decimal epsilon is rounded to the nearest float32, as a case stores it. Errors name the
// option.
Result<Case> case_from(const CaseInput& input);

// One array; `dtype` as --dtype: needed for bf16, which NumPy has no name for.
Result<Tensor> array_from(const std::string& option, const std::string& path, const std::string& dtype);

}  // namespace normfuzz
