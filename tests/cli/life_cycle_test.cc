// A finding from its first day to its repair: new, adopted, known on other seeds, news again on a version nobody waived, fixed, back.
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "core/files.h"
#include "core/replace_all.h"
#include "tests/cli/run_program.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

namespace fs = std::filesystem;

// A framework in a folder of its own, whose kernel divides by n - 1 up to version 2.16 (tests/plugins/versioned.c).
class LifeOfAFinding : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_.file("framework"));
    fs::copy_file(NORMFUZZ_BINARY_DIR "/tests/plugins/versioned.so", directory_.file("framework/versioned.so"));
  }
  // A campaign in a directory of its own.
  Ran fuzz(const std::string& out, int seed, const std::string& version, const std::vector<std::string>& more = {}, bool kept = false) {
    std::istringstream words("run --dtypes f32 --cases 96 --jobs 1 --regime gaussian --properties 0 --seed " + std::to_string(seed));
    std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
    arguments.insert(arguments.end(), {"--ops", op_, "--target", directory_.file("framework/versioned.so")});
    arguments.insert(arguments.end(), {"--out", directory_.file(out), "--corpus", directory_.file("corpus")});
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<std::string> environment = {"NORMFUZZ_TEST_VERSION=" + version};
    if (kept) environment.emplace_back("NORMFUZZ_TEST_FAULT=kept");
    return run_program(arguments, environment);
  }
  // "SLUG STATUS" of each finding, and of what is said about earlier entries.
  static std::vector<std::string> statuses(const Ran& ran, const char* list) {
    const JsonDocument document = json_of(ran);
    std::vector<std::string> found;
    const auto all = document.root().find(list);
    if (!all || all->count() == 0) return found;
    JsonValue v = all->first();
    for (std::int64_t i = 0; i < all->count(); ++i) {
      found.push_back(std::string(v.find("slug")->text()) + " " + std::string(v.find("status")->text()));
      if (i + 1 < all->count()) v = v.next();
    }
    return found;
  }
  std::string text_of(const std::string& name) const {
    const auto text = read_file(directory_.file(name), std::size_t{1} << 20);
    return text ? *text : "absent: " + text.error();
  }
  void write_waiver(const std::string& draft, const std::string& versions) {
    std::string text = draft.substr(draft.find("[[known]]"));
    replace_all(text, "reason = \"\"", "reason = \"documented\"");
    replace_all(text, "source = \"\"", "source = \"owner/repository#1\"");
    replace_all(text, "\">=2.15.1\"", "\"" + versions + "\"");
    ASSERT_TRUE(write_file_atomically(directory_.file("framework/known.toml"), text));
  }
  std::string op_ = "layer_norm";
  TemporaryDirectory directory_;
};

using Lines = std::vector<std::string>;

