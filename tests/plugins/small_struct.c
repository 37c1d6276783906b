/* An nf_target that lacks its last member. */
#include "plugin.h"

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target) - sizeof(void*), NULL, plain_norm};
  return &target;
}
