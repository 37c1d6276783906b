// One worker process: spawned with the descriptors of harness/run/protocol.h, spoken to in single bytes, ended without leaving a zombie.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"

namespace normfuzz {

using SteadyTime = std::chrono::steady_clock::time_point;  // CLOCK_MONOTONIC, the clock of Header::started_ns

// How a process ended: by a signal, or by itself with an exit status.
struct ProcessEnd {
  int signal = 0;
  int exit_status = 0;
  bool operator==(const ProcessEnd&) const = default;
};
// "killed by signal 11 (SIGSEGV)" or "exited with status 3".
std::string to_string(const ProcessEnd& end);

class Process {
 public:
  // `environment` is set on top of ours; stdout and stderr go to `log_path` (empty: /dev/null).
  static Result<Process> spawn(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                               int segment_fd, const std::string& log_path);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // kills and reaps

  void send(char command);

  enum class Event { kReply, kEnded, kDeadline };
  // Waits for a byte from the process (kReply, in `reply`), its end, or the deadline.
  Event wait(SteadyTime deadline, char& reply);
  bool ended();

  // Kills it and everything in its process group if it still runs, and says how it ended.
  ProcessEnd end();
  pid_t pid() const { return pid_; }

 private:
  Process() = default;
  bool reap(bool block);

  pid_t pid_ = -1;
  int pid_fd_ = -1;         // becomes readable when the process ends, even if a child of its own keeps the reply pipe open
  int command_fd_ = -1;     // we write
  int command_other_ = -1;  // the reading end stays open here too: writing to a dead worker must not raise SIGPIPE
  int reply_fd_ = -1;       // we read
  bool reaped_ = false;
  ProcessEnd end_;
};

}  // namespace normfuzz
