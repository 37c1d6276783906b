#include <gtest/gtest.h>

#include <algorithm>

#include "core/case_io.h"
#include "tests/cli/run_program.h"
#include "tests/public_cases.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

TEST(OracleCommand, JsonGivesTheRecordedResultBitForBit) {
  for (const char* name : {"ln-large-mean-40000", "rmsb-bf16-dweight-300-rows", "bn-running-var-sample", "qk-f16-head-over-256"}) {
    const Ran ran = run_program({"oracle", public_case(name), "--json"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    const JsonDocument document = json_of(ran);
    const auto expect = document.root().find("expect");
    ASSERT_TRUE(expect) << ran.out;
    const auto c = read_case(public_case(name));
    ASSERT_TRUE(c);
    for (const auto& [output, recorded] : c->expect) {
      const auto y = expect->find(output);
      ASSERT_TRUE(y) << output;
      EXPECT_EQ(y->find("dtype")->text(), name_of(recorded.dtype));
      const auto data = strings_of(*y->find("data"));
      ASSERT_EQ(static_cast<std::int64_t>(data.size()), recorded.size());
      for (std::int64_t i = 0; i < recorded.size(); ++i)
        EXPECT_EQ(bits_from_value(recorded.dtype, *value_from_hex(data[static_cast<std::size_t>(i)])), recorded.bits(i))
            << name << " " << i;
    }
  }
}

TEST(OracleCommand, VerifyAcceptsEveryPublicCase) {
  std::vector<std::string> arguments = {"oracle", "--verify", "--json"};
  const auto files = public_case_files();
  arguments.insert(arguments.end(), files.begin(), files.end());
  const Ran ran = run_program(arguments);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(static_cast<std::size_t>(std::count(ran.out.begin(), ran.out.end(), '\n')), files.size());
}

TEST(OracleCommand, VerifySeesAWrongRecord) {
  const TemporaryDirectory directory;
  Case c = *read_case(public_case("ln-large-mean-40000"));
  ASSERT_TRUE(save_case(c, directory.file("right.json")));
  c.expect.at("y").set_bits(2, c.expect.at("y").bits(2) ^ 1);
  ASSERT_TRUE(save_case(c, directory.file("wrong.json")));
  EXPECT_EQ(run_program({"oracle", "--verify", directory.file("right.json")}).status, 0);
  const Ran wrong = run_program({"oracle", "--verify", directory.file("wrong.json")});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.out.find("differs at y[2]"), std::string::npos) << wrong.out;
}

TEST(OracleCommand, ReadingsAndDigits) {
  const TemporaryDirectory directory;
  Case c = *read_case(public_case("ln-three-features"));
  c.params["epsilon"] = 0.0;
  c.expect.clear();
  Tensor x = Tensor::zeros(DType::kF32, {2, 3});
  for (int i = 0; i < 3; ++i) x.set_value(3 + i, i);
  c.set_input("x", x);
  const std::string path = directory.file("c.json");
  ASSERT_TRUE(save_case(c, path));
  const auto y_of = [&](const std::string& reading) {
    const Ran ran = run_program({"oracle", path, "--json", "--reading", reading});
    const JsonDocument document = json_of(ran);
    return strings_of(*document.root().find("expect")->find("y")->find("data"));
  };
  EXPECT_EQ(y_of("totalized")[0], "0x0p+0");
  EXPECT_EQ(y_of("ieee")[0], "nan");
  EXPECT_EQ(y_of("totalized")[5], y_of("ieee")[5]);
  const Ran text = run_program({"oracle", path, "--digits", "30"});
  EXPECT_NE(text.out.find("1.22474487139158904909864203735e+0"), std::string::npos) << text.out;  // sqrt(3/2)
  EXPECT_LE(longest_line(text.out), 100U);
}

TEST(OracleCommand, ManyCasesInOneFile) {
  const TemporaryDirectory directory;
  const Ran cases = run_program({"cases", "--count", "24", "--max-elements", "64"});
  ASSERT_EQ(cases.status, 0) << cases.err;
  ASSERT_TRUE(write_file_atomically(directory.file("cases.jsonl"), cases.out));
  const Ran answers = run_program({"oracle", directory.file("cases.jsonl"), "--json"});
  EXPECT_EQ(answers.status, 0) << answers.err;
  EXPECT_EQ(std::count(answers.out.begin(), answers.out.end(), '\n'), 24);
}

}  // namespace
}  // namespace normfuzz::testing
