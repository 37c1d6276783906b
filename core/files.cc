#include "core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace normfuzz {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Closing reports what the file system could not write; the destructor cannot.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

Error system_error(const std::string& path, std::string_view what, int error) {
  return Error{path + ": " + std::string(what) + ": " + std::strerror(error)};
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Unique among the processes and threads of this machine, and recognizable.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
}

Status write_directly(const std::string& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || !write_all(file.get(), content) || !file.close()) return system_error(path, "cannot write", errno);
  return Unit{};
}

}  // namespace

Status write_file_atomically(const std::string& path, std::string_view content) {
  struct stat existing;
  if (::stat(path.c_str(), &existing) == 0) {
    if (S_ISDIR(existing.st_mode)) return system_error(path, "cannot write", EISDIR);
    if (!S_ISREG(existing.st_mode)) return write_directly(path, content);
  }
  const std::string temporary = temporary_name(path);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return system_error(path, "cannot create", errno);
  if (!write_all(file.get(), content) || ::fsync(file.get()) != 0 || !file.close() || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return system_error(path, "cannot write", error);
  }
  // The rename itself becomes durable with its directory; a file system that cannot sync one has nothing to add.
  Descriptor directory(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  return Unit{};
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const auto too_large = [&](const std::string& found) {
    return Error{path + ": file: " + found + " bytes, expected at most " + std::to_string(max_bytes)};
  };
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!file || ::fstat(file.get(), &info) != 0) return system_error(path, "cannot read", errno);
  if (S_ISDIR(info.st_mode)) return Error{path + ": file: a directory, expected a file"};
  const auto known_size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  if (known_size > max_bytes) return too_large(std::to_string(known_size));
  std::string content;
  std::size_t used = 0;
  content.resize(known_size + 1);  // one more, so that the end of the file is seen without growing
  for (;;) {
    if (used == content.size()) content.resize(used * 2);
    const ssize_t n = ::read(file.get(), content.data() + used, content.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, "cannot read", errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > max_bytes) return too_large("more than " + std::to_string(max_bytes));
  }
  content.resize(used);
  return content;
}

}  // namespace normfuzz
