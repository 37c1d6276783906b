/* Built against an interface that does not exist yet. */
#include "plugin.h"

static const char* version(void) { return "from the future"; }

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION + 41, sizeof(nf_target), version, plain_norm};
  return &target;
}
