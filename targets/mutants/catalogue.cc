#include "targets/mutants/catalogue.h"

#include "targets/mutants/call_mutant.h"
#include "targets/mutants/op_mutant.h"

namespace normfuzz {

std::vector<MutantEntry> mutant_catalogue() {
  std::vector<MutantEntry> all;
  for (const Mutant& m : all_mutants())
    all.push_back({m.name, m.family, m.bug, m.references, m.control() ? std::vector<std::string_view>{} : m.ops, m.dtypes});
  for (const OpMutant& m : op_mutants()) all.push_back({m.name, m.family, m.bug, m.references, m.ops, m.dtypes});
  for (const CallMutant& m : call_mutants()) all.push_back({m.name, m.family, m.bug, m.references, m.ops, {}, m.rare});
  return all;
}

}  // namespace normfuzz
