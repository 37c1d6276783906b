#include "tests/reports/run_python.h"

#include <stdio.h>
#include <sys/wait.h>

#include "core/files.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {

PythonRun check_with_python(const std::string& script, const std::string& content, const std::vector<std::string>& arguments) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("report");
  if (!write_file_atomically(file, content)) return {1, "cannot write " + file};
  std::string command = "python3 -B '" NORMFUZZ_SOURCE_DIR "/tests/reports/" + script + "' '" + file + "'";
  for (const std::string& a : arguments) command += " '" + a + "'";
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {1, "cannot run " + command};
  PythonRun run;
  char buffer[4096];
  for (std::size_t n; (n = ::fread(buffer, 1, sizeof buffer, pipe)) > 0;) run.output.append(buffer, n);
  const int status = ::pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return run;
}

}  // namespace normfuzz::testing
