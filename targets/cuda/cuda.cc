// layer_norm, rms_norm and their gradients by CUDA kernels of our own, behind the plug-in interface. The kernels are row_kernels.cu; here
// are the device and the way of a call's memory there and back (DeviceImage).
//
// Environment: NORMFUZZ_CUDA_VARIANT, one of the manifest's variants; CUDA_VISIBLE_DEVICES as everywhere.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "targets/cuda/device.h"
#include "targets/cuda/row_kernels.h"
#include "targets/row_call.h"

namespace normfuzz {
namespace {

using cuda::check;

// Empty: there is a device that these kernels run on.
std::string why_unavailable() {
  if (const std::string reason = cuda::why_no_device(); !reason.empty()) return reason;
  if (const cudaError_t code = cuda::kernels_loadable(); code != cudaSuccess)
    return std::string("the kernels were built for other devices (CMAKE_CUDA_ARCHITECTURES): ") + cudaGetErrorString(code);
  const char* variant = std::getenv("NORMFUZZ_CUDA_VARIANT");
  if (variant != nullptr && std::string_view(variant) != "two_pass") return std::string("no variant '") + variant + "'";
  return "";
}

cuda::Variant chosen_variant() {
  return std::getenv("NORMFUZZ_CUDA_VARIANT") == nullptr ? cuda::Variant::kWelford : cuda::Variant::kTwoPass;
}

const char* version() {
  static const std::string text = cuda::device_name();
  return text.c_str();
}

std::string run_rows(const TargetCall& target_call, cudaStream_t stream) {
  DeviceRowCall call(target_call, 0);
  if (call.type == kFloat64) throw Unsupported("no kernel for f64: statistics are f32");
  if (call.task.rows > 0x7fffffff) throw Unsupported("more rows than a grid has blocks");
  std::vector<char>& bytes = call.image.bytes();
  static cuda::DeviceMemory device_memory;
  unsigned char* memory = device_memory.of_size(bytes.size());
  check(cudaMemcpyAsync(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream), "copy to the device");
  check(cuda::launch_rows(call.task, memory, {static_cast<float>(call.epsilon), static_cast<float>(call.weight_offset)}, call.rms,
                          call.backward, chosen_variant(), stream),
        "launch");
  check(cudaMemcpyAsync(bytes.data(), memory, bytes.size(), cudaMemcpyDeviceToHost, stream), "copy from the device");
  check(cudaStreamSynchronize(stream), "run");
  call.image.finish();
  return "";
}

nf_status run(const nf_call* call) {
  return guarded_run(call, [&](const TargetCall& c) { return run_rows(c, static_cast<cudaStream_t>(call->stream)); });
}

const std::string& unavailable() {
  static const std::string reason = why_unavailable();
  return reason;
}

}  // namespace
}  // namespace normfuzz

NORMFUZZ_EXPORT const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::version, normfuzz::run};
  return normfuzz::unavailable().empty() ? &target : nullptr;
}

NORMFUZZ_EXPORT const char* normfuzz_unavailable(void) { return normfuzz::unavailable().c_str(); }
