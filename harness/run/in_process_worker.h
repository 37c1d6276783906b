// A worker without a process: the module is loaded into this one. For libFuzzer drivers and benchmarks; a campaign uses Worker::create.
#pragma once

#include <memory>

#include "harness/run/worker.h"

namespace normfuzz {

// The same guard bytes, poison and comparison of inputs as in a process, at the price of a function call. But a crash, a hang or a leak of
// the target is this process's own, and no limit of WorkerLimits applies. The variant's environment is set in this process, once: a variant
// that needs another value than a variable already has cannot be loaded. Cases that ask for threads are kUnsupported, Python targets cannot
// be loaded. Not for several threads at once.
std::unique_ptr<Worker> create_in_process_worker(const TargetChoice& target);

}  // namespace normfuzz
