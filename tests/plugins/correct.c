/* A correct plug-in in one file: layer_norm and rms_norm in float32. */
#include "plugin.h"

static const char* version(void) { return "example 1.0"; }

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), version, plain_norm};
  return &target;
}
