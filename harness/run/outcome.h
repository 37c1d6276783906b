// What became of one case on one target. The five kinds are never merged into one another.
#pragma once

#include <cstdint>
#include <string>

#include "oracles/ops/op.h"

namespace normfuzz {

enum class OutcomeKind { kOk, kUnsupported, kRejected, kCrashed, kTimedOut };
std::string_view name_of(OutcomeKind kind);  // "ok", "unsupported", "rejected", "crashed", "timed_out"

// What the runner saw around the tensors; independent of any number.
struct MemoryReport {
  std::string changed_input;     // name of the first input whose elements changed
  std::string overrun;           // name of the first tensor whose guard bytes or padding changed
  std::string unwritten_output;  // name of the first output with elements never written
  std::int64_t unwritten_elements = 0;
  std::string detail;  // one sentence with the place: "y: byte 0 after the last element"
  bool clean() const { return changed_input.empty() && overrun.empty() && unwritten_output.empty(); }
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::kUnsupported;
  std::string message;  // reason or detail (rejected, unsupported, "impl: ..." of an ok)
  int signal = 0;       // of a crash; 0 with kCrashed: exited by itself with exit_status
  int exit_status = 0;
  NamedTensors outputs;     // of an ok: logical values, dense
  MemoryReport memory;      // of every call that came back; elements never written: of an ok
  double microseconds = 0;  // inside the target's run
};

}  // namespace normfuzz
