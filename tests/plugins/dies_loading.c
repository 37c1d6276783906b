/* Crashes while it is loaded. */
#include <signal.h>

#include "plugin.h"

__attribute__((constructor)) static void die(void) { raise(SIGSEGV); }

const nf_target* normfuzz_target(void) { return NULL; }