TEST_F(LifeOfAFinding, FromNewToFixedAndBack) {
  const Ran first = fuzz("first", 1, "2.15.1", {"--json"});
  EXPECT_EQ(first.status, 1) << first.err;
  const Lines found = statuses(first, "findings");
  ASSERT_EQ(found.size(), 1U) << first.out;
  const std::string slug = found[0].substr(0, found[0].find(' '));
  EXPECT_EQ(found[0], slug + " new");

  const Ran adopted = run_program({"adopt", slug, "--out", directory_.file("first"), "--corpus", directory_.file("corpus")});
  ASSERT_EQ(adopted.status, 0) << adopted.err;
  EXPECT_FALSE(fs::exists(directory_.file("first/bugzoo/" + slug)));
  EXPECT_NE(text_of("corpus/bugzoo/" + slug + "/status.json").find("\"status\": \"known\""), std::string::npos);
  EXPECT_NE(text_of("corpus/bugzoo/" + slug + "/status.json").find("\"first_seen\": {\"version\": \"versioned 2.15.1\", \"seed\": 1"),
            std::string::npos);

  const Ran not_waived = fuzz("not-waived", 1, "2.15.1", {"--json"});
  EXPECT_EQ(not_waived.status, 1) << "adopted is not waived";
  write_waiver(adopted.out, ">=2.15,<2.17");
  const Ran waived = fuzz("waived", 1, "2.15.1", {"--json"});
  EXPECT_EQ(waived.status, 0) << waived.out << waived.err;
  EXPECT_EQ(statuses(waived, "findings"), Lines{slug + " known"});
  const Ran other_seed = fuzz("other-seed", 2, "2.16.0", {"--json"});
  EXPECT_EQ(other_seed.status, 0) << other_seed.out << other_seed.err;
  EXPECT_EQ(statuses(other_seed, "findings"), Lines{slug + " known"}) << "another seed, another version: the same signature";

  const Ran outside = fuzz("outside", 3, "2.17.0", {}, true);
  EXPECT_EQ(outside.status, 1) << outside.out << outside.err;
  EXPECT_NE(outside.out.find("is for versions >=2.15,<2.17"), std::string::npos) << outside.out;
  const Ran repaired = fuzz("repaired", 3, "2.17.0");
  EXPECT_EQ(repaired.status, 0) << repaired.out << repaired.err;
  EXPECT_NE(repaired.out.find(" fixed: " + slug), std::string::npos) << repaired.out;
  EXPECT_NE(repaired.out.find("0 findings, 0 new; of earlier runs 0 new, 1"), std::string::npos) << repaired.out;
  const Ran within = fuzz("within", 3, "2.17.0", {"--json"});
  EXPECT_EQ(statuses(within, "earlier"), Lines{slug + " fixed"}) << within.out;

  fs::remove(directory_.file("framework/known.toml"));
  op_ = "rms_norm";
  const Ran back = fuzz("back", 3, "2.17.0", {"--json"}, true);  // a campaign that cannot find it by itself
  EXPECT_EQ(back.status, 1) << back.out << back.err;
  EXPECT_TRUE(statuses(back, "findings").empty());
  EXPECT_EQ(statuses(back, "earlier"), Lines{slug + " new"});
  // It is in the stored campaign, for whoever reads or joins it.
  EXPECT_EQ(statuses(run_program({"report", directory_.file("back"), "--json"}), "earlier"), Lines{slug + " new"});
  const Ran merged = run_program({"merge", directory_.file("back"), "--out", directory_.file("merged"), "--json"});
  EXPECT_EQ(merged.status, 1) << merged.err;
  EXPECT_EQ(statuses(merged, "earlier"), Lines{slug + " new"});
}

TEST_F(LifeOfAFinding, AWaiverForOneClassIsNoneForAnother) {
  EXPECT_EQ(fuzz("first", 1, "2.15.1").status, 1);
  const std::string entry = directory_.file("corpus/bugzoo/entry");
  fs::create_directories(directory_.file("corpus/bugzoo"));
  fs::copy(fs::directory_iterator(directory_.file("first/bugzoo"))->path(), entry);
  const auto waive = [&](const std::string& failure) {
    return write_file_atomically(directory_.file("framework/known.toml"),
                                 "[[known]]\nname = \"w\"\nop = \"*\"\ndtype = \"*\"\nlaw = \"*\"\nclass = \"" + failure +
                                     "\"\nneeds = \"*\"\nversions = \"*\"\nreason = \"r\"\nsource = \"s\"\ncount = 9\n");
  };
  std::string status = text_of("corpus/bugzoo/entry/status.json");
  ASSERT_NE(status.find("\"class\": \"wrong\""), std::string::npos) << status;
  replace_all(status, "\"class\": \"wrong\"", "\"class\": \"nan\"");
  ASSERT_TRUE(write_file_atomically(entry + "/status.json", status));
  op_ = "rms_norm";
  ASSERT_TRUE(waive("nan"));
  const Ran other = fuzz("other", 2, "2.15.1", {"--json"});
  EXPECT_EQ(statuses(other, "earlier"), Lines{"entry new"}) << other.out;
  EXPECT_NE(other.out.find("now as contract"), std::string::npos) << other.out;
  ASSERT_TRUE(waive("wrong"));
  EXPECT_EQ(statuses(fuzz("same", 2, "2.15.1", {"--json"}), "earlier"), Lines{"entry known"});
}

