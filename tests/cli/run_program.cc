#include "tests/cli/run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "tests/temporary_directory.h"

extern char** environ;

namespace normfuzz::testing {

Ran run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& extra_environment) {
  const TemporaryDirectory directory;
  const std::string program = NORMFUZZ_BINARY_DIR "/normfuzz", out = directory.file("out"), err = directory.file("err");
  std::vector<char*> argv = {const_cast<char*>(program.c_str())}, environment;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
  for (const std::string& e : extra_environment) environment.push_back(const_cast<char*>(e.c_str()));
  environment.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &files, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  EXPECT_EQ(error, 0) << program;
  Ran ran;
  int status = 0;
  if (error != 0 || waitpid(pid, &status, 0) != pid) return ran;
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  constexpr std::size_t kMost = std::size_t{1} << 28;
  ran.out = *read_file(out, kMost);
  ran.err = *read_file(err, kMost);
  return ran;
}

JsonDocument json_of(const Ran& ran) {
  auto document = JsonDocument::parse(ran.out, "stdout");
  if (document && document->root().kind() == JsonKind::kObject) return std::move(*document);
  ADD_FAILURE() << "not one JSON object: " << (document ? document->root().describe() : document.error()) << "\n" << ran.out << ran.err;
  return *JsonDocument::parse("{}", "empty");
}

std::vector<std::string> strings_of(const JsonValue& array) {
  std::vector<std::string> strings;
  if (array.count() == 0) return strings;
  JsonValue v = array.first();
  for (std::int64_t i = 0; i < array.count(); ++i) {
    strings.emplace_back(v.text());
    if (i + 1 < array.count()) v = v.next();
  }
  return strings;
}

std::string public_case(const std::string& name) { return NORMFUZZ_SOURCE_DIR "/corpus/public/" + name + ".json"; }

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

}  // namespace normfuzz::testing
