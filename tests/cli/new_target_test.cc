// docs/adding-a-target.md, followed: each kind is scaffolded, built by the command that the program prints, and run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/run_program.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

namespace fs = std::filesystem;

bool shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// The line that `new-target` prints for building; empty: none.
std::string build_command(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  g++ ") || line.starts_with("  nvcc ")) return line;
  return "";
}

class NewTarget : public ::testing::Test {
 protected:
  Ran scaffold(const char* kind) { return run_program({"new-target", "mine", "--kind", kind, "--out", folder_.path()}); }
  Ran fuzz(const char* module) {
    return run_program({"run", "--target", folder_.path() + "/mine/" + module, "--ops", "layer_norm,rms_norm", "--cases", "300", "--out",
                        folder_.path() + "/out"});
  }
  TemporaryDirectory folder_;
};

TEST_F(NewTarget, CppBuildsAndRuns) {
  const Ran made = scaffold("cpp");
  ASSERT_EQ(made.status, 0) << made.err;
  ASSERT_TRUE(shell(build_command(made.out))) << made.out;
  const Ran ran = fuzz("mine.so");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("0 violations"), std::string::npos) << ran.out;
}

// The kernel of the scaffold with a bug in it: the run that passes above can fail.
TEST_F(NewTarget, ABrokenKernelIsCaught) {
  const Ran made = scaffold("cpp");
  ASSERT_EQ(made.status, 0) << made.err;
  const std::string path = folder_.path() + "/mine/mine.cc";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::string code = text.str();
  const std::string sum = "square / static_cast<float>(n)";
  ASSERT_NE(code.find(sum), std::string::npos);
  code.replace(code.find(sum), sum.size(), "square / static_cast<float>(n + 1)");
  std::ofstream(path) << code;
  ASSERT_TRUE(shell(build_command(made.out)));
  EXPECT_EQ(fuzz("mine.so").status, 1);
}

TEST_F(NewTarget, PythonRuns) {
  ASSERT_EQ(scaffold("python").status, 0);
  const Ran ran = fuzz("mine.py");
  if (ran.err.find("No module named 'numpy'") != std::string::npos) GTEST_SKIP() << "no NumPy";
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("0 violations"), std::string::npos) << ran.out;
}

TEST_F(NewTarget, OpenClBuildsAndRuns) {
  const Ran made = scaffold("opencl");
  ASSERT_EQ(made.status, 0) << made.err;
  if (!fs::exists("/usr/include/CL/cl.h")) GTEST_SKIP() << "no OpenCL headers";
  ASSERT_TRUE(shell(build_command(made.out))) << made.out;
  const Ran ran = fuzz("mine.so");
  if (ran.err.find("no OpenCL device") != std::string::npos) GTEST_SKIP() << "no OpenCL device";
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("0 violations"), std::string::npos) << ran.out;
}

TEST_F(NewTarget, CudaCompiles) {
  const Ran made = scaffold("cuda");
  ASSERT_EQ(made.status, 0) << made.err;
  if (!shell("command -v nvcc")) GTEST_SKIP() << "no nvcc";
  ASSERT_TRUE(shell(build_command(made.out))) << made.out;
  const Ran ran = fuzz("mine.so");
  if (ran.err.find("no CUDA device") != std::string::npos) GTEST_SKIP() << "no CUDA device; the module compiles and says so";
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
}

TEST_F(NewTarget, NothingIsOverwritten) {
  ASSERT_EQ(scaffold("python").status, 0);
  const Ran again = scaffold("cpp");
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.err.find("exists already"), std::string::npos) << again.err;
  const Ran bad = run_program({"new-target", "two words", "--out", folder_.path()});
  EXPECT_EQ(bad.status, 2);
  EXPECT_NE(bad.err.find("expected letters, digits"), std::string::npos) << bad.err;
  EXPECT_EQ(run_program({"new-target", "x", "--out", "/proc/none"}).status, 2);
}

}  // namespace
}  // namespace normfuzz::testing
