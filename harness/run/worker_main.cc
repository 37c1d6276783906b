// normfuzz-worker LABEL MODULE: the process in which a native target runs. Started by Worker, never by hand: it speaks
// harness/run/protocol.h over descriptors 3, 4 and 5. LABEL ("onednn:avx2") is only for whoever looks at the list of processes.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "harness/run/native_call.h"
#include "harness/run/protocol.h"
#include "normfuzz/target.h"

namespace normfuzz {
namespace {

std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

std::byte* map_segment() {
  protocol::Header header;
  if (pread(protocol::kSegmentFd, &header, sizeof header, 0) != sizeof header) return nullptr;
  if (header.magic != protocol::kMagic || header.version != protocol::kVersion) return nullptr;
  void* base = mmap(nullptr, header.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, protocol::kSegmentFd, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

// Ends with its parent, leaves no core files, and takes no more memory than it was given.
void limit_process(const protocol::Header& header) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (static_cast<std::uint32_t>(getppid()) != header.parent_pid) _exit(0);  // the parent died before the line above
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (header.memory_bytes != 0) {
    // Not RLIMIT_AS: frameworks reserve address space that they never touch, and the arena itself is 4 GiB of it.
    const rlimit data{header.memory_bytes, header.memory_bytes};
    setrlimit(RLIMIT_DATA, &data);
  }
  for (const int fd : {protocol::kSegmentFd, protocol::kCommandFd, protocol::kReplyFd}) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// The module's target, or the reason in `reason`.
const nf_target* load(const char* path, std::string& reason) {
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

bool reply(char byte) { return write(protocol::kReplyFd, &byte, 1) == 1; }

void run_slot(std::byte* base, const nf_target& target, std::uint32_t slot) {
  auto& header = *reinterpret_cast<protocol::Header*>(base);
  auto& descriptor = reinterpret_cast<protocol::Descriptor*>(base + protocol::kHeaderBytes)[slot];
  NativeCall call(base, descriptor);
  const std::int64_t started = now_ns();
  protocol::publish(header.started_ns, started);
  protocol::publish(header.current, slot);
  protocol::publish(header.sequence, header.sequence + 1);
  const std::uint32_t status = call.run(target);
  descriptor.nanoseconds = now_ns() - started;
  protocol::publish(descriptor.status, status);
}

int serve(std::byte* base, const nf_target& target) {
  auto& header = *reinterpret_cast<protocol::Header*>(base);
  char command = 0;
  while (read(protocol::kCommandFd, &command, 1) == 1 && command == protocol::kGo) {
    for (std::uint32_t slot = header.first; slot < header.count; ++slot) run_slot(base, target, slot);
    protocol::publish(header.current, protocol::kIdle);
    std::fflush(stdout);
    if (!reply(protocol::kDone)) return 1;
  }
  return 0;
}

int worker_main(const char* module) {
  std::byte* base = map_segment();
  if (base == nullptr) {
    std::fprintf(stderr, "normfuzz-worker: descriptor 3 is no shared memory of this version; this program is started by normfuzz\n");
    return 2;
  }
  auto& header = *reinterpret_cast<protocol::Header*>(base);
  limit_process(header);
  std::string text;
  const nf_target* target = load(module, text);
  if (target != nullptr && target->version != nullptr) text = target->version();
  std::snprintf(header.text, sizeof header.text, "%s", text.c_str());
  if (!reply(target != nullptr ? protocol::kReady : protocol::kFailed) || target == nullptr) return 1;
  return serve(base, *target);
}

}  // namespace
}  // namespace normfuzz

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: normfuzz-worker LABEL MODULE (started by normfuzz)\n");
    return 2;
  }
  return normfuzz::worker_main(argv[2]);
}
