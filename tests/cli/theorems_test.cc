#include <gtest/gtest.h>

#include <filesystem>

#include "core/case_io.h"
#include "harness/generate/generator.h"
#include "oracles/theorems/property.h"
#include "tests/cli/run_program.h"
#include "tests/json_elements.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

TEST(Theorems, ListsEveryProperty) {
  const Ran ran = run_program({"theorems", "--out", "no/such/folder", "--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const JsonDocument document = json_of(ran);
  const auto list = document.root().find("theorems");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->count(), static_cast<std::int64_t>(all_properties().size()));
  each(*list, [](const JsonValue& t) {
    for (const char* field : {"id", "lean", "kind", "tried", "met", "violations"}) EXPECT_TRUE(t.find(field)) << field;
    EXPECT_EQ(t.find("tried")->integer(), 0);
  });
  const Ran text = run_program({"theorems", "--out", "no/such/folder"});
  EXPECT_LE(longest_line(text.out), 100U) << text.out;
  EXPECT_LE(longest_line(run_program({"theorems", "--out", "no/such/folder", "--verbose"}).out), 100U);
  EXPECT_EQ(run_program({"theorems", "--property", "no.such"}).status, 2);
}

TEST(Theorems, ChecksSmallCases) {
  const Ran ran = run_program({"theorems", "--check", "300", "--property",
                               "bit.layout,rms.scale_moves_epsilon,chan.rows_permutation,ln.one_feature_forward", "--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out.find("\"vacuous\":true"), std::string::npos) << ran.out;
  const JsonDocument document = json_of(ran);
  each(*document.root().find("theorems"), [](const JsonValue& t) {
    EXPECT_GE(t.find("met")->integer(), 300) << t.find("id")->text();
    EXPECT_EQ(t.find("violations")->integer(), 0) << t.find("id")->text();
  });
  const Ran mutant = run_program(
      {"theorems", "--check", "300", "--property", "rms.scale_moves_epsilon,rms.scale_drift", "--target", "mutants:epsilon_fixed"});
  EXPECT_EQ(mutant.status, 1) << mutant.out;
  EXPECT_NE(mutant.err.find("rms.scale_moves_epsilon on mutants:epsilon_fixed"), std::string::npos) << mutant.err;
}

TEST(Theorems, ACampaignCountsThem) {
  const TemporaryDirectory directory;
  const std::string out = directory.path() + "/campaign";
  const Ran run = run_program({"run", "--targets", "cpu", "--ops", "layer_norm,rms_norm", "--cases", "2000", "--properties", "2", "--out",
                               out, "--json", "--jobs", "1"});
  EXPECT_EQ(run.status, 0) << run.err;
  const JsonDocument document = json_of(run);
  const auto properties = document.root().find("properties");
  ASSERT_TRUE(properties);
  std::int64_t tried = 0, violations = 0, oracle = 0;
  each(*properties, [&](const JsonValue& p) {
    tried += p.find("tried")->integer();
    violations += p.find("violations")->integer();
    oracle += p.find("target")->text() == "oracle" ? p.find("met")->integer() : 0;
  });
  EXPECT_GT(tried, 500);
  EXPECT_GT(oracle, 100);
  EXPECT_EQ(violations, 0);
  const JsonDocument listed = json_of(run_program({"theorems", "--out", out, "--json"}));
  std::int64_t listed_tried = 0;
  each(*listed.root().find("theorems"), [&](const JsonValue& t) { listed_tried += t.find("tried")->integer(); });
  EXPECT_EQ(listed_tried, tried);
  // The same campaign with other settings is another campaign.
  EXPECT_EQ(
      run_program({"run", "--targets", "cpu", "--ops", "layer_norm,rms_norm", "--cases", "2000", "--properties", "0", "--out", out}).status,
      2);
}

TEST(Theorems, ReproRunsTheCasesProperty) {
  const TemporaryDirectory directory;
  Case c = generate(1, "rms_norm", DType::kF32, 2, {"gaussian", 48, false});
  const Property& p = *find_property("rms.scale_drift");
  c.property = PropertyRef{std::string(p.id), *p.choose(c, 7)};
  const std::string path = directory.path() + "/case.json";
  ASSERT_TRUE(save_case(c, path));
  const Ran ran = run_program({"repro", path, "--target", "cpu"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.out.find("rms.scale_drift: holds"), std::string::npos) << ran.out;
  c.property->args["c"] = "0x1p+2000";
  ASSERT_TRUE(save_case(c, path));
  EXPECT_NE(run_program({"repro", path, "--target", "cpu"}).out.find("rms.scale_drift: premises not met"), std::string::npos);
}

}  // namespace
}  // namespace normfuzz::testing
