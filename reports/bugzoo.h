// A finding as a BugZoo entry: a directory that a person reads and a machine re-runs (DESIGN.md, 'BugZoo entry').
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "harness/finding.h"
#include "harness/run/manifest.h"

namespace normfuzz {

// Writes <directory>/<slug>/ with README.md, case.json, a stand-alone program (repro.py, repro.cc; repro.sh where only normfuzz can run the
// target), contract.lean and status.json: complete or not at all; an entry of that name is replaced. Templates of programs and manifests
// come from `targets_directory` (build/targets); the first form takes the one beside the running program. `chosen`: of the run, among them
// targets given by path, which have no folder there.
Status write_entry(const Finding& finding, const std::string& directory, const std::vector<TargetChoice>& chosen = {});
Status write_entry(const Finding& finding, const std::string& directory, const std::string& targets_directory,
                   const std::vector<TargetChoice>& chosen = {});

}  // namespace normfuzz
