// Shards and their union: case for case the run that is not divided.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/campaign_outputs.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

class Merge : public ::testing::Test {
 protected:
  // 15 blocks of 2 ops and 2 dtypes; `mutant` breaks, cpu does not.
  Ran run(const std::string& out, const std::vector<std::string>& more, const std::string& target) {
    std::vector<std::string> arguments = {
        "run",   "--ops",   "layer_norm,rms_norm", "--dtypes", "f32,f16", "--cases", "960", "--quiet", "--json", "--jobs", "1",
        "--out", file(out), "--targets",           target};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
  std::vector<std::string> run_shards(const std::string& target, const std::string& prefix = "shard") {
    std::vector<std::string> directories;
    for (const std::string shard : {"0/3", "1/3", "2/3"}) {
      const std::string name = prefix + shard.substr(0, 1);
      EXPECT_LE(run(name, {"--shard", shard}, target).status, 1);
      directories.push_back(file(name));
    }
    return directories;
  }
  Ran merge(const std::vector<std::string>& inputs, const std::string& out) {
    std::vector<std::string> arguments = {"merge", "--json", "--out", file(out)};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    return run_program(arguments);
  }
  void expect_equal_to_unsharded(const std::string& target, int status) {
    const Ran whole = run("whole", {}, target);
    EXPECT_EQ(whole.status, status) << whole.err;
    const auto shards = run_shards(target);
    const Ran merged = merge(shards, "merged");
    EXPECT_EQ(merged.status, status) << merged.err;
    EXPECT_EQ(merged.err, "");
    EXPECT_EQ(without_times(merged.out), without_times(whole.out));
    EXPECT_EQ(entries_of(file("merged")), entries_of(file("whole")));
    // One after the other, in another order: what was missing is said, and the end is the same.
    const Ran first = merge({shards[2]}, "steps");
    EXPECT_NE(first.err.find("nothing of shards 0, 1 of 3"), std::string::npos) << first.err;
    EXPECT_NE(without_times(first.out), without_times(whole.out));
    EXPECT_NE(merge({shards[0]}, "steps").err.find("nothing of shard 1 of 3"), std::string::npos);
    const Ran last = merge({shards[1], shards[0]}, "steps");
    EXPECT_EQ(last.status, status) << last.err;
    EXPECT_EQ(without_times(last.out), without_times(whole.out));
    EXPECT_EQ(entries_of(file("steps")), entries_of(file("whole")));
  }
  std::string file(const std::string& name) const { return directory_.file(name); }
  TemporaryDirectory directory_;
};

TEST_F(Merge, ACorrectTarget) { expect_equal_to_unsharded("cpu", 0); }

TEST_F(Merge, AMutantWithItsFindings) {
  expect_equal_to_unsharded("mutants:sample_variance", 1);
  EXPECT_FALSE(entries_of(file("merged")).empty());
}

TEST_F(Merge, AnotherCampaignIsRefusedByWhatDiffers) {
  const auto refused = [&](const std::vector<std::string>& inputs, const std::string& naming) {
    const Ran ran = merge(inputs, "merged");
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(naming), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(inputs.back()), std::string::npos) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(file("merged")));
  };
  EXPECT_EQ(run("a", {"--shard", "0/3"}, "cpu").status, 0);
  EXPECT_EQ(run("b", {"--shard", "1/3", "--seed", "2"}, "cpu").status, 0);
  EXPECT_EQ(run("c", {"--shard", "1/2"}, "cpu").status, 0);
  refused({file("a"), file("b")}, "seed 1, here 2");
  refused({file("a"), file("c")}, "shard 0/3, here 0/2");
  refused({file("a"), file("nothing")}, "no campaign here");
  EXPECT_NE(run_program({"merge", file("b"), "--out", file("a")}).err.find("a campaign of its own"), std::string::npos);
}

}  // namespace
}  // namespace normfuzz::testing
