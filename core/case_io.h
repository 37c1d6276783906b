// Cases as files. Reading is strict: the error names the file, the field and what was expected; nothing is half-read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/case.h"
#include "core/result.h"

namespace normfuzz {

// Larger files are refused before they are read.
inline constexpr std::size_t kMaxCaseBytes = std::size_t{64} << 20;

// `name` is what errors call the input (a file name). Checks the schema, every field's type, shapes, strides and that each value is
// exactly representable in its dtype; what an op needs beyond that is oracles/ops' validate().
Result<Case> parse_case(std::string_view json, std::string_view name);
Result<Case> read_case(const std::string& path);

// One line per tensor; floats as the shortest C hexadecimal strings. parse_case(write_case(c)) == c.
std::string write_case(const Case& c);
// Writes to a temporary name in the same directory, then renames.
Status save_case(const Case& c, const std::string& path);

// Hexadecimal floats: "0x1.8p+1", "-0x0p+0", "inf", "-inf", "nan". The shortest form that reads back to the same bits.
std::string hex_from_value(double value);
// Any C hexadecimal (or "inf", "-inf", "nan") text; an error names what was read.
Result<double> value_from_hex(std::string_view text);

// Writes `content` to a temporary file beside `path` and renames it into place; used by every writer of the project.
Status write_file_atomically(const std::string& path, std::string_view content);
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

}  // namespace normfuzz
