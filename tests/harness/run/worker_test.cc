// Every outcome by its own name, from C and from Python plug-ins with one fault each; what dies costs exactly its case.
#include "harness/run/worker.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/run/sanitizer.h"
#include "tests/harness/run/run_testing.h"

namespace normfuzz {
namespace {

using Kind = OutcomeKind;

class WorkerOf : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("py") && !python_has_numpy())
      GTEST_SKIP() << default_python() << " has no NumPy (NORMFUZZ_PYTHON names another)";
  }
  std::unique_ptr<Worker> make(const std::string& name, const WorkerLimits& limits = quick_limits()) const {
    return Worker::create(plugin(name + "." + GetParam()), limits);
  }
};
INSTANTIATE_TEST_SUITE_P(, WorkerOf, testing::Values("so", "py"),
                         [](const auto& info) { return std::string(info.param) == "so" ? "C" : "Python"; });

void expect_good(const Outcome& o, const Case& c) {
  ASSERT_EQ(o.kind, Kind::kOk) << o.message;
  EXPECT_TRUE(o.memory.clean()) << o.memory.detail;
  ASSERT_EQ(o.outputs.size(), 1u);
  const Tensor& x = *c.input("x");
  const Tensor& y = o.outputs[0].second;
  EXPECT_TRUE(y.dense());
  ASSERT_EQ(y.shape, x.shape);
  const std::int64_t cols = x.shape.back();
  for (std::int64_t row = 0; row < x.size() / cols; ++row) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < cols; ++i) values.push_back(static_cast<float>(x.value(row * cols + i)));
    const std::vector<float> expected = plain_layer_norm_row(values, static_cast<float>(c.epsilon()));
    for (std::int64_t i = 0; i < cols; ++i) EXPECT_EQ(y.value(row * cols + i), expected[static_cast<std::size_t>(i)]) << row << ", " << i;
  }
}

TEST_P(WorkerOf, CorrectTargetGivesItsResults) {
  const auto worker = make("correct");
  const auto version = worker->version();
  ASSERT_TRUE(version) << version.error();
  EXPECT_EQ(*version, "example 1.0");
  std::vector<Case> cases;
  for (const std::int64_t cols : {1, 2, 4, 17, 300}) cases.push_back(small_case(3, cols));
  const auto outcomes = worker->run(pointers(cases));
  ASSERT_EQ(outcomes.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) expect_good(outcomes[i], cases[i]);
}

TEST_P(WorkerOf, EveryFaultHasItsOwnName) {
  WorkerLimits limits = quick_limits();
  limits.seconds_per_case = 5;
  const auto worker = make("faulty", limits);
  const auto o = run_widths(*worker, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 25, 26});
  for (const std::size_t good : {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20}) {
    EXPECT_EQ(o[good].kind, Kind::kOk) << good << ": " << o[good].message;
    EXPECT_TRUE(o[good].memory.clean()) << good << ": " << o[good].memory.detail;
  }
  EXPECT_EQ(o[1].kind, Kind::kCrashed);
  EXPECT_EQ(o[1].signal, SIGSEGV);
  EXPECT_EQ(o[1].message, "killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(o[3].kind, Kind::kTimedOut);
  EXPECT_EQ(o[3].message, "no result after 5 s");
  EXPECT_EQ(o[5].kind, Kind::kOk);
  EXPECT_EQ(o[5].memory.overrun, "y");
  EXPECT_EQ(o[5].memory.detail, "y: byte 0 after the last element");
  EXPECT_EQ(o[7].kind, Kind::kOk);
  EXPECT_EQ(o[7].memory.changed_input, "x");
  EXPECT_EQ(o[7].memory.detail, "x: element [0, 1] of an input changed");
  ASSERT_EQ(o[9].kind, Kind::kOk);
  EXPECT_TRUE(o[9].memory.clean());
  EXPECT_TRUE(std::isnan(o[9].outputs[0].second.value(0)));
  EXPECT_EQ(o[11].kind, Kind::kOk);
  EXPECT_EQ(o[11].memory.unwritten_output, "y");
  EXPECT_EQ(o[11].memory.unwritten_elements, 1);
  EXPECT_EQ(o[11].memory.detail, "y: 1 of 26 elements never written, the first is [0, 12]");
  EXPECT_EQ(o[13].kind, Kind::kCrashed);
  EXPECT_EQ(o[13].signal, 0);
  EXPECT_EQ(o[13].exit_status, 4);
  EXPECT_EQ(o[13].message, "exited with status 4");
  EXPECT_EQ(o[15].memory.overrun, "y");
  EXPECT_EQ(o[15].memory.detail, "y: byte 4 before the first element");
  EXPECT_EQ(o[17].kind, Kind::kUnsupported);
  EXPECT_EQ(o[17].message, "no kernel for 23 columns");
  EXPECT_EQ(o[19].kind, Kind::kRejected);
  EXPECT_NE(o[19].message.find("25 columns are refused"), std::string::npos) << o[19].message;
  EXPECT_FALSE(worker->suspended());
}