TEST_F(LifeOfAFinding, FindingsOfThePreviousRunAreTriedAgain) {
  EXPECT_EQ(fuzz("first", 1, "2.15.1").status, 1);
  const Ran repaired = fuzz("second", 2, "2.17.0", {"--json", "--previous", directory_.file("first")});
  EXPECT_EQ(repaired.status, 0) << repaired.out << repaired.err;
  ASSERT_EQ(statuses(repaired, "earlier").size(), 1U) << repaired.out;
  EXPECT_NE(repaired.out.find("no longer reproduces on versioned 2.17.0"), std::string::npos) << repaired.out;
  op_ = "rms_norm";
  const Ran kept = fuzz("third", 3, "2.17.0", {"--json", "--previous", directory_.file("first")}, true);
  EXPECT_EQ(kept.status, 1) << kept.out << kept.err;
  op_ = "layer_norm";
  const Ran nowhere = fuzz("fourth", 1, "2.15.1", {"--previous", directory_.file("nowhere")});
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_NE(nowhere.err.find("nowhere: no such directory, expected that of an earlier run"), std::string::npos) << nowhere.err;
}

TEST_F(LifeOfAFinding, ACountThatIsUsedUpIsNews) {
  const std::string any =
      "op = \"*\"\ndtype = \"*\"\nlaw = \"*\"\nclass = \"*\"\nneeds = \"*\"\nversions = \"*\"\nreason = \"r\"\nsource = \"s\"\n";
  ASSERT_TRUE(write_file_atomically(directory_.file("framework/known.toml"), "[[known]]\nname = \"all\"\n" + any + "count = 1\n"));
  fs::create_directories(directory_.file("corpus/bugzoo"));
  EXPECT_EQ(fuzz("first", 1, "2.15.1").status, 0);
  // The same case as an entry of another signature.
  const std::string entry = directory_.file("corpus/bugzoo/another");
  const std::string zoo = directory_.file("first/bugzoo");
  ASSERT_FALSE(fs::is_empty(zoo));
  fs::copy(fs::directory_iterator(zoo)->path(), entry);
  std::string status = text_of("corpus/bugzoo/another/status.json");
  replace_all(status, "\"needs\": []", "\"needs\": [\"axis\"]");
  replace_all(status, "\"needs\": [\"", "\"needs\": [\"axis\", \"");
  ASSERT_TRUE(write_file_atomically(entry + "/status.json", status));
  const Ran ran = fuzz("second", 1, "2.15.1");
  EXPECT_EQ(ran.status, 1) << ran.out;
  EXPECT_NE(ran.out.find("covers 1 signature already"), std::string::npos) << ran.out;
}

TEST_F(LifeOfAFinding, WhatCannotRunHereIsNotFixed) {
  EXPECT_EQ(fuzz("first", 1, "2.15.1").status, 1);
  const std::string entry = fs::directory_iterator(directory_.file("first/bugzoo"))->path().string();
  const std::string whole = *read_file(entry + "/status.json", 1 << 20);
  const auto announced = [&](const std::string& from, const std::string& to, const std::string& version) {
    std::string status = whole;
    replace_all(status, from, to);
    EXPECT_NE(status, whole) << from;
    EXPECT_TRUE(write_file_atomically(entry + "/status.json", status));
    fs::remove_all(directory_.file("second"));
    const Ran ran = fuzz("second", 2, version, {"--json", "--previous", directory_.file("first")});
    EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
    const Lines all = statuses(ran, "earlier");
    return all.size() == 1 ? all[0].substr(all[0].find(' ') + 1) : ran.out;
  };
  EXPECT_EQ(announced("\"isa\": null", "\"isa\": \"avx1024\"", "2.17.0"), "not applicable");
  EXPECT_EQ(announced("\"version\": null", "\"version\": \">=2.18\"", "2.17.0"), "not applicable");
  EXPECT_EQ(announced("[\"default\"]", "[\"fast\"]", "2.17.0"), "not applicable");
  EXPECT_EQ(announced("\"version\": null", "\"version\": \">=2.17\"", "2.17.0"), "fixed");
}

TEST_F(LifeOfAFinding, AMalformedWaiverStopsTheRunAtOnce) {
  ASSERT_TRUE(write_file_atomically(directory_.file("framework/known.toml"), "[[known]]\nname = \"n\"\nop = \"softmax\"\n"));
  const Ran ran = fuzz("first", 1, "2.15.1");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("known.toml: line 3: known[0].op: holds \"softmax\", expected an op of `normfuzz ops`"), std::string::npos)
      << ran.err;
  EXPECT_FALSE(fs::exists(directory_.file("first/campaign.db")));
}

}  // namespace
}  // namespace normfuzz::testing
