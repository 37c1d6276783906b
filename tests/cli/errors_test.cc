// Whatever is wrong: exit status 2, nothing on stdout, one line on stderr that names the thing.
#include <gtest/gtest.h>

#include "core/case_io.h"
#include "tests/cli/run_program.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

void expect_refused(const std::vector<std::string>& arguments, const std::string& naming,
                    const std::vector<std::string>& environment = {}) {
  const Ran ran = run_program(arguments, environment);
  std::string command;
  for (const std::string& a : arguments) command += a + " ";
  EXPECT_EQ(ran.status, 2) << command << ran.out << ran.err;
  EXPECT_EQ(ran.out, "") << command;
  EXPECT_TRUE(ran.err.starts_with("normfuzz: ")) << command << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << command << ran.err;
  EXPECT_NE(ran.err.find(naming), std::string::npos) << command << ran.err;
}

TEST(Errors, Usage) {
  expect_refused({"orcale"}, "did you mean 'oracle'");
  expect_refused({"frobnicate"}, "unknown command 'frobnicate'");
  expect_refused({"oracle"}, "FILE");
  expect_refused({"oracle", "--jason", "a.json"}, "--jason");
  expect_refused({"oracle", "--jason"}, "--jason");
  expect_refused({"--jason"}, "--jason");
  expect_refused({"oracle", "a.json", "--digits", "0"}, "--digits");
  expect_refused({"oracle", "a.json", "--reading", "poetic"}, "--reading");
  expect_refused({"cases", "--seed", "-3"}, "--seed");
  expect_refused({"cases", "--count", "many"}, "--count");
  expect_refused({"cases", "--op", "softmax"}, "softmax");
  expect_refused({"cases", "--dtype", "f8"}, "f8");
  expect_refused({"cases", "--regime", "calm"}, "calm");
  expect_refused({"grade", "--ops", "softmax"}, "softmax");
  expect_refused({"run", "--cases", "0"}, "--cases");
  expect_refused({"selfcheck", "--time", "soon"}, "--time");
  expect_refused({"selfcheck", "--climbs", "0"}, "--climbs");
  expect_refused({"theorems", "--check", "0"}, "--check");
  expect_refused({"selfcheck", "--contracts", "generous"}, "generous");
  expect_refused({"check", "--op", "layer_norm", "--y", "y.npy"}, "--x");
  expect_refused({"check", "--op", "layer_norm", "--x", "/nowhere.npy", "--y", "y.npy"}, "/nowhere.npy");
  expect_refused({"repro", "x.npy"}, "--op");
}

TEST(Errors, Targets) {
  const std::string path = public_case("ln-one-feature");
  expect_refused({"repro", path, "--target", "abacus"}, "abacus");
  expect_refused({"repro", path, "--target", "cpu:avx9"}, "avx9");
  expect_refused({"repro", path, "--target", "./nothing.so"}, "nothing.so");
  expect_refused({"grade", "--targets", "abacus"}, "abacus");
  const TemporaryDirectory empty;  // a build without targets
  expect_refused({"targets"}, empty.path(), {"NORMFUZZ_WORKER_DIR=" + empty.path()});
  expect_refused({"repro", path, "--target", "cpu"}, empty.path(), {"NORMFUZZ_WORKER_DIR=" + empty.path()});
}

// An unavailable target asked for by name is status 2; asked for nothing, it is only listed.
TEST(Errors, AnUnavailableTargetByName) {
  const TemporaryDirectory build;
  const auto write = [&](const std::string& name, const std::string& text) { ASSERT_TRUE(write_file_atomically(build.file(name), text)); };
  std::filesystem::create_directories(build.file("targets/ghost"));
  write("targets/ghost/manifest.toml", "[target]\nname = \"ghost\"\nkind = \"native\"\n");
  write("targets/ghost/unavailable.txt", "not installed: a test says so\n");
  const std::vector<std::string> environment = {"NORMFUZZ_WORKER_DIR=" + build.path()};
  expect_refused({"repro", public_case("ln-one-feature"), "--target", "ghost"}, "not installed: a test says so", environment);
  const Ran listed = run_program({"targets"}, environment);
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_NE(listed.out.find("not installed: a test says so"), std::string::npos) << listed.out;
}

class BadFiles : public ::testing::Test {
 protected:
  void refused(const std::string& text, const std::string& naming) {
    ASSERT_TRUE(write_file_atomically(directory_.file("bad.json"), text));
    for (const char* command : {"oracle", "repro"}) {
      expect_refused({command, directory_.file("bad.json")}, naming);
      expect_refused({command, directory_.file("bad.json")}, "bad.json");
    }
  }
  std::string with(const std::string& from, const std::string& to) {
    std::string text = write_case(*read_case(public_case("ln-three-features")));
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  TemporaryDirectory directory_;
};

TEST_F(BadFiles, NameFieldAndExpectation) {
  const std::string whole = write_case(*read_case(public_case("ln-three-features")));
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 3})
    refused(whole.substr(0, length), "bad.json");
  refused(with("\"0x1.4f8b58p-17\"", "\"nan\""), "epsilon");
  refused(with("\"shape\":[1,3]", "\"shape\":[4294967296,4294967296]"), "shape");
  refused(with("\"shape\":[1,3]", "\"shape\":[9223372036854775807,9223372036854775807,3]"), "shape");
  refused(with("layer_norm", "softmax"), "softmax");
  refused(with("normfuzz.case/1", "normfuzz.case/9"), "schema");
  refused(with("\"epsilon\"", "\"epsilom\""), "epsilom");
}

TEST_F(BadFiles, MissingFilesAndDirectories) {
  expect_refused({"oracle", directory_.file("absent.json")}, "absent.json");
  expect_refused({"repro", directory_.file("absent.json")}, "absent.json");
  expect_refused({"repro", directory_.path()}, "case.json");
  expect_refused({"oracle", directory_.path()}, "case.json");
  ASSERT_TRUE(write_file_atomically(directory_.file("x.npy"), "\x93NUMPY\x01"));
  expect_refused({"repro", directory_.file("x.npy"), "--op", "layer_norm", "--epsilon", "1e-5"}, "x.npy");
}

TEST(Errors, AFullDiskIsNoSilence) {
  const Ran ran = run_program({"oracle", public_case("ln-one-feature"), "--verify"});
  EXPECT_EQ(ran.status, 0);
  const int full = std::system(
      (std::string(NORMFUZZ_BINARY_DIR "/normfuzz oracle ") + public_case("ln-one-feature") + " >/dev/full 2>/dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(full), 2);
}

}  // namespace
}  // namespace normfuzz::testing
