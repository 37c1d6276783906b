// A target module behind the C ABI, opened in this process: by normfuzz-worker, and by the worker without a process.
#pragma once

#include <dlfcn.h>

#include <string>

#include "normfuzz/target.h"

namespace normfuzz {

// The module's target, or the reason in `reason`.
inline const nf_target* load_module(const char* path, std::string& reason) {
  void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    reason = dlerror();
    return nullptr;
  }
  auto* entry = reinterpret_cast<const nf_target* (*)()>(dlsym(module, "normfuzz_target"));
  if (entry == nullptr) {
    reason = std::string(path) + ": no symbol normfuzz_target, expected the one exported function of include/normfuzz/target.h";
    return nullptr;
  }
  const nf_target* target = entry();
  if (target == nullptr) {
    const auto why = reinterpret_cast<const char* (*)()>(dlsym(module, "normfuzz_unavailable"));
    reason = why != nullptr ? why() : std::string(path) + ": normfuzz_target() returned null";
  } else if (target->abi_version != NORMFUZZ_ABI_VERSION) {
    reason = std::string(path) + ": abi_version is " + std::to_string(target->abi_version) + ", expected " +
             std::to_string(NORMFUZZ_ABI_VERSION);
  } else if (target->struct_size < sizeof(nf_target)) {
    reason = std::string(path) + ": struct_size is " + std::to_string(target->struct_size) + ", expected at least " +
             std::to_string(sizeof(nf_target));
  } else if (target->run == nullptr) {
    reason = std::string(path) + ": run is null";
  }
  return reason.empty() ? target : nullptr;
}

}  // namespace normfuzz
