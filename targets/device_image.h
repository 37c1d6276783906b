// One block of device memory for a whole call: every tensor's storage from its first to its last byte, at the alignment that it has on the
// host, between guard bytes. The block goes to the device and comes back as it is, so that a kernel's stray write into a guard, a padding
// or an input is seen whatever it hit: in paddings and inputs by the caller, which gets them back byte by byte, in guards here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "normfuzz/target_call.h"

namespace normfuzz {

class DeviceImage {
 public:
  // Bytes [0, header) are the caller's.
  explicit DeviceImage(size_t header = 0) : bytes_(header, kGuardByte), header_(header) {}

  // Bytes that a kernel may write and nobody reads afterwards.
  int64_t add_scratch(size_t size) {
    begin_region(0);
    const size_t at = bytes_.size();
    regions_.push_back({"scratch", at, size, nullptr});
    bytes_.resize(at + size, kGuardByte);
    return static_cast<int64_t>(at);
  }

  // Returns the offset of element [0, ..., 0].
  int64_t add(const DLTensor& tensor, const char* name) {
    int64_t low = 0, high = 1;  // of elements, relative to that one
    for (int32_t i = 0; i < tensor.ndim; ++i) {
      const int64_t last = (tensor.shape[i] - 1) * tensor.strides[i];
      (last < 0 ? low : high) += last;
    }
    const int64_t item = tensor.dtype.bits / 8;
    char* host = static_cast<char*>(tensor_data(tensor)) + low * item;
    const auto size = static_cast<size_t>((high - low) * item);
    begin_region(reinterpret_cast<uintptr_t>(host) % kAlignment);
    const size_t at = bytes_.size();
    regions_.push_back({name, at, size, host});
    bytes_.insert(bytes_.end(), host, host + size);
    return static_cast<int64_t>(at) - low * item;
  }

  // No more tensors: the last guard.
  void close() { bytes_.resize(bytes_.size() + kGuardBytes, kGuardByte); }

  std::vector<char>& bytes() { return bytes_; }

  // After the run, with bytes() as they came back. A changed guard ends the process, as a stray write on the host may.
  void finish() const {
    size_t guard_begin = header_;
    for (const Region& region : regions_) {
      check_guard(guard_begin, region.begin, region.name);
      guard_begin = region.begin + region.size;
      const char* now = &bytes_[region.begin];
      if (region.host != nullptr && std::memcmp(region.host, now, region.size) != 0) std::memcpy(region.host, now, region.size);
    }
    check_guard(guard_begin, bytes_.size(), "the end of the memory");
  }

 private:
  static constexpr size_t kAlignment = 128;  // what OpenCL's full profile and CUDA promise for the begin of a block, at least
  static constexpr size_t kGuardBytes = 256;
  static constexpr char kGuardByte = 0x5a;

  struct Region {
    std::string name;
    size_t begin, size;
    char* host;  // null: scratch
  };

  void begin_region(size_t misalignment) {
    const size_t aligned = (bytes_.size() + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(aligned + misalignment, kGuardByte);
  }

  void check_guard(size_t begin, size_t end, const std::string& before) const {
    const auto changed = std::find_if(&bytes_[begin], &bytes_[0] + end, [](char byte) { return byte != kGuardByte; });
    if (changed == &bytes_[0] + end) return;
    std::fprintf(stderr, "the kernel wrote a guard byte, %td bytes before %s\n", &bytes_[0] + end - changed, before.c_str());
    std::abort();
  }

  std::vector<char> bytes_;
  size_t header_;
  std::vector<Region> regions_;
};

}  // namespace normfuzz
