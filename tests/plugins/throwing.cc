// Lets C++ exceptions cross the boundary, which the interface forbids.
#include <stdexcept>

#include "normfuzz/target.h"

namespace {
nf_status run(const nf_call* call) {
  if (call->param_count > 1) throw 7;
  throw std::runtime_error("thrown by the kernel");
}
const char* version() { return "throwing"; }
}  // namespace

extern "C" const nf_target* normfuzz_target() {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), version, run};
  return &target;
}
