// run --guided: the same climbs whatever the threads and wherever they were interrupted; they find, and they only rise.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "tests/cli/run_program.h"
#include "tests/temporary_directory.h"

namespace normfuzz {
namespace {

using testing::run_program;
using testing::TemporaryDirectory;

std::string worst_of(const std::string& out, const std::string& target) {
  const auto text = read_file(out + "/worst/" + target + ".txt", std::size_t{1} << 24);
  EXPECT_TRUE(text) << text.error();
  return text ? *text : "";
}

int guided(const std::string& out, const std::string& cases, std::vector<std::string> more) {
  std::vector<std::string> arguments = {
      "run", "--guided", "--ops", "layer_norm,rms_norm", "--dtypes", "f32", "--seed", "3", "--cases", cases, "--out", out, "--quiet"};
  if (std::find(more.begin(), more.end(), "--targets") == more.end()) more.insert(more.end(), {"--targets", "cpu"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments).status;
}

TEST(Guided, ThreadsAndInterruptionsChangeNothing) {
  const TemporaryDirectory dir;
  const std::string whole = dir.path() + "/whole", parts = dir.path() + "/parts";
  EXPECT_EQ(guided(whole, "512", {"--jobs", "1"}), 0);
  EXPECT_EQ(guided(parts, "192", {"--jobs", "2"}), 0);
  EXPECT_NE(worst_of(whole, "cpu"), worst_of(parts, "cpu"));
  EXPECT_EQ(guided(parts, "512", {"--jobs", "2"}), 0);
  EXPECT_EQ(worst_of(whole, "cpu"), worst_of(parts, "cpu"));
}

TEST(Guided, StartsFromKnownInputs) {
  const TemporaryDirectory dir;
  const std::string first = dir.path() + "/first", second = dir.path() + "/second";
  EXPECT_EQ(guided(first, "256", {}), 0);
  EXPECT_EQ(guided(second, "64", {"--worst", first + "/worst"}), 0);
  const std::string known = worst_of(first, "cpu"), after = worst_of(second, "cpu");
  EXPECT_NE(after.find(known.substr(0, known.find('\n'))), std::string::npos);
}

TEST(Guided, TheCorpusHoldsWhatIsKnown) {
  const TemporaryDirectory dir;
  EXPECT_EQ(guided(dir.path() + "/out", "64", {"--worst", NORMFUZZ_SOURCE_DIR "/corpus/worst"}), 0);
  const auto corpus = read_file(NORMFUZZ_SOURCE_DIR "/corpus/worst/cpu.txt", std::size_t{1} << 24);
  ASSERT_TRUE(corpus) << corpus.error();
  const std::size_t begin = corpus->find("\nrms_norm f32 ") + 1;
  const std::string line = corpus->substr(begin, corpus->find('\n', begin) - begin);
  EXPECT_NE(worst_of(dir.path() + "/out", "cpu").find(line), std::string::npos);
}

TEST(Guided, FindsAMutant) {
  const TemporaryDirectory dir;
  EXPECT_EQ(guided(dir.path() + "/out", "256", {"--targets", "mutants:one_pass_variance"}), 1);
  EXPECT_FALSE(std::filesystem::is_empty(dir.path() + "/out/bugzoo"));
}

TEST(Guided, WhatMakesNoSenseIsRefused) {
  const TemporaryDirectory dir;
  const std::string out = dir.path() + "/out";
  EXPECT_EQ(guided(out, "64", {"--shard", "0/2"}), 2);
  EXPECT_EQ(guided(out, "64", {"--regime", "gaussian"}), 2);
  EXPECT_EQ(guided(out, "64", {"--worst", dir.path() + "/nothing"}), 2);
  EXPECT_EQ(run_program({"run", "--worst", dir.path(), "--targets", "cpu", "--out", out}).status, 2);
  EXPECT_EQ(guided(out, "64", {}), 0);
  EXPECT_EQ(run_program({"run", "--targets", "cpu", "--cases", "64", "--out", out}).status, 2);  // holds a guided campaign
}

}  // namespace
}  // namespace normfuzz
