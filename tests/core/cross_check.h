// Running a Python script against the pinned packages of the cross-checks (deps/crosscheck.txt).
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/files.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {

inline bool has_cross_check_python() { return std::string(NORMFUZZ_CROSSCHECK_PYTHON) != ""; }

// Runs `script` in `directory`; what it prints ends up in the test's output. True if it succeeded.
inline bool run_python(const TemporaryDirectory& directory, const std::string& script) {
  if (!write_file_atomically(directory.file("check.py"), script)) return false;
  const std::string command = "cd '" + directory.path() + "' && '" NORMFUZZ_CROSSCHECK_PYTHON "' check.py";
  std::fflush(stdout);
  return std::system(command.c_str()) == 0;
}

}  // namespace normfuzz::testing

#define NORMFUZZ_NEED_CROSS_CHECK_PYTHON() \
  if (!::normfuzz::testing::has_cross_check_python()) GTEST_SKIP() << "NORMFUZZ_CROSSCHECK_PYTHON is not set"
