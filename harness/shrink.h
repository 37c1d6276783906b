// The simplest case that still shows the same failure: fewer rows and columns, simpler values, parameters and layout.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/finding.h"

namespace normfuzz {

// Runs and judges candidate cases; index by index, one examination each. Tests replace it by a function.
using Probe = std::function<std::vector<Examination>(std::span<const Case>)>;

struct ShrinkOptions {
  int max_probes = 4000;     // cases run
  double max_seconds = 120;  // a limit for hangs; results do not depend on it in ordinary cases, which take seconds
};

struct ShrinkResult {
  Case shrunk;
  Examination examination;  // of `shrunk`
  int probes = 0;
  bool reproduced = false;  // false: the original did not show the failure again
};

// Keeps verdict kind, law and failure class of the original's judgement.
ShrinkResult shrink(const Case& original, Verdict verdict, const std::string& law, FailureClass failure, const Probe& probe,
                    const ShrinkOptions& options);

// What the failure needs, found by ablation on the shrunk case, and the weakest contract that would admit the output.
struct Explanation {
  std::vector<std::string> needs;  // sorted
  std::string sentence;
  std::string admitted_by;
  std::string bug_family;
};
Explanation explain(const ShrinkResult& shrunk, const Contract& contract, const Probe& probe);

}  // namespace normfuzz
