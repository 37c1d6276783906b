/* A target that finds nothing to run on. */
#include "normfuzz/target.h"

const nf_target* normfuzz_target(void) { return NULL; }
const char* normfuzz_unavailable(void) { return "no device of this kind"; }
