// The CUDA device, for the targets that run on one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace normfuzz::cuda {

// An error of the device stays with the process: every later call would fail for this one's fault. So the process ends, as a crash on the
// host would end it.
inline void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s: %s\n", what, cudaGetErrorString(code));
  std::abort();
}

// Empty: there is a device, and it has been started.
inline std::string why_no_device() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) return "no CUDA device: no driver is installed";
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count == 0) return "no CUDA device: the driver offers none";
  if (code == cudaSuccess) code = cudaFree(nullptr);
  return code == cudaSuccess ? "" : std::string("no CUDA device: ") + cudaGetErrorString(code);
}

// "NVIDIA H200 (sm_90), driver 13.0"
inline std::string device_name() {
  cudaDeviceProp properties{};
  int device = 0, driver = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");  // 1000 major + 10 minor
  return std::string(properties.name) + " (sm_" + std::to_string(properties.major) + std::to_string(properties.minor) + "), driver " +
         std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
}

// Device memory that grows; one call at a time.
class DeviceMemory {
 public:
  unsigned char* of_size(size_t size) {
    if (size > capacity_) {
      check(cudaFree(memory_), "cudaFree");
      check(cudaMalloc(reinterpret_cast<void**>(&memory_), size), "cudaMalloc");
      capacity_ = size;
    }
    return memory_;
  }

 private:
  unsigned char* memory_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace normfuzz::cuda
