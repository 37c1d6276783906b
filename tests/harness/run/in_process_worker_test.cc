// The worker without a process says of every fault that leaves the process alive what one with a process says.
#include "harness/run/in_process_worker.h"

#include <cstdlib>

#include "tests/harness/run/run_testing.h"

namespace normfuzz {
namespace {

using Kind = OutcomeKind;

TEST(InProcessWorker, SaysWhatAProcessSays) {
  const auto process = Worker::create(plugin("faulty.so"), quick_limits());
  const auto in_process = create_in_process_worker(plugin("faulty.so"));
  const auto version = in_process->version();
  ASSERT_TRUE(version) << version.error();
  EXPECT_EQ(*version, "faulty 1.0");
  const std::vector<std::int64_t> widths = {2, 7, 9, 11, 13, 21, 23, 25, 29, 300};
  const auto expected = run_widths(*process, widths), got = run_widths(*in_process, widths);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].kind, expected[i].kind) << widths[i];
    EXPECT_EQ(got[i].message, expected[i].message) << widths[i];
    EXPECT_EQ(got[i].memory.detail, expected[i].memory.detail) << widths[i];
    EXPECT_EQ(got[i].memory.clean(), expected[i].memory.clean()) << widths[i];
    ASSERT_EQ(got[i].outputs.size(), expected[i].outputs.size()) << widths[i];
    for (std::size_t k = 0; k < got[i].outputs.size(); ++k) EXPECT_EQ(got[i].outputs[k], expected[i].outputs[k]) << widths[i];
  }
  EXPECT_EQ(got[1].memory.overrun, "y");
  EXPECT_EQ(got[2].memory.changed_input, "x");
  EXPECT_EQ(got[4].memory.unwritten_output, "y");
}

TEST(InProcessWorker, PaddingOfAStridedOutputIsGuarded) {
  const auto worker = create_in_process_worker(plugin("faulty.so"));
  Case c = small_case(2, 27);
  c.input("x")->strides = {40, 1};
  const Case* const one[] = {&c};
  EXPECT_EQ(worker->run(one)[0].memory.overrun, "y");
}

TEST(InProcessWorker, WhatCannotBeLoadedSaysWhy) {
  for (const auto& [file, reason] : {std::pair{"wrong_version.so", "abi_version is 42, expected 1"},
                                     {"no_device.so", "no device of this kind"},
                                     {"no_symbol.so", "no symbol normfuzz_target"},
                                     {"correct.py", "a Python target needs a process of its own"}}) {
    const auto worker = create_in_process_worker(plugin(file));
    const auto version = worker->version();
    ASSERT_FALSE(version) << file;
    EXPECT_NE(version.error().find(reason), std::string::npos) << version.error();
    const auto o = run_widths(*worker, {4, 8});
    ASSERT_EQ(o.size(), 2u);
    EXPECT_EQ(o[1].kind, Kind::kUnsupported);
    EXPECT_EQ(o[1].message, version.error());
  }
}

TEST(InProcessWorker, OneVariantPerProcess) {
  TargetChoice choice = plugin("correct.so");
  choice.variant = {"one", {{"NORMFUZZ_TEST_IN_PROCESS", "1"}}, "", {}};
  ASSERT_TRUE(create_in_process_worker(choice)->version());
  ASSERT_STREQ(std::getenv("NORMFUZZ_TEST_IN_PROCESS"), "1");
  ASSERT_TRUE(create_in_process_worker(choice)->version());
  choice.variant = {"two", {{"NORMFUZZ_TEST_IN_PROCESS", "2"}}, "", {}};
  const auto version = create_in_process_worker(choice)->version();
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error(),
            "cannot load: NORMFUZZ_TEST_IN_PROCESS is '1' in this process and variant 'two' needs '2': one variant per process");
  unsetenv("NORMFUZZ_TEST_IN_PROCESS");
}

TEST(InProcessWorker, ThreadsNeedAProcess) {
  const auto worker = create_in_process_worker(plugin("correct.so"));
  Case c = small_case(1, 4);
  c.threads = 3;
  const Case* const one[] = {&c};
  EXPECT_EQ(worker->run(one)[0].kind, Kind::kUnsupported);
  c.threads = 0;
  EXPECT_EQ(worker->run(one)[0].kind, Kind::kOk);
}

}  // namespace
}  // namespace normfuzz
