// run --engine ray: what is refused at once, and that a campaign on Ray that loses workers equals a plain run.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "harness/store.h"
#include "tests/cli/campaign_outputs.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

void expect_refused(const std::vector<std::string>& arguments, const std::string& naming,
                    const std::vector<std::string>& environment = {}) {
  const TemporaryDirectory directory;
  std::vector<std::string> all = {"run", "--targets", "cpu", "--out", directory.file("out")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Ran ran = run_program(all, environment);
  EXPECT_EQ(ran.status, 2) << naming;
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(naming), std::string::npos) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

TEST(Engine, ArgumentsThatMakeNoSense) {
  expect_refused({"--workers", "2"}, "--workers: needs --engine ray");
  expect_refused({"--resources", "cpu=GPU:1"}, "--resources: needs --engine ray");
  expect_refused({"--engine", "dask"}, "--engine");
  expect_refused({"--engine", "ray", "--shard", "0/4"}, "--shard: --engine ray makes the shards itself");
  expect_refused({"--engine", "ray", "--shards", "1"}, "at least 2");
  expect_refused({"--engine", "ray", "--resources", "cpu=GPU"}, "expected TARGET=NAME:AMOUNT");
  expect_refused({"--engine", "ray", "--resources", "cpu=GPU:0"}, "expected TARGET=NAME:AMOUNT");
  expect_refused({"--engine", "ray", "--resources", "torch=GPU:1"}, "\"torch\" is none of the targets");
  expect_refused({"--engine", "ray"}, "--shards: needed with the cluster of RAY_ADDRESS", {"RAY_ADDRESS=192.0.2.1:6379"});
}

TEST(Engine, RayThatIsNotSetUpIsSaid) {
  const TemporaryDirectory build;
  std::filesystem::create_directory_symlink(NORMFUZZ_BINARY_DIR "/targets", build.file("targets"));
  expect_refused({"--engine", "ray"}, "./normfuzz setup ray", {"NORMFUZZ_WORKER_DIR=" + build.path()});
}

bool have_ray() {
  std::string python;
  std::ifstream file(NORMFUZZ_BINARY_DIR "/engine/ray_python.txt");
  return std::getline(file, python) && std::filesystem::exists(python);
}
#define SKIP_WITHOUT_RAY() \
  if (!have_ray()) GTEST_SKIP() << "Ray is not set up: ./normfuzz setup ray"

// Waits until the shard has stored a block; the process that writes it. 0: it ended before.
pid_t writer_of(const std::string& shard, const std::future<Ran>& campaign) {
  while (campaign.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    const auto store = Store::open_for_reading(shard);
    if (!store || store->blocks().empty()) continue;
    pid_t pid = 0;
    std::ifstream(shard + "/campaign.db.lock") >> pid;
    return pid;
  }
  return 0;
}

pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  return 0;
}

class OnRay : public ::testing::Test {
 protected:
  std::vector<std::string> arguments(const std::string& out, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"run",        "--ops",
                                    "layer_norm", "--dtypes",
                                    "f32,f16",    "--cases",
                                    cases_,       "--json",
                                    "--jobs",     "1",
                                    "--targets",  "cpu,mutants:sample_variance",
                                    "--out",      directory_.file(out)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string cases_ = "3200";
  TemporaryDirectory directory_;
};

// A shard's program dies, and the worker of Ray above another one: each costs only its shard, which is tried again.
TEST_F(OnRay, TwoWorkersOneKilledEqualsThePlainRun) {
  SKIP_WITHOUT_RAY();
  auto campaign = std::async(std::launch::async, [&] {
    return run_program(arguments("ray", {"--engine", "ray", "--workers", "2", "--shards", "4"}));
  });
  const pid_t program = writer_of(directory_.file("ray/shards/0"), campaign);
  ASSERT_GT(program, 1);
  kill(program, SIGKILL);
  const pid_t other = writer_of(directory_.file("ray/shards/1"), campaign);
  ASSERT_GT(other, 1);
  const pid_t worker = parent_of(other);
  ASSERT_GT(worker, 1);
  kill(worker, SIGKILL);
  const Ran ray = campaign.get();
  EXPECT_NE(ray.err.find("shard 0/4: lost (signal 9), tried again"), std::string::npos) << ray.err;
  EXPECT_NE(ray.err.find("shard 1/4: lost (WorkerCrashedError), tried again"), std::string::npos) << ray.err;
  const Ran plain = run_program(arguments("plain", {"--quiet"}));
  EXPECT_EQ(plain.status, 1) << plain.err;
  EXPECT_EQ(ray.status, 1) << ray.err;
  EXPECT_EQ(without_times(ray.out), without_times(plain.out));
  EXPECT_EQ(entries_of(directory_.file("ray")), entries_of(directory_.file("plain")));
  EXPECT_FALSE(entries_of(directory_.file("ray")).empty());

  // The same command again has nothing left to do; with other settings it is refused before Ray starts.
  const Ran refused = run_program(arguments("ray", {"--engine", "ray", "--workers", "2", "--shards", "4", "--seed", "2"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("seed 1, here 2"), std::string::npos) << refused.err;
}

TEST_F(OnRay, AResourceThatNobodyHasIsSaid) {
  SKIP_WITHOUT_RAY();
  if (std::filesystem::exists("/dev/nvidia0")) GTEST_SKIP() << "this machine has a GPU";
  const Ran ran = run_program(arguments("gpu", {"--engine", "ray", "--workers", "2", "--shards", "2", "--resources", "cpu=GPU:1"}));
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("no node of the cluster has GPU:1"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace normfuzz::testing