TEST_P(WorkerOf, MemoryBeyondTheLimitCostsTheCase) {
  if (kAddressSanitizer) GTEST_SKIP() << "no memory limit under the address sanitizer";
  WorkerLimits limits = quick_limits();
  limits.seconds_per_case = 200;
  limits.memory_bytes = std::uint64_t{256} << 20;
  const auto worker = make("faulty", limits);
  const auto o = run_widths(*worker, {16, 17, 18});
  EXPECT_EQ(o[0].kind, Kind::kOk) << o[0].message;
  EXPECT_EQ(o[1].kind, GetParam() == std::string("so") ? Kind::kCrashed : Kind::kRejected) << o[1].message;
  EXPECT_EQ(o[2].kind, Kind::kOk) << o[2].message;
}

TEST_P(WorkerOf, OneKilledFromOutsideEachTimeIsBlamedAfterTheSecond) {
  const auto worker = make("faulty");
  const auto o = run_widths(*worker, {18, 19, 20});
  EXPECT_EQ(o[0].kind, Kind::kOk) << o[0].message;
  EXPECT_EQ(o[1].kind, Kind::kCrashed);
  EXPECT_EQ(o[1].signal, SIGKILL);
  EXPECT_EQ(o[1].message, "killed by signal 9 (SIGKILL) twice: out of memory, or from outside");
  EXPECT_EQ(o[2].kind, Kind::kOk) << o[2].message;
}

TEST_P(WorkerOf, AWriteFarBeyondTheOutputIsBlamedOnTheCaseThatDidIt) {
  const auto worker = make("faulty");
  const auto o = run_widths(*worker, {28, 29, 30, 31, 32});
  for (const std::size_t good : {0, 2, 3, 4}) EXPECT_TRUE(o[good].memory.clean()) << good << ": " << o[good].memory.detail;
  EXPECT_EQ(o[1].memory.overrun, "y");
  EXPECT_EQ(o[1].memory.detail, "y: byte 2000 after the last element");
}

TEST(WorkerSuspension, AfterTwentyEqualCrashesInARow) {
  const auto worker = Worker::create(plugin("faulty.so"), quick_limits());
  std::vector<std::int64_t> widths(19, 3);
  widths.push_back(4);  // a result between them: the row begins anew
  widths.insert(widths.end(), 25, 3);
  const auto o = run_widths(*worker, widths);
  EXPECT_EQ(o[19].kind, Kind::kOk);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(o[i].kind, i == 19 ? Kind::kOk : Kind::kCrashed) << i;
  for (std::size_t i = 40; i < 45; ++i) {
    EXPECT_EQ(o[i].kind, Kind::kUnsupported) << i;
    EXPECT_EQ(o[i].message, "suspended: 20 times in a row killed by signal 11 (SIGSEGV)");
  }
  EXPECT_TRUE(worker->suspended());
  EXPECT_EQ(run_widths(*worker, {4})[0].message, "suspended: 20 times in a row killed by signal 11 (SIGSEGV)");
}

TEST(WorkerSuspension, NotAfterDifferentOnes) {
  const auto worker = Worker::create(plugin("faulty.so"), quick_limits());
  std::vector<std::int64_t> widths;
  for (int i = 0; i < 11; ++i) widths.insert(widths.end(), {3, 15});
  const auto o = run_widths(*worker, widths);
  EXPECT_FALSE(worker->suspended());
  for (const Outcome& outcome : o) EXPECT_EQ(outcome.kind, Kind::kCrashed);
}

