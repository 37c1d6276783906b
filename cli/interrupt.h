// Ctrl-C for commands that work for a while: the first one asks for an end with a report, the second one ends the program.
#pragma once

#include <atomic>

namespace normfuzz {

// Installs the handler for SIGINT and SIGTERM; the flag is set by the first signal.
const std::atomic<bool>& interrupt_flag();

}  // namespace normfuzz
