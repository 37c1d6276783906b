// What a failure needs: each feature of the shrunk case is taken away by itself, and the case is asked again.
#pragma once

#include <string>
#include <vector>

#include "harness/shrink.h"

namespace normfuzz {

// The case without one feature, in a few ways; the feature is needed if the failure is gone in all of them.
struct Ablation {
  std::string need;  // "bias", "mean offset", ...
  std::vector<Case> without;
};
// For every feature that the case has. The same need may stand twice: one of the two is enough.
std::vector<Ablation> ablations(const Case& c);

// Wider relatives of a row: its columns repeated. Equal remainders modulo 16 tell a width's tail from a width.
struct Widths {
  std::vector<Case> others, next_multiples, same_remainder;
};
Widths other_widths(const Case& c);

// Sorted names of what the failure needs.
std::vector<std::string> needs_of(const ShrinkResult& shrunk, const Probe& probe);

}  // namespace normfuzz
