// What is committed is never lost, and however a campaign was interrupted, its sum is the same.
#include "harness/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/database.h"
#include "tests/harness/stored_campaign.h"

namespace normfuzz::testing {
namespace {

namespace fs = std::filesystem;

TEST(Store, ContinuesWhereItStopped) {
  TemporaryDirectory directory;
  {
    Store store = opened(directory.path());
    EXPECT_EQ(store.next_block(), 0u);
    for (std::uint64_t b = 0; b < 5; ++b) commit(store, b);
  }
  Store store = opened(directory.path());
  EXPECT_EQ(store.next_block(), 5u);
  for (std::uint64_t b = 5; b < 12; ++b) commit(store, b);
  EXPECT_EQ(picture(store), reference(up_to(12)));
  EXPECT_NE(picture(store), reference(up_to(11)));
}

TEST(Store, CountsABlockOnce) {
  TemporaryDirectory directory;
  Store store = opened(directory.path());
  for (const std::uint64_t b : {0, 1, 0, 3, 3, 1, 2, 3}) commit(store, b);
  EXPECT_EQ(picture(store), reference(up_to(4)));
}

TEST(Store, BlocksMayFinishOutOfOrder) {
  TemporaryDirectory directory;
  for (const std::uint64_t b : {4, 0, 7, 2, 1}) {
    Store store = opened(directory.path());
    commit(store, b);
  }
  Store store = opened(directory.path());
  EXPECT_EQ(store.next_block(), 3u);
  EXPECT_EQ(picture(store), reference({0, 1, 2, 4, 7}));
  for (const std::uint64_t b : {3, 6, 5}) commit(store, b);
  EXPECT_EQ(store.next_block(), 8u);
  EXPECT_EQ(picture(store), reference(up_to(8)));
  EXPECT_EQ(picture(value_of(Store::open_for_reading(directory.path()))), reference(up_to(8)));
}

TEST(Store, LongCampaignsStaySmall) {
  TemporaryDirectory directory;
  const std::uint64_t many = 200;
  Store store = opened(directory.path(), sample_settings(1, 2));
  std::set<std::uint64_t> blocks;
  for (std::uint64_t b = 1; b < 2 * many; b += 2) {
    commit(store, b ^ 2);  // neighbours in exchanged order
    blocks.insert(b ^ 2);
  }
  EXPECT_EQ(picture(store), reference(blocks, sample_settings(1, 2)));
  EXPECT_EQ(picture(value_of(Store::open_for_reading(directory.path()))), picture(store));
  std::int64_t single = 0, folded = 0;
  const Database database = value_of(Database::open_for_reading(directory.file("campaign.db")));
  ASSERT_TRUE(database.query("SELECT count(*) FROM pending", {}, [&](const Database::Row& row) { single = row.integer(0); }));
  ASSERT_TRUE(database.query("SELECT blocks FROM shard", {}, [&](const Database::Row& row) { folded = row.integer(0); }));
  EXPECT_EQ(single + folded, static_cast<std::int64_t>(many));
  EXPECT_LT(single, 80);
}

TEST(Store, RefusesOtherSettingsAndSaysWhich) {
  TemporaryDirectory directory;
  { commit(*std::make_unique<Store>(opened(directory.path())), 0); }
  CampaignSettings s = sample_settings();
  s.seed = 8;
  s.generator_version = 2;
  s.targets = {"cpu"};
  const auto store = Store::open(directory.path(), s);
  ASSERT_FALSE(store);
  for (const char* part :
       {"campaign.db", "seed 7, here 8", "generator version 1, here 2", "targets cpu,mutants:one_pass, here cpu", "--out"})
    EXPECT_NE(store.error().find(part), std::string::npos) << part << " in " << store.error();
  EXPECT_EQ(store.error().find("dtypes"), std::string::npos) << store.error();

  s = sample_settings();
  std::swap(s.targets[0], s.targets[1]);  // another order is no other setting
  EXPECT_EQ(opened(directory.path(), s).next_block(), 1u);
  const auto shard = Store::open(directory.path(), sample_settings(1, 2));
  ASSERT_FALSE(shard);
  EXPECT_NE(shard.error().find("shard 0/1, here 1/2"), std::string::npos) << shard.error();
}

TEST(Store, RefusesABlockOfAnotherShard) {
  TemporaryDirectory directory;
  Store store = opened(directory.path(), sample_settings(1, 3));
  EXPECT_EQ(store.next_block(), 1u);
  EXPECT_FALSE(store.commit_block(sample_block(2)));
  commit(store, 1);
  EXPECT_EQ(store.next_block(), 4u);
}

TEST(Store, FindingsReadBack) {
  TemporaryDirectory directory;
  Store store = opened(directory.path());
  for (std::uint64_t b = 0; b < 6; ++b) commit(store, b);
  const auto candidates = value_of(store.candidates());
  ASSERT_GE(candidates.size(), 2u);
  Finding f = sample_finding(candidates[0]);
  ASSERT_TRUE(store.put_finding(f));
  ASSERT_TRUE(store.put_finding(sample_finding(candidates[1])));
  f.status = FindingStatus::kKnown;
  ASSERT_TRUE(store.put_finding(f));  // replaces
  auto findings = value_of(store.findings());
  ASSERT_EQ(findings.size(), 2u);
  const Finding& back = findings[0].signature() == f.signature() ? findings[0] : findings[1];
  EXPECT_EQ(back.status, FindingStatus::kKnown);
  EXPECT_EQ(back.version, f.version);
  EXPECT_EQ(back.variants, f.variants);
  EXPECT_EQ(back.needs, f.needs);
  EXPECT_EQ(back.admitted_by, f.admitted_by);
  EXPECT_EQ(back.shrunk, f.shrunk);
  EXPECT_EQ(back.first_index, f.first_index);
  ASSERT_EQ(back.judgement.evidence.size(), 2u);
  EXPECT_TRUE(std::signbit(back.judgement.evidence[0].got));
  EXPECT_EQ(back.judgement.evidence[0].exact, f.judgement.evidence[0].exact);
  EXPECT_EQ(back.judgement.evidence[0].allowed, f.judgement.evidence[0].allowed);
  EXPECT_TRUE(std::isnan(back.judgement.evidence[1].got));
  EXPECT_EQ(back.judgement.evidence[1].verdict, ElementVerdict::kLimit);
  ASSERT_EQ(back.outcome.outputs.size(), 1u);
  EXPECT_EQ(back.outcome.outputs[0].second, f.outcome.outputs[0].second);
  EXPECT_EQ(back.outcome.memory.detail, f.outcome.memory.detail);
  ASSERT_TRUE(store.remove_finding(f.signature()));
  EXPECT_EQ(value_of(store.findings()).size(), 1u);
}

TEST(Store, NotesAreKept) {
  TemporaryDirectory directory;
  ASSERT_TRUE(opened(directory.path()).put_note("version of cpu", "1.0"));
  Store store = opened(directory.path());
  ASSERT_TRUE(store.put_note("version of cpu", "1.1"));
  EXPECT_EQ(value_of(store.notes()), (std::map<std::string, std::string>{{"version of cpu", "1.1"}}));
}

TEST(Store, ASecondWriterIsRefusedAReaderIsNot) {
  TemporaryDirectory directory;
  {
    Store store = opened(directory.path());
    commit(store, 0);
    const auto second = Store::open(directory.path(), sample_settings());
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().find("campaign.db: locked: another normfuzz run (process " + std::to_string(getpid()) + ")"),
              std::string::npos)
        << second.error();
    const Store reader = value_of(Store::open_for_reading(directory.path()));
    EXPECT_EQ(picture(reader), reference({0}));
    commit(store, 1);
  }
  EXPECT_EQ(opened(directory.path()).next_block(), 2u);
}

// A process that commits until it is killed, and says so behind every commit.
class Writer {
 public:
  explicit Writer(const std::string& directory) {
    if (pipe(pipe_) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) run(directory);
    close(pipe_[1]);
  }
  ~Writer() {
    end();
    close(pipe_[0]);
  }
  // False: it ended by itself.
  bool wait_for_a_commit() {
    char byte = 0;
    const bool told = read(pipe_[0], &byte, 1) == 1;
    commits_ += told;
    return told;
  }
  // Kills it; how many commits it had told of.
  std::uint64_t end() {
    if (pid_ <= 0) return commits_;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
    while (wait_for_a_commit()) continue;
    return commits_;
  }

