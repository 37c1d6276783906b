// Cases as files. Reading is strict: the error names the file, the field and what was expected; nothing is half-read. docs/case-format.md
// describes the format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/case.h"
#include "core/files.h"
#include "core/hex_float.h"
#include "core/result.h"

namespace normfuzz {

// Larger files are refused before they are read.
inline constexpr std::size_t kMaxCaseBytes = std::size_t{64} << 20;
// A case with more elements than this (inputs and expect together) keeps its data in a .safetensors file of the same stem.
inline constexpr std::int64_t kMaxTextElements = 4096;

// `name` is what errors call the input (a file name). Checks the schema, every field's type, shapes, strides and that each value is
// exactly representable in its dtype; what an op needs beyond that is oracles/ops' validate(). A text has no directory: data kept beside it
// is refused; read_case() finds it.
Result<Case> parse_case(std::string_view json, std::string_view name);
Result<Case> read_case(const std::string& path);

// All data inline, one line per tensor, floats as the shortest C hexadecimal strings: parse_case(write_case(c)) == c, given that every NaN
// is the canonical one and every text UTF-8.
std::string write_case(const Case& c);

// Writes to a temporary name in the same directory, then renames. A case of more than kMaxTextElements elements keeps its data in
// sidecar_path(path), which is written first and tied to the text by digests. Refuses a NaN with a payload: text cannot keep it.
Status save_case(const Case& c, const std::string& path);

// DIR/case.json -> DIR/case.safetensors.
std::string sidecar_path(const std::string& case_path);

}  // namespace normfuzz
