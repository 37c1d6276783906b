// The program from its arguments to its exit status.
#pragma once

namespace normfuzz {

// Errors become one line on stderr that begins with "normfuzz: ".
int run_command_line(int argc, const char* const* argv);

}  // namespace normfuzz
