#include "harness/run/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "harness/run/protocol.h"

extern char** environ;

namespace normfuzz {
namespace {

// A worker asks to be killed with its parent (PR_SET_PDEATHSIG), and Linux means the parent's thread: were it spawned by a campaign thread,
// the end of that thread would kill it. So all workers are children of one thread that lives as long as the process.
class SpawnThread {
 public:
  static SpawnThread& instance() {
    static SpawnThread& thread = *new SpawnThread;
    return thread;
  }
  template <class F>
  int call(F f) {
    std::packaged_task<int()> task(std::move(f));
    std::future<int> result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
    return result.get();
  }

 private:
  SpawnThread() {
    std::thread([this] { serve(); }).detach();
  }
  void serve() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // Ctrl-C is the main thread's business
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !tasks_.empty(); });
      std::packaged_task<int()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<int()>> tasks_;
};

// Both ends above the numbers that a worker finds its descriptors under.
bool open_pipe(int& read_end, int& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end = fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
  write_end = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
  close(ends[0]);
  close(ends[1]);
  return read_end >= 0 && write_end >= 0;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// posix_spawn's two attribute objects, destroyed in any case.
struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C on the terminal reaches us only, and its own children end with it
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

std::string to_string(const ProcessEnd& end) {
  if (end.signal == 0) return "exited with status " + std::to_string(end.exit_status);
  const char* name = sigabbrev_np(end.signal);
  return "killed by signal " + std::to_string(end.signal) + (name ? std::string(" (SIG") + name + ")" : "");
}

Result<Process> Process::spawn(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                               int segment_fd, const std::string& log_path) {
  Process p;
  int child_reply = -1;
  if (!open_pipe(p.command_other_, p.command_fd_) || !open_pipe(p.reply_fd_, child_reply))
    return Error{std::string("a pipe to a worker: ") + std::strerror(errno)};
  SpawnSetup setup;
  const std::string log = log_path.empty() ? "/dev/null" : log_path;
  posix_spawn_file_actions_addopen(&setup.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&setup.actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&setup.actions, 1, 2);
  posix_spawn_file_actions_adddup2(&setup.actions, segment_fd, protocol::kSegmentFd);
  posix_spawn_file_actions_adddup2(&setup.actions, p.command_other_, protocol::kCommandFd);
  posix_spawn_file_actions_adddup2(&setup.actions, child_reply, protocol::kReplyFd);

  std::vector<std::string> arguments = command, variables = merged_environment(environment);
  std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
  const int error = SpawnThread::instance().call(
      [&] { return posix_spawnp(&p.pid_, argv[0], &setup.actions, &setup.attributes, argv.data(), envp.data()); });
  close(child_reply);
  if (error != 0) {
    p.pid_ = -1;
    return Error{command[0] + ": " + std::strerror(error) + (log_path.empty() ? "" : " (or its log " + log_path + " cannot be written)")};
  }
  p.pid_fd_ = static_cast<int>(
      syscall(SYS_pidfd_open, p.pid_, 0));  // no wrapper for C++ in glibc 2.36; -1 on kernels before 5.3: then only the pipe tells
  return p;
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pid_fd_, other.pid_fd_);
  std::swap(command_fd_, other.command_fd_);
  std::swap(command_other_, other.command_other_);
  std::swap(reply_fd_, other.reply_fd_);
  std::swap(reaped_, other.reaped_);
  std::swap(end_, other.end_);
  return *this;
}

Process::~Process() {
  end();
  for (const int fd : {pid_fd_, command_fd_, command_other_, reply_fd_})
    if (fd >= 0) close(fd);
}

void Process::send(char command) {
  while (write(command_fd_, &command, 1) < 0 && errno == EINTR) {
  }
}

Process::Event Process::wait(SteadyTime deadline, char& reply) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd fds[2] = {{reply_fd_, POLLIN, 0}, {pid_fd_, POLLIN, 0}};
    const int ready = poll(fds, 2, static_cast<int>(std::clamp<long>(left, 0, 60'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (fds[0].revents & POLLIN) {
      const ssize_t n = read(reply_fd_, &reply, 1);
      if (n == 1) return Event::kReply;
      if (n < 0 && errno == EINTR) continue;
    }
    if (ready > 0) return Event::kEnded;  // the process ended or closed its end
    if (std::chrono::steady_clock::now() >= deadline) return Event::kDeadline;
  }
}

bool Process::reap(bool block) {
  if (pid_ < 0 || reaped_) return true;
  int status = 0;
  pid_t got;
  do got = waitpid(pid_, &status, block ? 0 : WNOHANG);
  while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  reaped_ = true;
  if (got == pid_ && WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
  if (got == pid_ && WIFEXITED(status)) end_.exit_status = WEXITSTATUS(status);
  return true;
}

bool Process::ended() { return reap(false); }

ProcessEnd Process::end() {
  if (pid_ >= 0 && !reaped_) {
    kill(-pid_, SIGKILL);  // changes nothing for a process that is ending by itself: how it ended is settled before its pipe closes
    reap(true);
  }
  return end_;
}

}  // namespace normfuzz
