// One climb: from the best of a few random rows uphill in error / bound, over rows and over the kernels that a contract allows.
#pragma once

#include <cstdint>
#include <string>

#include "harness/attack/row_candidate.h"
#include "harness/generate/stream.h"
#include "oracles/contract.h"
#include "oracles/kernels/kernel_options.h"

namespace normfuzz {

// The worst element of a row that one kernel computed.
struct AttackScore {
  double ratio = -1;  // error / bound; -1: no element has a finite bound
  std::int64_t element = 0;
  std::int64_t elements = 0, finite = 0;
};

// `faithful` has no kernels: there the neighbour of the exact value that is farther away stands for the worst of them, or the nearer one
// where the other is within 2^-49 of a whole ulp (the contract asks for less than one, and its bound leaves 2^-50 of it out).
AttackScore attack_score(const RowCandidate& row, const KernelOptions& kernel, const Contract& contract, double bound_scale);

struct ClimbResult {
  RowCandidate row;
  KernelOptions kernel;
  AttackScore score;
  std::int64_t evaluations = 0, elements = 0, finite = 0;
};

struct ClimbSetting {
  Arena arena;
  std::string op;
  DType storage;
  Contract contract;
  double bound_scale = 1;  // multiplies every bound
  int steps = 300;         // changes tried
};
ClimbResult climb(Stream stream, const ClimbSetting& setting);

// The kernel's description, "correctly rounded or its other neighbour" under `faithful`.
std::string describe_attack(const KernelOptions& kernel, const Contract& contract);

}  // namespace normfuzz
