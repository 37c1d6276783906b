// One process of a target with a given number of threads. Of worker.cc.
#pragma once

#include <memory>

#include "harness/run/worker.h"

namespace normfuzz {

std::unique_ptr<Worker> create_process_worker(const TargetChoice& target, const WorkerLimits& limits, int threads);

}  // namespace normfuzz
