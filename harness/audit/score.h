// Puts one kernel to somebody's test policy, and to normfuzz: which case, if any, gives it away. Kernels run in workers, like those of
// every other command.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/audit/policy.h"
#include "harness/run/worker.h"

namespace normfuzz {

// What a kernel is asked for; none: everything there is.
struct AuditScope {
  std::vector<std::string_view> ops;
  std::vector<DType> dtypes;
};

struct AuditResult {
  std::int64_t cases = 0;      // that ran; up to the one that gave it away
  std::int64_t killed_at = 0;  // the number of that case, from 1; 0: it survived
  double seconds = 0;
  std::string how;  // what was seen there: "layer_norm f32: y: 3 of 64 elements"
  bool tested() const { return cases > 0; }
  bool killed(std::int64_t within) const { return killed_at > 0 && killed_at <= within; }
};

struct AuditBudget {
  std::uint64_t seed = 1;
  std::int64_t cases = 100;  // per kernel, dealt out over its ops and dtypes in turn
  double seconds = 0;        // of normfuzz's own tests: goes on beyond `cases` until then
  const std::atomic<bool>* stop = nullptr;
};

// `reference` runs the correct kernel in the policy's reference type, `control` one in the kernel's own way: a case on which that fails too
// gives nobody away. Null: `kernel` is a control itself. A pair of op and dtype for which the policy has no tolerance is left out.
AuditResult put_to_policy(const TestPolicy& policy, const AuditScope& scope, Worker& kernel, Worker& reference, Worker* control,
                          const AuditBudget& budget);

// As a campaign does: generated cases, judged by the target's contract, twice for determinism, every fourth with a property.
AuditResult put_to_normfuzz(const AuditScope& scope, Worker& kernel, const Target& target, const AuditBudget& budget);

}  // namespace normfuzz
