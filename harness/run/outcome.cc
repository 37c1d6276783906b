#include "harness/run/outcome.h"

namespace normfuzz {

std::string_view name_of(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kOk:
      return "ok";
    case OutcomeKind::kUnsupported:
      return "unsupported";
    case OutcomeKind::kRejected:
      return "rejected";
    case OutcomeKind::kCrashed:
      return "crashed";
    case OutcomeKind::kTimedOut:
      return "timed_out";
  }
  return "?";
}

}  // namespace normfuzz
