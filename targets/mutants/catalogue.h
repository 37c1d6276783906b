// All mutants and controls of the target, of whatever kind, as one list.
#pragma once

#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace normfuzz {

struct MutantEntry {
  std::string_view name, family, bug, references;  // family is empty: a correct control
  std::vector<std::string_view> ops;               // that it changes; empty: every one
  std::vector<DType> dtypes;                       // likewise
  bool rare = false;                               // planted: random cases hardly ever show it
};
std::vector<MutantEntry> mutant_catalogue();

}  // namespace normfuzz
