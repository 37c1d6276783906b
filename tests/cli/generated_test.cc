// cases and grade: what is built on the generator.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/case_io.h"
#include "tests/cli/run_program.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

TEST(Cases, FilesAndLinesHoldTheSameCases) {
  const TemporaryDirectory directory;
  const std::vector<std::string> wanted = {
      "cases", "--seed", "5", "--count", "12", "--max-elements", "100", "--op", "layer_norm,rms_norm", "--dtype", "f16,f64"};
  const Ran lines = run_program(wanted);
  ASSERT_EQ(lines.status, 0) << lines.err;
  auto into = wanted;
  into.insert(into.end(), {"--out", directory.file("new/folder")});
  ASSERT_EQ(run_program(into).status, 0);
  std::vector<std::string> from_files, from_lines;
  for (const auto& entry : std::filesystem::directory_iterator(directory.file("new/folder")))
    from_files.push_back(digest(*read_case(entry.path().string())));
  for (std::size_t at = 0; at < lines.out.size();) {
    const std::size_t end = lines.out.find('\n', at);
    const auto c = parse_case(lines.out.substr(at, end - at), "line");
    ASSERT_TRUE(c) << c.error();
    from_lines.push_back(digest(*c));
    at = end + 1;
  }
  std::sort(from_files.begin(), from_files.end());
  std::sort(from_lines.begin(), from_lines.end());
  EXPECT_EQ(from_files.size(), 12U);
  EXPECT_EQ(from_files, from_lines);
}

std::string grade_of(const std::string& target) {
  const Ran ran = run_program(
      {"grade", "--targets", target, "--ops", "layer_norm", "--dtypes", "f32", "--cases", "60", "--max-elements", "512", "--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const JsonDocument document = json_of(ran);
  const auto by_target = document.root().find("by_target");
  if (!by_target || by_target->count() != 1) {
    ADD_FAILURE() << ran.out;
    return {};
  }
  const auto laws = by_target->first().find("laws");
  for (const char* law : {"batch_invariance", "layout", "alignment", "determinism"}) EXPECT_TRUE(laws->find(law)) << law;
  return std::string(by_target->first().find("grade")->text());
}

TEST(Grade, TellsAReferenceFromAMutant) {
  EXPECT_EQ(grade_of("cpu"), "two_pass");
  EXPECT_EQ(grade_of("mutants:sample_variance"), "none");
}

TEST(Grade, TextFitsTheTerminal) {
  const Ran ran = run_program({"grade", "--targets", "cpu", "--cases", "8", "--max-elements", "64"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_LE(longest_line(ran.out), 100U) << ran.out;
  EXPECT_NE(ran.out.find("batch invariance"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace normfuzz::testing
