#include "core/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/temporary_directory.h"

namespace normfuzz {
namespace {

TEST(Files, WriteThenReadIsTheSame) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("a"), content("x\0y\n", 4);
  ASSERT_TRUE(write_file_atomically(path, content));
  EXPECT_EQ(*read_file(path, 4), content);
  ASSERT_TRUE(write_file_atomically(path, ""));
  EXPECT_EQ(*read_file(path, 0), "");
  EXPECT_EQ(directory.entries(), 1u);
}

TEST(Files, ReadingNamesThePathAndTheReason) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("a");
  EXPECT_EQ(read_file(path, 10).error(), path + ": cannot read: No such file or directory");
  EXPECT_EQ(read_file(directory.path(), 10).error(), directory.path() + ": file: a directory, expected a file");
  ASSERT_TRUE(write_file_atomically(path, "12345"));
  EXPECT_EQ(read_file(path, 4).error(), path + ": file: 5 bytes, expected at most 4");
  EXPECT_TRUE(read_file(path, 5));
}

// A file without a known size is read up to the limit, not for ever.
TEST(Files, EndlessInputIsRefused) {
  EXPECT_EQ(read_file("/dev/zero", 1000).error(), "/dev/zero: file: more than 1000 bytes, expected at most 1000");
  EXPECT_EQ(*read_file("/dev/null", 1000), "");
}

TEST(Files, WritingNamesThePathAndTheReason) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("no/such/file");
  EXPECT_EQ(write_file_atomically(path, "x").error(), path + ": cannot create: No such file or directory");
  EXPECT_EQ(write_file_atomically(directory.path(), "x").error(), directory.path() + ": cannot write: Is a directory");
}

// /dev/full fails every write with ENOSPC and, being a device, is written in place, not renamed over.
TEST(Files, FullDeviceIsReportedAndDevicesAreNotReplaced) {
  EXPECT_EQ(write_file_atomically("/dev/full", "x").error(), "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(write_file_atomically("/dev/null", "x"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

// A write that fails half way (here: the process's file size limit) leaves the old file and no temporary one.
TEST(Files, FailureKeepsTheOldFileAndLeavesNothing) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("a");
  ASSERT_TRUE(write_file_atomically(path, "old"));
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{8, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_file_atomically(path, "longer than eight bytes");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error(), path + ": cannot write: File too large");
  EXPECT_EQ(*read_file(path, 100), "old");
  EXPECT_EQ(directory.entries(), 1u);
}

TEST(Files, DirectoryWithoutPermissionIsReported) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write anywhere";
  const testing::TemporaryDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0500), 0);
  const std::string path = directory.file("a");
  EXPECT_EQ(write_file_atomically(path, "x").error(), path + ": cannot create: Permission denied");
  ::chmod(directory.path().c_str(), 0700);
}

TEST(Files, PermissionsFollowTheUmask) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("a");
  const mode_t before = ::umask(022);
  ASSERT_TRUE(write_file_atomically(path, "x"));
  ::umask(before);
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

}  // namespace
}  // namespace normfuzz
