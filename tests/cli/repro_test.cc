#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "core/case_io.h"
#include "core/npy.h"
#include "tests/cli/run_program.h"
#include "tests/public_cases.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

// Where float32 squares or products leave the range, the contract of the in-tree kernels bounds nothing.
TEST(Repro, EveryPublicCaseIsCertifiedOnCpu) {
  const std::map<std::string, std::string> beyond_float32 = {{"cos-zero-eps-product", "range_limit"},
                                                             {"l2-1e30", "range_limit"},
                                                             {"lp-norm-1e30", "range_limit"},
                                                             {"rms-tiny-1e-30", "undecided"}};
  for (const std::string& file : public_case_files()) {
    const Ran ran = run_program({"repro", file, "--target", "cpu", "--json"});
    EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
    const JsonDocument document = json_of(ran);
    const auto exception = beyond_float32.find(std::filesystem::path(file).stem());
    EXPECT_EQ(document.root().find("targets")->first().find("verdict")->text(),
              exception == beyond_float32.end() ? "certified" : exception->second)
        << file;
  }
}

TEST(Repro, ThePublicCaseAsTextFitsTheScreen) {
  for (const char* name : {"ln-large-mean-40000", "bn-running-var-sample", "rmsb-expanded-dy"}) {
    const Ran ran = run_program({"repro", public_case(name), "--target", "cpu"});
    EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
    EXPECT_NE(ran.out.find("element"), std::string::npos) << ran.out;
    EXPECT_LE(longest_line(ran.out), 100U) << ran.out;
  }
}

TEST(Repro, ADivergenceIsStatusOne) {
  const Ran ran =
      run_program({"repro", public_case("ln-three-features"), "--target", "mutants:sample_variance", "--target", "cpu", "--json"});
  EXPECT_EQ(ran.status, 1) << ran.err;
  const JsonDocument document = json_of(ran);
  const auto targets = document.root().find("targets");
  ASSERT_TRUE(targets && targets->count() == 2) << ran.out;
  const JsonValue mutant = targets->first(), cpu = mutant.next();
  EXPECT_EQ(mutant.find("target")->text(), "mutants:sample_variance");
  EXPECT_EQ(mutant.find("outcome")->text(), "ok");
  EXPECT_EQ(mutant.find("verdict")->text(), "contract");
  EXPECT_EQ(cpu.find("verdict")->text(), "certified");
  ASSERT_EQ(mutant.find("elements")->count(), 3);
  for (const char* field : {"index", "got", "exact", "allowed", "ulps"}) EXPECT_TRUE(mutant.find("elements")->first().find(field)) << field;
}

TEST(Repro, EntriesSidecarsAndLongTables) {
  const TemporaryDirectory directory;
  Case c = *read_case(public_case("ln-three-features"));
  c.expect.clear();
  Tensor x = Tensor::zeros(DType::kF64, {3, 4099});  // beyond kMaxTextElements: the data lie in case.safetensors
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, 1.0 / static_cast<double>(i + 1));
  c.set_input("x", x);
  ASSERT_TRUE(save_case(c, directory.file("case.json")));
  ASSERT_TRUE(std::filesystem::exists(sidecar_path(directory.file("case.json"))));
  const Ran entry = run_program({"repro", directory.path(), "--target", "cpu", "--rows", "4"});
  EXPECT_EQ(entry.status, 0) << entry.out << entry.err;
  EXPECT_NE(entry.out.find("... 12293 more"), std::string::npos) << entry.out;
  EXPECT_LE(longest_line(entry.out), 100U) << entry.out;
  std::filesystem::remove(sidecar_path(directory.file("case.json")));
  EXPECT_EQ(run_program({"repro", directory.path(), "--target", "cpu"}).status, 2);
}

TEST(Repro, AnArrayAsInput) {
  const TemporaryDirectory directory;
  Tensor x = Tensor::zeros(DType::kBF16, {2, 4});
  for (std::int64_t i = 0; i < 8; ++i) x.set_value(i, static_cast<double>(i * i));
  ASSERT_TRUE(write_file_atomically(directory.file("x.npy"), write_npy(x)));
  const std::vector<std::string> arguments = {"repro", directory.file("x.npy"), "--op", "rms_norm", "--epsilon", "1e-6", "--target", "cpu"};
  const Ran without = run_program(arguments);
  EXPECT_EQ(without.status, 2) << "uint16 without --dtype bf16";
  auto with = arguments;
  with.insert(with.end(), {"--dtype", "bf16"});
  const Ran ran = run_program(with);
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("bf16 [2,4]"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace normfuzz::testing
