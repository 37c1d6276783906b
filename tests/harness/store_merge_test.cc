// However a campaign was cut, its joined parts are the whole.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/store.h"
#include "tests/harness/stored_campaign.h"

namespace normfuzz::testing {
namespace {

namespace fs = std::filesystem;

// One shard's file with its findings, one per candidate, as a run leaves it.
void run_shard(const std::string& directory, int shard, int shards, std::uint64_t blocks) {
  Store store = opened(directory, sample_settings(shard, shards));
  while (store.next_block() < blocks) commit(store, store.next_block());
  for (const Candidate& c : value_of(store.candidates())) ASSERT_TRUE(store.put_finding(sample_finding(c)));
}

TEST(Merge, EqualsTheUnshardedRun) {
  TemporaryDirectory whole, directory;
  run_shard(whole.path(), 0, 1, 30);
  std::vector<std::string> files;
  for (int shard = 0; shard < 3; ++shard) {
    files.push_back(directory.file(std::to_string(shard)));
    run_shard(files.back(), shard, 3, 30);
    files.back() += "/campaign.db";
  }
  const std::string output = directory.file("all.db");
  const auto status = Store::merge(files, output);
  ASSERT_TRUE(status) << status.error();
  EXPECT_EQ(picture(value_of(Store::open_for_reading(output))), picture(value_of(Store::open_for_reading(whole.path()))));

  // In two steps, in another order, with repetitions.
  const std::string steps = directory.file("steps.db");
  ASSERT_TRUE(Store::merge(std::vector{files[2], files[0], files[2]}, steps));
  EXPECT_NE(picture(value_of(Store::open_for_reading(steps))), picture(value_of(Store::open_for_reading(output))));
  ASSERT_TRUE(Store::merge(std::vector{files[1], files[0]}, steps));
  EXPECT_EQ(picture(value_of(Store::open_for_reading(steps))), picture(value_of(Store::open_for_reading(output))));
  EXPECT_FALSE(fs::exists(steps + ".partial"));
}

TEST(Merge, AnOlderCopyAddsNothing) {
  TemporaryDirectory directory;
  const std::string a = directory.file("a"), old = directory.file("old.db"), output = directory.file("all.db");
  {
    Store store = opened(a);
    for (const std::uint64_t b : {0, 1, 2, 5}) commit(store, b);
  }
  fs::copy_file(a + "/campaign.db", old);
  {
    Store store = opened(a);
    for (const std::uint64_t b : {3, 4, 6}) commit(store, b);
  }
  for (const auto& inputs : {std::vector{old, a}, std::vector{a, old, old}}) {
    fs::remove(output);
    ASSERT_TRUE(Store::merge(inputs, output));
    EXPECT_EQ(picture(value_of(Store::open_for_reading(output))), reference(up_to(7)));
  }
}

TEST(Merge, CopiesThatWentOnApartAreUnited) {
  TemporaryDirectory directory;
  const std::string a = directory.file("a"), b = directory.file("b"), output = directory.file("all.db");
  {
    Store first = opened(a), second = opened(b);
    for (const std::uint64_t block : {0, 1, 2, 3, 7}) commit(first, block);
    for (const std::uint64_t block : {0, 1, 4, 7, 9}) commit(second, block);
  }
  ASSERT_TRUE(Store::merge(std::vector{a, b}, output));
  EXPECT_EQ(picture(value_of(Store::open_for_reading(output))), reference({0, 1, 2, 3, 4, 7, 9}));
}

TEST(Merge, WhatOneShardSaysIsNotLostToOneThatSaysNothing) {
  TemporaryDirectory directory;
  const std::string a = directory.file("a"), b = directory.file("b"), output = directory.file("all.db");
  const auto put = [&](const std::string& file, int shard, const std::string& said) {
    Store store = opened(file, sample_settings(shard, 2));
    ASSERT_TRUE(store.put_note("interrupted", said));
  };
  put(a, 0, "");
  put(b, 1, "yes");
  const auto said = [&] { return value_of(value_of(Store::open_for_reading(output)).notes())["interrupted"]; };
  ASSERT_TRUE(Store::merge(std::vector{a, b}, output));
  EXPECT_EQ(said(), "yes");
  put(b, 1, "");  // it was continued to its end
  ASSERT_TRUE(Store::merge(std::vector{b}, output));
  EXPECT_EQ(said(), "");
}

TEST(Merge, NewsOfOneShardIsNews) {
  TemporaryDirectory directory;
  const std::string a = directory.file("a"), b = directory.file("b"), output = directory.file("all.db");
  run_shard(a, 0, 2, 30);
  run_shard(b, 1, 2, 30);
  const auto waive = [](const std::string& file, int shard) {
    Store store = opened(file, sample_settings(shard, 2));
    for (Finding f : value_of(store.findings())) {
      f.status = FindingStatus::kKnown;
      ASSERT_TRUE(store.put_finding(f));
    }
  };
  const auto news = [&] {
    const std::vector<Finding> all = value_of(value_of(Store::open_for_reading(output)).findings());
    EXPECT_FALSE(all.empty());
    return std::count_if(all.begin(), all.end(), [](const Finding& f) { return f.status == FindingStatus::kNew; });
  };
  waive(a, 0);
  std::size_t of_b = value_of(value_of(Store::open_for_reading(b)).findings()).size();
  ASSERT_TRUE(Store::merge(std::vector{a, b}, output));
  EXPECT_EQ(news(), static_cast<std::ptrdiff_t>(of_b));
  waive(b, 1);
  ASSERT_TRUE(Store::merge(std::vector{a, b}, output));
  EXPECT_EQ(news(), 0);
}

TEST(Merge, RefusesWhatDoesNotBelongTogether) {
  TemporaryDirectory directory;
  const std::string a = directory.file("a"), b = directory.file("b"), output = directory.file("all.db");
  CampaignSettings other = sample_settings(1, 2);
  other.seed = 9;
  { commit(*std::make_unique<Store>(opened(a, sample_settings(0, 2))), 0); }
  { commit(*std::make_unique<Store>(opened(b, other)), 1); }
  auto status = Store::merge(std::vector{a, b}, output);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().find("seed 7, here 9"), std::string::npos) << status.error();
  EXPECT_FALSE(fs::exists(output));
  status = Store::merge(std::vector{a}, b + "/campaign.db");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().find("is a campaign of its own"), std::string::npos) << status.error();
  status = Store::merge(std::vector{directory.file("none.db")}, output);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().find("none.db: no campaign here"), std::string::npos) << status.error();
}

}  // namespace
}  // namespace normfuzz::testing
