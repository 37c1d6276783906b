/* Correct, 20 ms a call, and talkative. */
#include <unistd.h>

#include "plugin.h"

static nf_status run(const nf_call* call) {
  const DLTensor* x = tensor_named(call->inputs, call->input_count, "x");
  printf("slow: %d columns\n", (int)x->shape[x->ndim - 1]);
  usleep(20000);
  return plain_norm(call);
}

static const char* version(void) { return "slow 1.0"; }

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), version, run};
  return &target;
}
