// The built program as a user runs it: arguments in, exit status and both streams out.
#pragma once

#include <string>
#include <vector>

#include "core/json_document.h"

namespace normfuzz::testing {

struct Ran {
  int status = -1;  // exit status; 128 + signal when killed
  std::string out, err;
};

// Runs build/normfuzz; `extra_environment` as "NAME=value".
Ran run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& extra_environment = {});

// The standard output as one JSON object; a failure of the test when it is anything else.
JsonDocument json_of(const Ran& ran);
// Strings of an array.
std::vector<std::string> strings_of(const JsonValue& array);

std::string public_case(const std::string& name);  // path of corpus/public/NAME.json

// The longest line in characters; "" has none.
std::size_t longest_line(const std::string& text);

}  // namespace normfuzz::testing
