// What a driver does with its bytes: a case, run on a target in this process, judged; and what becomes of a finding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/result.h"
#include "fuzz/finding_writer.h"
#include "harness/recipe/family.h"
#include "harness/run/worker.h"

namespace normfuzz::fuzzing {

// From the environment, by which libFuzzer's own child processes get it too:
//   NORMFUZZ_FUZZ_TARGET      "cpu" (the default), "mutants:NAME", "onednn", or a module's path with ":VARIANT"
//   NORMFUZZ_FUZZ_OUT         where findings go, "out/fuzz"; "none": nowhere, they are only printed
//   NORMFUZZ_FUZZ_KEEP_GOING  1: a finding is written and the process goes on
//   NORMFUZZ_FUZZ_WORKER      "process": the target runs in a process of its own, as in a campaign, for what crashes this one
//   NORMFUZZ_FUZZ_GUIDANCE    "coverage": no extra counters; "none": inputs that know of no other either
enum class Guidance : std::uint8_t { kAll, kCoverage, kNone };
struct SessionOptions {
  std::string target = "cpu", out = "out/fuzz";
  bool keep_going = false, own_process = false;
  Guidance guidance = Guidance::kAll;
};
Result<SessionOptions> options_from_environment();

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const Family& family, const SessionOptions& options);

  // True where there is no finding. `bytes` may be anything.
  bool run(std::span<const std::uint8_t> bytes);
  bool keeps_going() const { return options_.keep_going; }
  // "driver layer_norm on cpu 0.1.0, in process".
  const std::string& title() const { return title_; }

 private:
  Session(const Family& family, SessionOptions options, TargetChoice choice);
  bool ask_without_kernel(const Case& c, std::span<const std::uint8_t> bytes);

  const Family& family_;
  const SessionOptions options_;
  const TargetChoice choice_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<FindingWriter> findings_;
  std::string title_;
  std::int64_t cases_ = 0;
};

}  // namespace normfuzz::fuzzing
