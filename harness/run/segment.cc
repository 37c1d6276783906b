#include "harness/run/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace normfuzz {
namespace {

// Not among the numbers that a worker finds its own descriptors under: duplicating one onto them must not overwrite another.
int above_worker_fds(int fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  close(fd);
  return high;
}

}  // namespace

Result<Segment> Segment::create(std::size_t bytes) {
  const auto failed = [](const char* what) {
    return Error{std::string("shared memory for a worker: ") + what + ": " + std::strerror(errno)};
  };
  Segment s;
  const int fd = memfd_create("normfuzz", MFD_CLOEXEC);
  if (fd < 0) return failed("memfd_create");
  s.fd_ = above_worker_fds(fd);
  if (s.fd_ < 0) return failed("fcntl");
  if (ftruncate(s.fd_, static_cast<off_t>(bytes)) != 0) return failed("ftruncate");
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s.fd_, 0);
  if (base == MAP_FAILED) return failed("mmap");
  s.base_ = static_cast<std::byte*>(base);
  s.bytes_ = bytes;
  protocol::Header& h = s.header();
  h.magic = protocol::kMagic;
  h.version = protocol::kVersion;
  h.current = protocol::kIdle;
  h.total_bytes = bytes;
  return s;
}

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, bytes_);
  if (fd_ >= 0) close(fd_);
}

void Segment::release_from(std::size_t begin) {
  if (begin < bytes_)
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin), static_cast<off_t>(bytes_ - begin));
}

}  // namespace normfuzz