 private:
  [[noreturn]] void run(const std::string& directory) {
    auto store = Store::open(directory, sample_settings());
    if (!store) _exit(3);
    for (;;)
      if (!store->commit_block(sample_block(store->next_block())) || write(pipe_[1], "c", 1) != 1) _exit(4);
  }
  int pipe_[2];
  pid_t pid_ = -1;
  std::uint64_t commits_ = 0;
};

TEST(Store, KillInTheMiddleOfWritingLosesNothingCommitted) {
  TemporaryDirectory directory;
  std::uint64_t before = 0;
  for (int round = 0; round < 12; ++round) {
    Writer writer(directory.path());
    for (int i = 0; i <= 2 * round; ++i) ASSERT_TRUE(writer.wait_for_a_commit()) << "the writer ended by itself";
    std::this_thread::sleep_for(std::chrono::microseconds(307 * round));
    const std::uint64_t told = writer.end();
    const Store store = opened(directory.path());
    const std::uint64_t now = store.next_block();
    EXPECT_EQ(store.blocks(), up_to(now));
    EXPECT_GE(now, before + told);      // nothing that was committed is missing
    EXPECT_LE(now, before + told + 1);  // and at most one commit had not been told of
    before = now;
  }
  Store store = opened(directory.path());
  commit(store, before);
  EXPECT_EQ(picture(store), reference(up_to(before + 1)));
}

// A small file system of its own; `mounted` is false where the system does not permit it.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const char* options) : path_(path), mounted_(mount("tmpfs", path.c_str(), "tmpfs", 0, options) == 0) {}
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  bool change(unsigned long flags, const char* options) const {
    return mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | flags, options) == 0;
  }

 private:
  std::string path_;
  bool mounted_;
};
#define SKIP_UNLESS_MOUNTED(disk) \
  if (!(disk).mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted: " << std::strerror(errno)

TEST(Store, FullDiskLosesNothingAndGoesOnWhenThereIsSpace) {
  TemporaryDirectory directory;
  const SmallDisk disk(directory.path(), "size=400k");
  SKIP_UNLESS_MOUNTED(disk);
  Store store = opened(directory.path());
  std::uint64_t b = 0;
  Status status = Unit{};
  while ((status = store.commit_block(sample_block(b)))) ASSERT_LT(++b, 10'000u) << "the disk never filled";
  EXPECT_NE(status.error().find("campaign.db: write: the disk is full"), std::string::npos) << status.error();
  ASSERT_GT(b, 0u);
  EXPECT_EQ(picture(store), reference(up_to(b)));
  EXPECT_FALSE(store.commit_block(sample_block(b)));
  ASSERT_TRUE(disk.change(0, "size=8m"));
  for (const std::uint64_t end = b + 3; b < end; ++b) commit(store, b);
  EXPECT_EQ(picture(store), reference(up_to(b)));
}

TEST(Store, FullDiskAtTheStart) {
  TemporaryDirectory directory;
  const SmallDisk disk(directory.path(), "size=8k");
  SKIP_UNLESS_MOUNTED(disk);
  const auto store = Store::open(directory.path(), sample_settings());
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().find("the disk is full"), std::string::npos) << store.error();
}

TEST(Store, ReadOnlyFolderIsReadButNotWritten) {
  TemporaryDirectory directory;
  const SmallDisk disk(directory.path(), "size=4m");
  SKIP_UNLESS_MOUNTED(disk);
  { commit(*std::make_unique<Store>(opened(directory.path())), 0); }
  ASSERT_TRUE(disk.change(MS_RDONLY, "size=4m"));
  const auto store = Store::open(directory.path(), sample_settings());
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().find("--out"), std::string::npos) << store.error();
  EXPECT_EQ(picture(value_of(Store::open_for_reading(directory.path()))), reference({0}));
}

