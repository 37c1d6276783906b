// From one divergence to a finding, in fresh processes of the target: shrink, explain, name.
#pragma once

#include <string>

#include "harness/finding.h"
#include "harness/run/manifest.h"
#include "harness/shrink.h"

namespace normfuzz {

struct ConcludeOptions {
  std::string log_path;  // what the target prints; empty: /dev/null
  double case_seconds = 10;
  std::string version;  // of the target, for the finding
  ShrinkOptions shrink = {};
};

// Premise: the candidate's case has provenance.
Finding conclude_candidate(const Candidate& candidate, const TargetChoice& choice, const ConcludeOptions& options);

}  // namespace normfuzz
