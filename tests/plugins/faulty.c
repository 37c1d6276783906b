/* Correct but for the width n of the last dimension of x, each fault of its own kind:
 *   3 crashes · 5 hangs · 7 writes one element past its output · 9 changes its input · 11 returns NaN · 13 leaves an element unwritten ·
 *   15 exits · 17 takes more memory than there is · 19 is killed from outside each time · 21 writes before its output · 23 declines ·
 *   25 rejects · 27 writes into the padding of a strided output · 29 writes far past its output. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugin.h"

static void take_all_memory(void) {
  for (;;) {
    volatile char* block = malloc((size_t)64 << 20);
    if (block == NULL) abort(); /* what a C++ program does with bad_alloc */
    for (size_t i = 0; i < (size_t)64 << 20; i += 4096) block[i] = 1;
  }
}

static nf_status run(const nf_call* call) {
  const DLTensor* x = tensor_named(call->inputs, call->input_count, "x");
  DLTensor* y = tensor_named(call->outputs, call->output_count, "y");
  const int64_t n = x->shape[x->ndim - 1], size = row_count(y) * n;
  if (n == 3) raise(SIGSEGV);
  if (n == 5)
    for (;;) sleep(1);
  if (n == 15) exit(4);
  if (n == 17) take_all_memory();
  if (n == 19) kill(getpid(), SIGKILL);
  if (n == 23) return answer(call, NF_UNSUPPORTED, "no kernel for 23 columns");
  if (n == 25) return answer(call, NF_REJECTED, "25 columns are refused");
  float untouched;
  memcpy(&untouched, element0(y) + (n == 13 ? 12 : 0), sizeof untouched);
  const nf_status status = plain_norm(call);
  if (status != NF_OK) return status;
  if (n == 7) element0(y)[size] = 1;
  if (n == 9) element0(x)[1] += 1;
  if (n == 11) element0(y)[0] = NAN;
  if (n == 13) memcpy(element0(y) + 12, &untouched, sizeof untouched);
  if (n == 21) element0(y)[-1] = 1;
  if (n == 27) element0(y)[27] = 1;
  if (n == 29) element0(y)[size + 500] = 1;
  return NF_OK;
}

static const char* version(void) { return "faulty 1.0"; }

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), version, run};
  return &target;
}