TEST_P(WorkerOf, BatchesOfAnyLengthComeBackInOrder) {
  const auto worker = make("mirror");
  std::vector<Case> cases;
  for (int i = 0; i < 1000; ++i) {
    cases.push_back(small_case(1, 1 + i % 7));
    cases.back().input("x")->set_value(0, i);
  }
  for (int round = 0; round < 2; ++round) {
    const auto outcomes = worker->run(pointers(cases));
    ASSERT_EQ(outcomes.size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ASSERT_EQ(outcomes[i].kind, Kind::kOk) << outcomes[i].message;
      ASSERT_EQ(outcomes[i].outputs[0].second.data, cases[i].input("x")->data);
    }
  }
  EXPECT_TRUE(worker->run({}).empty());
}

TEST(WorkerBatches, LargerThanTheArenaTravelInPieces) {
  WorkerLimits limits = quick_limits();
  limits.seconds_per_case = 60;
  const auto worker = Worker::create(plugin("correct.so"), limits);
  std::vector<Case> cases;
  for (int i = 0; i < 12; ++i) cases.push_back(small_case(1024, 2048 + i));  // 16 MiB each with its output: four to a batch
  const auto outcomes = worker->run(pointers(cases));
  for (const Outcome& o : outcomes) {
    EXPECT_EQ(o.kind, Kind::kOk) << o.message;
    EXPECT_TRUE(o.memory.clean()) << o.memory.detail;
  }
}

// Finds the workers of this process by the log they write to.
std::vector<pid_t> workers_of(const std::string& log) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto target = std::filesystem::read_symlink(entry.path() / "fd/1", error);
    if (!error && target == log) found.push_back(static_cast<pid_t>(std::stol(entry.path().filename().string())));
  }
  return found;
}

std::string fresh_log(const std::string& name) {
  const std::string path = testing::TempDir() + "normfuzz_" + name + "_" + std::to_string(getpid()) + ".log";
  std::filesystem::remove(path);
  return std::filesystem::weakly_canonical(path).string();
}

TEST_P(WorkerOf, KillNineLosesNothing) {
  WorkerLimits limits = quick_limits();
  limits.log_path = fresh_log(std::string("kill") + GetParam());
  const auto worker = make("slow", limits);
  std::vector<Case> cases;
  for (int i = 0; i < 40; ++i) cases.push_back(small_case(2, 2 + i));
  worker->submit(pointers(cases));
  ASSERT_TRUE(worker->version());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // 20 ms a case: in the middle of one
  const auto running = workers_of(limits.log_path);
  ASSERT_EQ(running.size(), 1u);
  ASSERT_EQ(kill(running[0], SIGKILL), 0);
  const auto outcomes = worker->collect();
  for (std::size_t i = 0; i < cases.size(); ++i) expect_good(outcomes[i], cases[i]);
  // And between two batches.
  const auto idle = workers_of(limits.log_path);
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_NE(idle[0], running[0]);
  ASSERT_EQ(kill(idle[0], SIGKILL), 0);
  const auto again = worker->run(pointers(cases));
  for (std::size_t i = 0; i < cases.size(); ++i) expect_good(again[i], cases[i]);
}

