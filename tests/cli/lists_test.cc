#include <gtest/gtest.h>

#include "tests/cli/run_program.h"

namespace normfuzz::testing {
namespace {

TEST(Help, EveryCommandHasExamples) {
  const Ran top = run_program({"--help"});
  EXPECT_EQ(top.status, 0);
  EXPECT_EQ(run_program({}).out, top.out);
  EXPECT_LE(longest_line(top.out), 100U);
  for (const char* command : {"run", "report", "merge", "repro", "check", "oracle", "grade", "selfcheck", "audit", "targets", "ops",
                              "regimes", "theorems", "cases", "new-target"}) {
    EXPECT_NE(top.out.find(std::string("\n  ") + command + " "), std::string::npos) << command;
    const Ran help = run_program({command, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.out.find(std::string("  normfuzz ") + command), std::string::npos) << help.out;
    EXPECT_EQ(help.err, "");
  }
  EXPECT_TRUE(run_program({"--version"}).out.starts_with("normfuzz "));
}

TEST(Targets, JsonAndTableAgree) {
  const Ran ran = run_program({"targets", "--json"});
  EXPECT_EQ(ran.status, 0);
  const JsonDocument document = json_of(ran);
  const auto targets = document.root().find("targets");
  ASSERT_TRUE(targets && targets->count() > 0);
  const Ran text = run_program({"targets"});
  EXPECT_LE(longest_line(text.out), 100U) << text.out;
  bool cpu = false;
  JsonValue t = targets->first();
  for (std::int64_t i = 0;; t = t.next()) {
    for (const char* field : {"name", "version", "available", "reason", "ops", "dtypes", "contract"}) EXPECT_TRUE(t.find(field)) << field;
    const std::string name(t.find("name")->text());
    EXPECT_NE(text.out.find(name), std::string::npos) << name;
    EXPECT_NE(t.find("version")->text().empty(), t.find("reason")->text().empty()) << name << ": a version or a reason";
    cpu = cpu || name == "cpu";
    if (++i == targets->count()) break;
  }
  EXPECT_TRUE(cpu);
}

TEST(Lists, OpsAndRegimes) {
  const Ran ops = run_program({"ops", "--json"}), regimes = run_program({"regimes", "--json"});
  const JsonDocument o = json_of(ops), r = json_of(regimes);
  ASSERT_TRUE(o.root().find("ops") && r.root().find("regimes"));
  EXPECT_GE(o.root().find("ops")->count(), 2);
  EXPECT_GE(r.root().find("regimes")->count(), 17);
  for (const char* list : {"ops", "regimes"}) EXPECT_LE(longest_line(run_program({list}).out), 100U);
}

}  // namespace
}  // namespace normfuzz::testing
