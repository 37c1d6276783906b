/* A framework of several versions: NORMFUZZ_TEST_VERSION names the one that is installed. Up to 2.16 its variance is the sample's;
 * from 2.17 on it is right, unless NORMFUZZ_TEST_FAULT=kept. */
#include <stdlib.h>

#include "plugin.h"

static const char* installed(void) {
  const char* version = getenv("NORMFUZZ_TEST_VERSION");
  return version ? version : "2.15.1";
}

static const char* version(void) {
  static char text[64];
  snprintf(text, sizeof text, "versioned %s", installed());
  return text;
}

static int faulty(void) {
  const char* fault = getenv("NORMFUZZ_TEST_FAULT");
  return (fault && strcmp(fault, "kept") == 0) || strtod(installed(), NULL) < 2.165;
}

static nf_status run(const nf_call* call) {
  nf_status status;
  DLTensor* y = tensor_named(call->outputs, call->output_count, "y");
  if (strcmp(call->op, "layer_norm") != 0 || tensor_named(call->inputs, call->input_count, "weight") ||
      tensor_named(call->inputs, call->input_count, "bias"))
    return answer(call, NF_UNSUPPORTED, "only layer_norm without weight and bias");
  status = plain_norm(call);
  if (status != NF_OK || !faulty()) return status;
  const int64_t cols = y->shape[y->ndim - 1];
  for (int64_t row = 0; row < row_count(y); ++row)
    for (int64_t i = 0; i < cols; ++i)
      element0(y)[row_offset(y, row) + i * y->strides[y->ndim - 1]] *= sqrtf((float)(cols - 1) / (float)cols);
  return status;
}

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), version, run};
  return &target;
}
