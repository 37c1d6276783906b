#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "cli/command.h"

namespace normfuzz {
namespace {

std::atomic<bool> interrupted{false};

void on_signal(int) {
  if (interrupted.exchange(true)) _exit(static_cast<int>(ExitStatus::kInterrupted));
}

}  // namespace

const std::atomic<bool>& interrupt_flag() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

}  // namespace normfuzz
