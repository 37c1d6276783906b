// A fresh process that runs cases of one target: native modules in normfuzz-worker, Python ones in the Python host, one protocol for both.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/case.h"
#include "core/result.h"
#include "harness/run/manifest.h"
#include "harness/run/outcome.h"

namespace normfuzz {

struct WorkerLimits {
  double seconds_per_case = 10;
  double seconds_to_start = 180;                        // loading a framework
  std::uint64_t memory_bytes = std::uint64_t{8} << 30;  // private memory (RLIMIT_DATA); the shared arena does not count
  std::string log_path;                                 // what the target prints; empty: /dev/null
};

class Worker {
 public:
  virtual ~Worker() = default;
  // Starts no process yet; the first submit does. A case that asks for threads (Case::threads) runs in a process of its own kind, which has
  // NORMFUZZ_THREADS and the usual variables set to that number; all others have 1.
  static std::unique_ptr<Worker> create(const TargetChoice& target, const WorkerLimits& limits);

  // Version text of the framework, asked in the worker process; starts it when needed.
  virtual Result<std::string> version() = 0;

  // Hands over a batch and returns at once. The cases must stay alive until collect() returns. One batch at a time, of any length and size:
  // what does not fit the arena travels in pieces.
  virtual void submit(std::span<const Case* const> cases) = 0;
  // One outcome per submitted case, in order. A crash, a hang or an OOM kill costs exactly the case being run: it is recorded, a new
  // process starts behind it. A case under which the process got SIGKILL, which nobody sends himself, is run once more before it is blamed.
  // After 20 equal crashes in a row the target is suspended: the remaining cases are kUnsupported "suspended: ...". Where a case of a batch
  // changed memory that is not its own, all cases of that batch are run again one by one, so that the report names the one that did it.
  virtual std::vector<Outcome> collect() = 0;

  std::vector<Outcome> run(std::span<const Case* const> cases) {
    submit(cases);
    return collect();
  }
  virtual bool suspended() const = 0;
};

}  // namespace normfuzz
