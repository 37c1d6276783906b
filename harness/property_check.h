// Puts properties to many small cases: on the oracle, on integers, on targets. What `normfuzz theorems --check` runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/manifest.h"
#include "harness/tally.h"

namespace normfuzz {

struct PropertyCheckOptions {
  std::vector<const Property*> properties;  // empty: all
  std::vector<TargetChoice> targets;
  std::int64_t checks = 1000;  // per property and target: cases with the premises met
  std::uint64_t seed = 1;
  std::int64_t max_elements = 32;  // of the first input
  int jobs = 1;
  std::string log_path;
  std::function<void(const std::string& id)> progress;  // one thread at a time
  const std::atomic<bool>* stop = nullptr;
};

struct PropertyCheckRow {
  std::string id, target;  // target "oracle": on enclosures or integers
  PropertyTally tally;
  std::string detail;           // of the first violation
  std::optional<Case> example;  // it
};

// One row per property and target that it was put to, in the order of the list. Deterministic but for which of several violations is
// first when jobs > 1.
std::vector<PropertyCheckRow> check_properties(const PropertyCheckOptions& options);

}  // namespace normfuzz
