// A case from arrays on the command line: --op, --x, --weight, --bias, --epsilon, --param.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "core/case.h"

namespace normfuzz {

struct CaseInput {
  std::string op, x, weight, bias, epsilon, dtype;
  std::vector<std::string> params;
};

// Declares all options but --x, which `check` takes as an option and `repro` as its PATH.
void declare_case_input(OptionSet& options, CaseInput& input);

// Reads the .npy files and checks the case. A decimal epsilon is rounded to the nearest float32, as a case stores it. Errors name the
// option.
Result<Case> case_from(const CaseInput& input);

// One array; `dtype` as --dtype: needed for bf16, which NumPy has no name for.
Result<Tensor> array_from(const std::string& option, const std::string& path, const std::string& dtype);

}  // namespace normfuzz
