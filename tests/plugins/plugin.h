/* What the example plug-ins share: a tiny reader of nf_call and a plain two-pass layer_norm / rms_norm over the last dimension in float32.
 */
#ifndef NORMFUZZ_TESTS_PLUGIN_H_
#define NORMFUZZ_TESTS_PLUGIN_H_

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "normfuzz/target.h"

static inline DLTensor* tensor_named(const nf_tensor_arg* args, int32_t count, const char* name) {
  for (int32_t i = 0; i < count; ++i)
    if (strcmp(args[i].name, name) == 0) return args[i].tensor;
  return NULL;
}

static inline double param_named(const nf_call* call, const char* name, double fallback) {
  for (int32_t i = 0; i < call->param_count; ++i)
    if (strcmp(call->params[i].name, name) == 0)
      return call->params[i].kind == NF_INTEGER ? (double)call->params[i].integer : call->params[i].number;
  return fallback;
}

static inline nf_status answer(const nf_call* call, nf_status status, const char* message) {
  snprintf(call->message, call->message_size, "%s", message);
  return status;
}

static inline float* element0(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

/* Element offset of the first element of row `row`, rows counted over all dimensions but the last. */
static inline int64_t row_offset(const DLTensor* t, int64_t row) {
  int64_t offset = 0;
  for (int32_t d = t->ndim - 2; d >= 0; --d) {
    offset += row % t->shape[d] * t->strides[d];
    row /= t->shape[d];
  }
  return offset;
}

static inline int64_t row_count(const DLTensor* t) {
  int64_t rows = 1;
  for (int32_t d = 0; d + 1 < t->ndim; ++d) rows *= t->shape[d];
  return rows;
}

/* float32, last dimension only; everything else is declined. */
static inline nf_status plain_norm(const nf_call* call) {
  const int layer = strcmp(call->op, "layer_norm") == 0;
  if (!layer && strcmp(call->op, "rms_norm") != 0) return answer(call, NF_UNSUPPORTED, "only layer_norm and rms_norm");
  const DLTensor* x = tensor_named(call->inputs, call->input_count, "x");
  const DLTensor* w = tensor_named(call->inputs, call->input_count, "weight");
  const DLTensor* b = tensor_named(call->inputs, call->input_count, "bias");
  DLTensor* y = tensor_named(call->outputs, call->output_count, "y");
  if (x->dtype.code != 2 || x->dtype.bits != 32 || x->ndim < 1) return answer(call, NF_UNSUPPORTED, "only float32 of rank 1 or more");
  const double axis = param_named(call, "normalized_axis", -1);
  if (axis != -1 && axis != x->ndim - 1) return answer(call, NF_UNSUPPORTED, "only the last dimension");
  const double epsilon = param_named(call, "epsilon", 0), shift = param_named(call, "weight_offset", 0);
  const int64_t cols = x->shape[x->ndim - 1], xs = x->strides[x->ndim - 1], ys = y->strides[y->ndim - 1];
  for (int64_t row = 0; row < row_count(x); ++row) {
    const float* in = element0(x) + row_offset(x, row);
    float* out = element0(y) + row_offset(y, row);
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < cols; ++i) sum += in[i * xs];
    const float mean = layer ? sum / (float)cols : 0;
    for (int64_t i = 0; i < cols; ++i) squares += (in[i * xs] - mean) * (in[i * xs] - mean);
    const float scale = 1 / sqrtf(squares / (float)cols + (float)epsilon);
    for (int64_t i = 0; i < cols; ++i) {
      const float weight = (w ? element0(w)[i * w->strides[0]] : 1) + (w ? (float)shift : 0);
      out[i * ys] = (in[i * xs] - mean) * scale * weight + (b ? element0(b)[i * b->strides[0]] : 0);
    }
  }
  return NF_OK;
}

#endif
