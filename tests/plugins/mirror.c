/* Shows what a target sees: copies every element of x to y by the strides given, and describes the call in the message. */
#include "plugin.h"

static nf_status run(const nf_call* call) {
  const DLTensor* x = tensor_named(call->inputs, call->input_count, "x");
  DLTensor* y = tensor_named(call->outputs, call->output_count, "y");
  const int bytes = x->dtype.bits / 8;
  int64_t size = 1;
  for (int32_t d = 0; d < x->ndim; ++d) size *= x->shape[d];
  for (int64_t i = 0; i < size; ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (int32_t d = x->ndim - 1; d >= 0; --d) {
      from += rest % x->shape[d] * x->strides[d];
      to += rest % x->shape[d] * y->strides[d];
      rest /= x->shape[d];
    }
    memcpy((char*)y->data + y->byte_offset + to * bytes, (const char*)x->data + x->byte_offset + from * bytes, (size_t)bytes);
  }
  int n = snprintf(call->message, call->message_size, "%s", call->op);
  for (int32_t i = 0; i < call->input_count; ++i) {
    const DLTensor* t = call->inputs[i].tensor;
    n += snprintf(call->message + n, call->message_size - (size_t)n, " %s", call->inputs[i].name);
    if (t == NULL) {
      n += snprintf(call->message + n, call->message_size - (size_t)n, "=absent");
      continue;
    }
    n += snprintf(call->message + n, call->message_size - (size_t)n, "=%d:%d@%d", t->dtype.code, t->dtype.bits,
                  (int)((uintptr_t)((char*)t->data + t->byte_offset) % 64));
    for (int32_t d = 0; d < t->ndim; ++d)
      n += snprintf(call->message + n, call->message_size - (size_t)n, ",%d/%d", (int)t->shape[d], (int)t->strides[d]);
  }
  for (int32_t i = 0; i < call->param_count; ++i) {
    const nf_param* p = &call->params[i];
    n += snprintf(call->message + n, call->message_size - (size_t)n, " %s=", p->name);
    if (p->kind == NF_NUMBER) n += snprintf(call->message + n, call->message_size - (size_t)n, "%a", p->number);
    if (p->kind == NF_INTEGER) n += snprintf(call->message + n, call->message_size - (size_t)n, "%d", (int)p->integer);
    if (p->kind == NF_TEXT) n += snprintf(call->message + n, call->message_size - (size_t)n, "%s", p->text);
  }
  return NF_OK;
}

static const char* version(void) { return "mirror"; }

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), version, run};
  return &target;
}
