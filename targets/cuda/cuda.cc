// layer_norm, rms_norm and their gradients by CUDA kernels of our own, behind the plug-in interface. The kernels are row_kernels.cu; here
// are the device and the way of a call's memory there and back (DeviceImage).
//
// Environment: NORMFUZZ_CUDA_VARIANT, one of the manifest's variants; CUDA_VISIBLE_DEVICES as everywhere.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "targets/cuda/row_kernels.h"
#include "targets/row_call.h"

namespace normfuzz {
namespace {

// An error of the device stays with the process: every later call would fail for this one's fault.
void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s: %s\n", what, cudaGetErrorString(code));
  std::abort();
}

// Empty: there is a device that these kernels run on.
std::string why_unavailable() {
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess)
    return std::string("no CUDA device: ") + cudaGetErrorString(code);
  if (count == 0) return "no CUDA device: the driver offers none";
  if (const cudaError_t code = cudaFree(nullptr); code != cudaSuccess)
    return std::string("the CUDA device cannot be used: ") + cudaGetErrorString(code);
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
  static const std::string text = [] {
    cudaDeviceProp properties{};
    int device = 0, driver = 0, runtime = 0;
    cudaGetDevice(&device);
    cudaGetDeviceProperties(&properties, device);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    const auto dotted = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
    return std::string(properties.name) + " (sm_" + std::to_string(properties.major) + std::to_string(properties.minor) +
           "), CUDA runtime " + dotted(runtime) + ", driver " + dotted(driver);
  }();
  return text.c_str();
}

// Device memory that grows; one call at a time.
unsigned char* device_memory(size_t size) {
  static unsigned char* memory = nullptr;
  static size_t capacity = 0;
  if (size <= capacity) return memory;
  check(cudaFree(memory), "cudaFree");
  check(cudaMalloc(reinterpret_cast<void**>(&memory), size), "cudaMalloc");
  capacity = size;
  return memory;
}

std::string run_rows(const TargetCall& target_call, cudaStream_t stream) {
  DeviceRowCall call(target_call, 0);
  if (call.type == kFloat64) throw Unsupported("no kernel for f64: statistics are f32");
  if (call.task.rows > 0x7fffffff) throw Unsupported("more rows than a grid has blocks");
  std::vector<char>& bytes = call.image.bytes();
  unsigned char* memory = device_memory(bytes.size());
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
