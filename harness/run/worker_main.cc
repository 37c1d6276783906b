// normfuzz-worker LABEL MODULE: the process in which a native target runs. Started by Worker, never by hand: it speaks
// harness/run/protocol.h over descriptors 3, 4 and 5. LABEL ("onednn:avx2") is only for whoever looks at the list of processes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "harness/run/load_module.h"
#include "harness/run/native_call.h"
#include "harness/run/protocol.h"
#include "normfuzz/target.h"

namespace normfuzz {
namespace {

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

bool reply(char byte) { return write(protocol::kReplyFd, &byte, 1) == 1; }

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
  const nf_target* target = load_module(module, text);
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
