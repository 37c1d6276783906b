// Whole files, read with a limit and written all or nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace normfuzz {

// Writes `content` to a temporary file in the same directory, flushes it to the disk and renames it onto `path`: readers see the old file
// or the new one, never a half. An error names the path and the system's reason (no space, no permission); the temporary file is then
// removed. A path that is a device or a pipe is written to directly.
Status write_file_atomically(const std::string& path, std::string_view content);

// The file's bytes. Refused, by name: missing, a directory, more than `max_bytes` (seen before anything is read).
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

}  // namespace normfuzz
