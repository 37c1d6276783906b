// The attack on our own bounds: hill climbing over error / bound, for every op, dtype and contract, over rows and over the kernels that the
// contract allows (ERROR_MODEL.md, 'What must be shown'). A ratio above 1 means that a bound is unsound.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/case.h"
#include "oracles/contract.h"
#include "oracles/ops/op.h"

namespace normfuzz {

struct SelfcheckProgress {
  double seconds = 0;
  std::int64_t evaluations = 0;
  double worst_ratio = 0;
  std::string worst_row;  // "layer_norm f32 standard"
};

struct SelfcheckOptions {
  double seconds = 60;      // budget, where `climbs` is 0
  std::int64_t climbs = 0;  // per row of the result; the same climbs give the same result, whatever the number of jobs
  int steps = 300;          // changes tried in one climb
  std::uint64_t seed = 1;
  int jobs = 1;
  std::vector<std::string> ops, dtypes, contracts;  // only these; empty: all
  double bound_scale = 1;  // every bound is multiplied by it: 0.5 shows that the search finds a bound that is half too small
  std::function<void(const SelfcheckProgress&)> progress;  // after each climb, from one thread at a time
  const std::atomic<bool>* stop = nullptr;                 // set: return what has been found
};

struct SelfcheckRow {
  std::string op;
  DType dtype = DType::kF32;
  std::string contract;    // a rung of the ladder, or one with its modifiers: "two_pass, affine=folded"
  double worst_ratio = 0;  // largest error / bound; above 1 only if the enclosure proves it
  Case worst_case;         // one row; its note describes the kernel
  std::int64_t worst_element = 0;
  std::string kernel;
  double tightness = 0;  // the same over rows of 8 columns and more in the normal range without bias: how tight the bound is
  std::int64_t evaluations = 0, elements = 0, finite = 0;  // elements seen, and those with a finite bound
};

// A contract under attack, with the name that it has in the result.
struct AttackedContract {
  std::string name;
  Contract contract;
};
// The formula of another op through another view of the rows: its chains are attacked there.
bool another_view(const OpInfo& op);
// The ladder; then each moments algorithm alone and each modifier.
std::vector<AttackedContract> attacked_contracts(std::string_view op, DType storage);

// One row per op, dtype and contract, in that order.
std::vector<SelfcheckRow> selfcheck(const SelfcheckOptions& options);

}  // namespace normfuzz
