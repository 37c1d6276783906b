// What drivers do: nothing about a correct kernel, a message and a BugZoo entry about a broken one.
#include "fuzz/session.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "harness/recipe/mutate.h"
#include "tests/temporary_directory.h"

namespace normfuzz::fuzzing {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Session> open(std::string_view family, const SessionOptions& options) {
  auto s = Session::open(*find_family(family), options);
  EXPECT_TRUE(s) << s.error();
  return std::move(*s);
}

std::size_t entries(const fs::path& folder) {
  std::size_t count = 0;
  std::error_code error;
  for (const auto& e : fs::directory_iterator(folder, error))
    count += fs::exists(e.path() / "case.json") && fs::exists(e.path() / "README.md");
  return count;
}

TEST(Session, NothingAboutACorrectKernel) {
  const normfuzz::testing::TemporaryDirectory out;
  for (const Family& f : all_families()) {
    const auto session = open(f.name, {.target = "cpu", .out = out.path()});
    for (std::uint64_t seed = 0; seed < 25; ++seed) ASSERT_TRUE(session->run(random_bytes(seed))) << f.name << " " << seed;
  }
  EXPECT_EQ(entries(out.path() + "/bugzoo"), 0u);
}

TEST(Session, AMessageAndOneEntryAboutABrokenOne) {
  const normfuzz::testing::TemporaryDirectory out;
  const auto session = open("layer_norm", {.target = "mutants:epsilon_dropped", .out = out.path()});
  std::vector<std::uint8_t> bytes;
  ::testing::internal::CaptureStderr();
  for (std::uint64_t seed = 0; seed < 500 && bytes.empty(); ++seed)
    if (!session->run(random_bytes(seed))) bytes = random_bytes(seed);
  const std::string text = ::testing::internal::GetCapturedStderr();
  ASSERT_FALSE(bytes.empty());
  for (const char* part : {"a finding of driver layer_norm", "mutants:epsilon_dropped", "verdict  contract (standard)", "element  ",
                           "again    ./normfuzz repro "})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(entries(out.path() + "/bugzoo"), 1u);
  // The same divergence again, also seen by another process, has its entry.
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(session->run(bytes));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("/bugzoo/mutants-"), std::string::npos);
  EXPECT_EQ(entries(out.path() + "/bugzoo"), 1u);
}

TEST(Session, ATargetThatCannotBeLoadedIsNamed) {
  const auto unknown = Session::open(*find_family("norms"), {.target = "nowhere"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().find("nowhere"), std::string::npos) << unknown.error();
  const auto missing = Session::open(*find_family("norms"), {.target = "./nowhere.so"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().find("nowhere.so"), std::string::npos) << missing.error();
}

TEST(Session, OptionsComeFromTheEnvironment) {
  setenv("NORMFUZZ_FUZZ_TARGET", "onednn", 1);
  setenv("NORMFUZZ_FUZZ_GUIDANCE", "none", 1);
  setenv("NORMFUZZ_FUZZ_WORKER", "process", 1);
  auto options = options_from_environment();
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->target, "onednn");
  EXPECT_EQ(options->guidance, Guidance::kNone);
  EXPECT_TRUE(options->own_process);
  EXPECT_FALSE(options->keep_going);
  setenv("NORMFUZZ_FUZZ_GUIDANCE", "some", 1);
  options = options_from_environment();
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error(), "NORMFUZZ_FUZZ_GUIDANCE: 'some', expected all, coverage or none");
  for (const char* name : {"NORMFUZZ_FUZZ_TARGET", "NORMFUZZ_FUZZ_GUIDANCE", "NORMFUZZ_FUZZ_WORKER"}) unsetenv(name);
}

}  // namespace
}  // namespace normfuzz::fuzzing
