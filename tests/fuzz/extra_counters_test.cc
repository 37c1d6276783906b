// libFuzzer finds the extra counters, says so, and grows its corpus by them: a probe compiled here without any other coverage.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "core/files.h"
#include "tests/temporary_directory.h"

namespace normfuzz {
namespace {

struct Finished {
  int status = -1;
  std::string output;
};
Finished shell(const std::string& command) {
  Finished run;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return run;
  std::array<char, 4096> block;
  for (std::size_t n; (n = fread(block.data(), 1, block.size(), pipe)) > 0;) run.output.append(block.data(), n);
  run.status = WEXITSTATUS(pclose(pipe));
  return run;
}

// Knows its inputs by their first byte alone, without a branch that coverage could see.
constexpr char kProbe[] = R"(
#include "fuzz/extra_counters.h"
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  normfuzz::fuzzing::note_feature(size > 0 ? data[0] : 256);
  return 0;
}
)";

class ExtraCounters : public ::testing::Test {
 protected:
  void SetUp() override {
    if (compiler_.empty()) GTEST_SKIP() << "no clang++ with libFuzzer (Debian: clang-16, libclang-rt-16-dev)";
    ASSERT_TRUE(write_file_atomically(folder_.path() + "/empty.cc",
                                      "extern \"C\" int LLVMFuzzerTestOneInput(const void*, unsigned long);\n"
                                      "int LLVMFuzzerTestOneInput(const void*, unsigned long) { return 0; }\n"));
    ASSERT_TRUE(write_file_atomically(folder_.path() + "/probe.cc", kProbe));
  }
  // Links libFuzzer to sources compiled without any coverage.
  std::string build(const std::string& name, const std::string& sources) {
    const std::string program = folder_.path() + "/" + name;
    const Finished run = shell(compiler_ +
                               " -std=c++20 -O2 -I'" NORMFUZZ_SOURCE_DIR
                               "' -fsanitize=fuzzer -fno-sanitize-coverage=inline-8bit-counters,"
                               "indirect-calls,trace-cmp,pc-table " +
                               sources + " -o '" + program + "'");
    EXPECT_EQ(run.status, 0) << run.output;
    return program;
  }
  const std::string compiler_ = NORMFUZZ_LIBFUZZER_COMPILER;
  const normfuzz::testing::TemporaryDirectory folder_;
};

TEST_F(ExtraCounters, AreAnnouncedAndGuide) {
  const std::string program = build("probe", "'" + folder_.path() + "/probe.cc' '" NORMFUZZ_SOURCE_DIR "/fuzz/extra_counters.cc'");
  const Finished run = shell("'" + program + "' -runs=3000 -seed=1 -max_len=4");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_NE(run.output.find("INFO: 32768 Extra Counters"), std::string::npos) << run.output;
  std::size_t news = 0;
  for (std::size_t at = 0; (at = run.output.find("\tNEW ", at)) != std::string::npos; ++at) ++news;
  EXPECT_GT(news, 20u) << run.output;
}

TEST_F(ExtraCounters, AreNotThereWithoutTheArray) {
  const Finished run = shell("'" + build("empty", "'" + folder_.path() + "/empty.cc'") + "' -runs=10 -seed=1");
  EXPECT_EQ(run.output.find("Extra Counters"), std::string::npos) << run.output;
}

}  // namespace
}  // namespace normfuzz
