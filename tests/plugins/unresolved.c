/* Needs a function that no library has: dlopen fails. */
#include "plugin.h"

extern nf_status normfuzz_nowhere_to_be_found(const nf_call*);
static const char* version(void) { return ""; }

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), version, normfuzz_nowhere_to_be_found};
  return &target;
}