TEST_P(WorkerOf, DestructorEndsTheProcessAndLeavesNoZombie) {
  WorkerLimits limits = quick_limits();
  limits.log_path = fresh_log(std::string("end") + GetParam());
  {
    const auto worker = make("correct", limits);
    ASSERT_TRUE(worker->version());
    EXPECT_EQ(workers_of(limits.log_path).size(), 1u);
  }
  EXPECT_TRUE(workers_of(limits.log_path).empty());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_P(WorkerOf, TwoThreadsWithAWorkerEach) {
  const auto drive = [&] {
    const auto worker = make("faulty");
    for (int round = 0; round < 4; ++round) {
      std::vector<Case> cases;
      for (const std::int64_t cols : {2, 4, 6, 3, 8, 15, 10}) cases.push_back(small_case(2, cols));
      const auto o = worker->run(pointers(cases));
      for (const std::size_t i : {0, 1, 2, 4, 6}) expect_good(o[i], cases[i]);
      EXPECT_EQ(o[3].kind, Kind::kCrashed);
      EXPECT_EQ(o[5].kind, Kind::kCrashed);
    }
  };
  std::thread one(drive), two(drive);
  one.join();
  two.join();
}

// A worker outlives the thread that started it: only the end of the whole process ends it.
TEST_P(WorkerOf, StartedByAThreadThatIsGone) {
  const auto worker = make("correct");
  std::thread([&] { ASSERT_TRUE(worker->version()); }).join();
  const Case c = small_case(2, 4);
  const Case* const one[] = {&c};
  for (int i = 0; i < 3; ++i) expect_good(worker->run(one)[0], c);
}

TEST_P(WorkerOf, OutputOfTheTargetGoesToTheLog) {
  WorkerLimits limits = quick_limits();
  limits.log_path = fresh_log(std::string("log") + GetParam());
  const auto worker = make("slow", limits);
  ASSERT_EQ(run_widths(*worker, {4})[0].kind, Kind::kOk);
  std::ifstream log(limits.log_path);
  std::string line;
  std::getline(log, line);
  EXPECT_EQ(line, "slow: 4 columns");
}

// Not a test: the process that the next one kills.
TEST(WorkerParent, Helper) {
  const char* log = std::getenv("NORMFUZZ_TEST_PARENT_LOG");
  if (log == nullptr) GTEST_SKIP() << "started by WorkerParent.KilledParentTakesItsWorkersAlong";
  WorkerLimits limits = quick_limits();
  limits.seconds_per_case = 60;
  limits.log_path = log;
  const auto native = Worker::create(plugin("faulty.so"), limits);
  const auto python = Worker::create(plugin(python_has_numpy() ? "faulty.py" : "faulty.so"), limits);
  const Case c = small_case(2, 5);  // hangs
  const Case* const one[] = {&c};
  native->submit(one);
  python->submit(one);
  native->collect();
}

TEST(WorkerParent, KilledParentTakesItsWorkersAlong) {
  const std::string log = fresh_log("parent");
  const pid_t child = fork();
  if (child == 0) {
    setenv("NORMFUZZ_TEST_PARENT_LOG", log.c_str(), 1);
    execl("/proc/self/exe", "worker_test", "--gtest_filter=WorkerParent.Helper", nullptr);
    _exit(127);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (workers_of(log).size() < 2 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(workers_of(log).size(), 2u);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // both are inside the kernel that hangs
  ASSERT_EQ(workers_of(log).size(), 2u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (!workers_of(log).empty() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(workers_of(log).empty());
}

// --- what cannot be loaded
// -----------------------------------------------------------------------------------------------------------------

void expect_unloadable(const TargetChoice& choice, const std::string& reason) {
  const auto worker = Worker::create(choice, quick_limits());
  const auto version = worker->version();
  ASSERT_FALSE(version);
  EXPECT_NE(version.error().find(reason), std::string::npos) << version.error();
  const auto o = run_widths(*worker, {4, 8});
  for (const Outcome& outcome : o) {
    EXPECT_EQ(outcome.kind, Kind::kUnsupported);
    EXPECT_EQ(outcome.message, version.error());
    EXPECT_EQ(outcome.message.find("cannot "), 0u) << outcome.message;
    EXPECT_EQ(outcome.message.find('\n'), std::string::npos) << outcome.message;
  }
}

TEST(WorkerLoading, WrongAbiVersionNamesBothNumbers) { expect_unloadable(plugin("wrong_version.so"), "abi_version is 42, expected 1"); }
TEST(WorkerLoading, TooSmallATargetNamesBothNumbers) {
  expect_unloadable(plugin("small_struct.so"), "struct_size is 16, expected at least 24");
}
TEST(WorkerLoading, NothingToRunOnSaysWhy) { expect_unloadable(plugin("no_device.so"), "no device of this kind"); }
TEST(WorkerLoading, MissingSymbol) { expect_unloadable(plugin("no_symbol.so"), "no symbol normfuzz_target"); }
TEST(WorkerLoading, UnresolvedSymbol) { expect_unloadable(plugin("unresolved.so"), "undefined symbol: normfuzz_nowhere_to_be_found"); }
TEST(WorkerLoading, CrashWhileLoading) { expect_unloadable(plugin("dies_loading.so"), "killed by signal 11 (SIGSEGV) while loading"); }
TEST(WorkerLoading, PythonImportError) {
  if (!python_has_numpy()) GTEST_SKIP() << default_python() << " has no NumPy";
  expect_unloadable(plugin("broken_import.py"), "ModuleNotFoundError: No module named 'no_such_framework'");
}
TEST(WorkerLoading, NoInterpreter) {
  TargetChoice choice = plugin("correct.py");
  choice.target.python = "/nonexistent/python";
  expect_unloadable(choice, "/nonexistent/python: No such file or directory");
}
TEST(WorkerLoading, TooSlowToStart) {
  TargetChoice choice = plugin("correct.py");
  choice.target.python = kPluginDir + "python/never_ready.sh";
  WorkerLimits limits = quick_limits();
  limits.seconds_to_start = 0.3;
  const auto worker = Worker::create(choice, limits);
  const auto version = worker->version();
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error(), "cannot load: not ready after 0.3 s");
}

TEST(WorkerLoading, ExceptionsAcrossTheBoundaryAreReported) {
  const auto worker = Worker::create(plugin("throwing.so"), quick_limits());
  std::vector<Case> cases = {small_case(1, 4), small_case(1, 4)};
  cases[1].params["normalized_axis"] = std::int64_t{-1};
  const auto o = worker->run(pointers(cases));
  EXPECT_EQ(o[0].kind, Kind::kRejected);
  EXPECT_EQ(o[0].message, "an exception crossed the C interface: thrown by the kernel");
  EXPECT_EQ(o[1].message, "an exception crossed the C interface");
}

TEST(WorkerLoading, VariantEnvironmentIsSetBeforeTheStart) {
  if (!python_has_numpy()) GTEST_SKIP() << default_python() << " has no NumPy";
  TargetChoice choice = plugin("environment.py");
  choice.variant.env = {{"NORMFUZZ_TEST_VARIANT", "seen"}, {"MKL_NUM_THREADS", "3"}};
  const auto worker = Worker::create(choice, quick_limits());
  const auto version = worker->version();
  ASSERT_TRUE(version) << version.error();
  EXPECT_EQ(*version, "variant=seen OMP=1 MKL=3");
}

// A process of three threads: the plug-in gives the number it was told.
TEST(WorkerCases, ThreadsAreThoseThatTheCaseAsksFor) {
  if (!python_has_numpy()) GTEST_SKIP() << default_python() << " has no NumPy";
  const auto worker = Worker::create(plugin("threads.py"), quick_limits());
  std::vector<Case> cases(5, small_case(1, 4));
  cases[1].threads = cases[3].threads = 3;
  cases[4].threads = 2;
  const auto o = worker->run(pointers(cases));
  const double expected[] = {1, 3, 1, 3, 2};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(o[i].kind, Kind::kOk) << o[i].message;
    EXPECT_EQ(o[i].outputs[0].second.value(0), expected[i]) << i;
  }
}

TEST(WorkerCases, WhatCannotBePlacedSaysSo) {
  const auto worker = Worker::create(plugin("correct.so"), quick_limits());
  std::vector<Case> cases = {small_case(1, 4), small_case(1, 4), small_case(1, 4)};
  cases[0].op = "no_such_op";
  cases[1].input("x")->strides = {std::int64_t{1} << 40, 1};
  cases[1].input("x")->shape = {2, 4};
  cases[1].input("x")->data.resize(32);
  const auto o = worker->run(pointers(cases));
  EXPECT_EQ(o[0].kind, Kind::kUnsupported);
  EXPECT_EQ(o[0].message, "op 'no_such_op': unknown");
  EXPECT_EQ(o[1].kind, Kind::kUnsupported);
  EXPECT_NE(o[1].message.find("bytes of shared memory"), std::string::npos) << o[1].message;
  expect_good(o[2], cases[2]);
}

}  // namespace
}  // namespace normfuzz
