// The shared memory between a campaign and one worker: a memfd, so that nothing is left behind whoever dies.
#pragma once

#include <cstddef>
#include <string>

#include "core/result.h"
#include "harness/run/protocol.h"

namespace normfuzz {

class Segment {
 public:
  // Pages cost memory only once touched, so `bytes` may be far beyond what a batch needs.
  static Result<Segment> create(std::size_t bytes);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  int fd() const { return fd_; }
  std::size_t bytes() const { return bytes_; }
  std::byte* base() { return base_; }
  const std::byte* base() const { return base_; }
  protocol::Header& header() { return *reinterpret_cast<protocol::Header*>(base_); }
  protocol::Descriptor& descriptor(std::uint32_t slot) {
    return reinterpret_cast<protocol::Descriptor*>(base_ + protocol::kHeaderBytes)[slot];
  }
  // Gives the pages of the arena from `begin` on back to the system.
  void release_from(std::size_t begin);

 private:
  Segment() = default;
  int fd_ = -1;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace normfuzz
