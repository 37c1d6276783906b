// A check that a Python script of this folder makes of a file: a reader of the format that is none of ours.
#pragma once

#include <string>
#include <vector>

namespace normfuzz::testing {

struct PythonRun {
  int status = -1;     // 0: as it should be; 77: cannot be checked here
  std::string output;  // both streams
};
// Writes `content` to a file and calls `python3 tests/reports/SCRIPT FILE ARGUMENTS..`.
PythonRun check_with_python(const std::string& script, const std::string& content, const std::vector<std::string>& arguments = {});

}  // namespace normfuzz::testing
