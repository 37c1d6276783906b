/* normfuzz plug-in interface: one shared object per target, one exported symbol.
 *
 * A target runs normalization kernels on tensors that the caller owns. It is loaded by a worker process of its own, so it may crash or
 * hang: that costs exactly the call being run. What a target supports and promises stands in its manifest.toml, not in code; a shared
 * object given by path without a manifest is asked by trial: NF_UNSUPPORTED is an answer.
 *
 * Rules for `run`:
 *  - inputs are read-only; outputs are allocated by the caller, poisoned and surrounded by guard bytes, which are checked afterwards;
 *  - every tensor has shape and strides set (in elements); `data` plus `byte_offset` points at element [0, ..., 0];
 *  - a kernel needs no alignment promise: `data` may be misaligned with respect to any vector width, never to its own element;
 *  - return NF_UNSUPPORTED when the target has no such kernel, NF_REJECTED when it has one and refuses these arguments, and write the
 * reason, zero-terminated, into `message`; never throw across this boundary.
 */
#ifndef NORMFUZZ_TARGET_H_
#define NORMFUZZ_TARGET_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NORMFUZZ_ABI_VERSION 1u

/* DLPack's tensor, bit for bit (device_type 1 is the CPU; codes: 2 IEEE float, 4 bfloat). */
#ifndef DLPACK_DLPACK_H_
typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;
#endif

typedef enum { NF_OK = 0, NF_UNSUPPORTED = 1, NF_REJECTED = 2 } nf_status;

typedef struct {
  const char* name; /* "x", "weight", "bias", "y", "dx", ... */
  DLTensor* tensor; /* null: absent */
} nf_tensor_arg;

typedef enum { NF_NUMBER = 0, NF_INTEGER = 1, NF_TEXT = 2 } nf_param_kind;

typedef struct {
  const char* name; /* "epsilon", "normalized_axis", ... */
  int32_t kind;     /* nf_param_kind: which of the three below is set */
  double number;
  int64_t integer;
  const char* text;
} nf_param;

typedef struct {
  uint32_t struct_size; /* grows at the end only */
  const char* op;       /* "layer_norm", "rms_norm", ... */
  const nf_tensor_arg* inputs;
  int32_t input_count;
  const nf_tensor_arg* outputs;
  int32_t output_count;
  const nf_param* params;
  int32_t param_count;
  void* stream; /* device targets */
  char* message;
  size_t message_size;
} nf_call;

typedef struct {
  uint32_t abi_version;         /* NORMFUZZ_ABI_VERSION */
  uint32_t struct_size;         /* sizeof(nf_target) */
  const char* (*version)(void); /* of the framework, asked at run time */
  nf_status (*run)(const nf_call* call);
} nf_target;

#if defined(__GNUC__)
#define NORMFUZZ_EXPORT __attribute__((visibility("default")))
#else
#define NORMFUZZ_EXPORT
#endif

/* The one exported symbol that is due. Null: nothing can run on this machine. */
NORMFUZZ_EXPORT const nf_target* normfuzz_target(void);

/* Optional, asked where normfuzz_target gives null: the reason ("no CUDA device: ..."), which stands in the lists of targets. */
NORMFUZZ_EXPORT const char* normfuzz_unavailable(void);

#ifdef __cplusplus
}
#endif

#endif /* NORMFUZZ_TARGET_H_ */