TEST(Store, TruncatedFileIsRefused) {
  TemporaryDirectory directory;
  {
    Store store = opened(directory.path());
    for (std::uint64_t b = 0; b < 20; ++b) commit(store, b);
  }
  const std::string file = directory.file("campaign.db");
  const auto whole = fs::file_size(file);
  TemporaryDirectory copies;
  for (std::uint64_t keep = 1; keep < whole; keep += 1999) {
    const std::string copy = copies.file("copy.db");
    fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    fs::resize_file(copy, keep);
    const auto store = Store::open_for_reading(copy);
    ASSERT_FALSE(store) << keep << " of " << whole << " bytes";
    EXPECT_NE(store.error().find("copy.db"), std::string::npos) << store.error();
  }
  fs::resize_file(file, whole / 2);
  const auto store = Store::open(directory.path(), sample_settings());
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().find("damaged"), std::string::npos) << store.error();
  EXPECT_NE(store.error().find("move it away"), std::string::npos) << store.error();
  EXPECT_EQ(fs::file_size(file), whole / 2) << "a damaged file is left as it is";
}

TEST(Store, OtherFilesAreRefused) {
  TemporaryDirectory directory;
  const std::string file = directory.file("campaign.db");
  const auto refused = [&](std::string_view expected) {
    for (const auto& store : {Store::open(directory.path(), sample_settings()), Store::open_for_reading(directory.path())}) {
      ASSERT_FALSE(store);
      EXPECT_NE(store.error().find(expected), std::string::npos) << store.error();
    }
  };
  std::ofstream(file) << "not a database, but long enough to be taken for the header of one: " << std::string(200, '.');
  refused("damaged");
  fs::remove(file);
  { ASSERT_TRUE(value_of(Database::open(file)).execute("CREATE TABLE recipes (name TEXT)")); }
  refused("not a campaign of normfuzz");
  fs::remove(file);
  { commit(*std::make_unique<Store>(opened(directory.path())), 0); }
  { ASSERT_TRUE(value_of(Database::open(file)).execute("PRAGMA user_version = 99")); }
  refused("schema version 99");
}

TEST(Store, MissingCampaignIsNamed) {
  TemporaryDirectory directory;
  const auto store = Store::open_for_reading(directory.path());
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().find(directory.file("campaign.db") + ": no campaign here"), std::string::npos) << store.error();
  const auto below_a_file = Store::open("/dev/null/out", sample_settings());
  ASSERT_FALSE(below_a_file);
  EXPECT_NE(below_a_file.error().find("/dev/null/out: cannot be created"), std::string::npos) << below_a_file.error();
}

}  // namespace
}  // namespace normfuzz::testing
