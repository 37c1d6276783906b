#include "harness/run/process_worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>

#include "harness/run/arena.h"
#include "harness/run/paths.h"
#include "harness/run/process.h"
#include "harness/run/sanitizer.h"
#include "harness/run/segment.h"
#include "normfuzz/target.h"

namespace normfuzz {
namespace {

using protocol::kIdle;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::size_t kSegmentBytes = std::size_t{4} << 30;  // address space, not memory: pages count once touched
constexpr std::size_t kBatchBytes = std::size_t{16} << 20;   // closes a batch: beyond it a round trip's 11 us no longer matter
constexpr int kSuspendAfter = 20;                            // equal crashes in a row (DESIGN.md, 'Isolation and speed of running')
constexpr int kMaxIdleDeaths = 3;                            // deaths in a row in which no case could be blamed

// One thread unless asked otherwise: the campaign runs several workers, and results must not depend on how many.
std::map<std::string, std::string> worker_environment(const Variant& variant, int threads) {
  std::map<std::string, std::string> environment = variant.env;
  for (const char* name : {"NORMFUZZ_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
                           "NUMEXPR_NUM_THREADS"}) {
    const bool added = environment.emplace(name, std::to_string(threads)).second;
    if (!added && threads > 1) environment[name] = std::to_string(threads);  // a variant's own number is its normal one
  }
  environment.emplace("PYTHONUNBUFFERED", "1");
  if (kAddressSanitizer) environment.emplace("ASAN_OPTIONS", "handle_segv=0:handle_abort=0:detect_leaks=0");  // a signal stays a signal
  return environment;
}

std::vector<std::string> worker_command(const TargetChoice& choice) {
  const std::string folder = worker_directory();
  if (choice.target.kind == TargetKind::kPython) return {choice.target.python, folder + "/python_host.py", choice.target.module_path};
  return {folder + "/normfuzz-worker", choice.label(), choice.target.module_path};
}

class ProcessWorker : public Worker {
 public:
  ProcessWorker(TargetChoice choice, WorkerLimits limits, int threads)
      : choice_(std::move(choice)), limits_(std::move(limits)), threads_(threads) {}

  Result<std::string> version() override;
  void submit(std::span<const Case* const> cases) override;
  std::vector<Outcome> collect() override;
  bool suspended() const override { return !suspension_.empty(); }

 private:
  struct Chunk {
    std::vector<std::size_t> cases;  // by slot: index into cases_
    bool alone = false;              // a case run again by itself
    std::uint32_t judged = 0;        // slots before this one have been looked at for equal crashes in a row
  };

  bool broken() const { return !load_error_.empty() || suspended(); }
  bool open();
  bool start();
  bool await_ready();
  void launch(std::uint32_t first);
  bool fill_chunk(std::size_t first_case, std::size_t end_case, bool alone);
  void drive_chunk();
  bool step(std::uint32_t& first);
  void after_death(std::uint32_t& first, const ProcessEnd& end);
  void blame(std::uint32_t slot, OutcomeKind kind, const ProcessEnd& end, std::string message);
  void count_crash(std::uint32_t slot, OutcomeKind kind, const ProcessEnd& end);
  bool any_result(std::uint32_t from, std::uint32_t to);
  bool take_outcomes();
  void finish_chunk();

  TargetChoice choice_;
  WorkerLimits limits_;
  const int threads_;
  std::optional<Segment> segment_;
  std::optional<Arena> arena_;
  std::optional<Process> process_;
  bool ready_ = false, ever_ready_ = false;
  int failed_starts_ = 0, idle_deaths_ = 0;
  std::string version_, load_error_, suspension_;

  std::vector<const Case*> cases_;
  std::vector<Outcome> outcomes_;
  std::vector<bool> killed_once_;  // by SIGKILL: run once more
  std::size_t next_ = 0;           // first case not yet in a chunk
  std::optional<Chunk> chunk_;     // in flight

  // The run of equal crashes that suspends a target.
  int equal_crashes_ = 0;
  OutcomeKind crash_kind_ = OutcomeKind::kOk;
  ProcessEnd crash_end_;
};

// --- the process
// ---------------------------------------------------------------------------------------------------------------------------

bool ProcessWorker::open() {
  if (segment_) return true;
  auto segment = Segment::create(kSegmentBytes);
  if (!segment) {
    load_error_ = segment.error();
    return false;
  }
  segment_.emplace(std::move(*segment));
  arena_.emplace(*segment_, kBatchBytes);
  segment_->header().parent_pid = static_cast<std::uint32_t>(getpid());
  segment_->header().memory_bytes = kAddressSanitizer ? 0 : limits_.memory_bytes;  // the sanitizer's own shadow would count
  return true;
}

// Makes sure that a process exists; it may still be loading.
bool ProcessWorker::start() {
  if (broken() || !open()) return false;
  if (process_ && !process_->ended()) return true;
  process_.reset();
  ready_ = false;
  auto process = Process::spawn(worker_command(choice_), worker_environment(choice_.variant, threads_), segment_->fd(), limits_.log_path);
  if (!process) {
    load_error_ = "cannot start: " + process.error();
    return false;
  }
  process_.emplace(std::move(*process));
  return true;
}

bool ProcessWorker::await_ready() {
  while (!ready_) {
    if (!process_ && !start()) return false;
    const auto deadline = steady_clock::now() + duration_cast<nanoseconds>(std::chrono::duration<double>(limits_.seconds_to_start));
    char reply = 0;
    const Process::Event event = process_->wait(deadline, reply);
    const char* text = segment_->header().text;
    if (event == Process::Event::kReply && reply == protocol::kReady) {
      ready_ = ever_ready_ = true;
      failed_starts_ = 0;
      version_ = text;
    } else if (event == Process::Event::kReply) {
      load_error_ = std::string("cannot load: ") + text;
    } else {
      const ProcessEnd end = process_->end();
      process_.reset();
      // One that has worked before, or was killed from outside, deserves another start.
      const bool again = event == Process::Event::kEnded && (ever_ready_ || end.signal == SIGKILL) && ++failed_starts_ < 3;
      if (again && start()) {
        if (chunk_) process_->send(protocol::kGo);
        continue;
      }
      if (broken()) return false;
      load_error_ = event == Process::Event::kDeadline ? fmt::format("cannot load: not ready after {} s", limits_.seconds_to_start)
                                                       : "cannot load: " + to_string(end) + " while loading";
    }
    if (!load_error_.empty()) {
      process_.reset();
      return false;
    }
  }
  return true;
}

Result<std::string> ProcessWorker::version() {
  if (ever_ready_) return version_;
  if (!chunk_ && start() && await_ready()) return version_;
  if (chunk_ && await_ready()) return version_;
  return Error{load_error_.empty() ? suspension_ : load_error_};
}

// --- batches
// -------------------------------------------------------------------------------------------------------------------------------

void ProcessWorker::submit(std::span<const Case* const> cases) {
  cases_.assign(cases.begin(), cases.end());
  outcomes_.assign(cases_.size(), {});
  killed_once_.assign(cases_.size(), false);
  next_ = 0;
  if (!broken() && open() && fill_chunk(0, cases_.size(), false)) launch(0);
}

std::vector<Outcome> ProcessWorker::collect() {
  while (chunk_) {
    finish_chunk();
    if (!broken() && fill_chunk(next_, cases_.size(), false)) launch(0);
  }
  const std::string reason = !load_error_.empty() ? load_error_ : suspension_;
  if (!reason.empty())
    for (; next_ < cases_.size(); ++next_) outcomes_[next_].message = reason;  // kind: kUnsupported from the start
  return std::move(outcomes_);
}

// Places cases from `first_case` on until the arena is full. A case that cannot be placed gets its outcome here.
bool ProcessWorker::fill_chunk(std::size_t first_case, std::size_t end_case, bool alone) {
  arena_->reset();
  Chunk chunk;
  chunk.alone = alone;
  std::size_t at = first_case;
  for (; at < end_case; ++at) {
    const Result<bool> placed = arena_->place(*cases_[at], alone || cases_.size() == 1 ? kWideGuardBytes : kGuardBytes);
    if (!placed) {
      outcomes_[at].message = placed.error();
      continue;
    }
    if (!*placed) break;
    chunk.cases.push_back(at);
  }
  if (!alone) next_ = at;
  if (chunk.cases.empty()) return false;
  chunk_ = std::move(chunk);
  return true;
}

// Lets the process run the slots from `first` on; a fresh one finds the command waiting once it has loaded.
void ProcessWorker::launch(std::uint32_t first) {
  protocol::Header& h = segment_->header();
  if (process_ && process_->ended()) process_.reset();
  h.first = first;
  h.count = arena_->count();
  protocol::publish(h.current, kIdle);
  if (start()) process_->send(protocol::kGo);
}

void ProcessWorker::finish_chunk() {
  drive_chunk();
  const bool clean = take_outcomes();
  const Chunk chunk = std::move(*chunk_);
  chunk_.reset();
  if (clean || chunk.alone || chunk.cases.size() == 1) return;
  // Some case wrote where it must not, perhaps into its neighbours: each of them is run again, alone, and that outcome counts.
  for (const std::size_t index : chunk.cases) {
    if (broken()) break;
    outcomes_[index] = Outcome{};
    if (!fill_chunk(index, index + 1, true)) continue;
    launch(0);
    finish_chunk();
  }
}

// Until every slot of the chunk is finished or blamed, or the target is given up.
void ProcessWorker::drive_chunk() {
  std::uint32_t first = 0;
  while (!broken() && step(first)) {
  }
}

// One launch of the process over the slots from `first` on; false when nothing is left to do.
bool ProcessWorker::step(std::uint32_t& first) {
  protocol::Header& h = segment_->header();
  if (!ready_ && !await_ready()) return false;
  const auto limit = duration_cast<nanoseconds>(std::chrono::duration<double>(limits_.seconds_per_case));
  SteadyTime deadline = steady_clock::now() + limit;
  for (;;) {
    char reply = 0;
    const Process::Event event = process_->wait(deadline, reply);
    if (event == Process::Event::kReply && reply == protocol::kDone) {
      idle_deaths_ = 0;
      return false;
    }
    if (event == Process::Event::kEnded) {
      const ProcessEnd end = process_->end();
      process_.reset();
      ready_ = false;
      after_death(first, end);
      break;
    }
    const std::uint32_t sequence = protocol::observe(h.sequence), slot = protocol::observe(h.current);
    const SteadyTime due = slot == kIdle ? deadline : SteadyTime(nanoseconds(protocol::observe(h.started_ns))) + limit;
    if (steady_clock::now() < due) {  // the case that was running has finished meanwhile
      deadline = due;
      continue;
    }
    process_->end();
    process_.reset();
    ready_ = false;
    first = protocol::observe(h.current);
    if (first == kIdle) {
      load_error_ = "cannot run: the worker does not answer";
      return false;
    }
    if (protocol::observe(h.sequence) == sequence && first == slot && !arena_->finished(slot))
      blame(first++, OutcomeKind::kTimedOut, {}, fmt::format("no result after {} s", limits_.seconds_per_case));
    break;
  }
  while (first < arena_->count() && arena_->finished(first)) ++first;
  if (broken() || first >= arena_->count()) return false;
  launch(first);
  return true;
}

void ProcessWorker::after_death(std::uint32_t& first, const ProcessEnd& end) {
  const std::uint32_t slot = protocol::observe(segment_->header().current);
  if (slot == kIdle || arena_->finished(slot)) {
    if (++idle_deaths_ >= kMaxIdleDeaths) load_error_ = "cannot run: " + to_string(end) + " between two cases, again and again";
    return;
  }
  idle_deaths_ = 0;
  first = slot;
  const std::size_t index = chunk_->cases[slot];
  // SIGKILL comes from outside, by the kernel's out-of-memory killer or by hand: only a case that meets it twice is at fault.
  if (end.signal == SIGKILL && !killed_once_[index]) {
    killed_once_[index] = true;
    return;
  }
  std::string message = to_string(end);
  if (end.signal == SIGKILL) message += " twice: out of memory, or from outside";
  blame(first++, OutcomeKind::kCrashed, end, std::move(message));
}

void ProcessWorker::blame(std::uint32_t slot, OutcomeKind kind, const ProcessEnd& end, std::string message) {
  Outcome& o = outcomes_[chunk_->cases[slot]];
  o.kind = kind;
  o.message = std::move(message);
  o.signal = end.signal;
  o.exit_status = end.exit_status;
  if (!chunk_->alone) count_crash(slot, kind, end);
}

void ProcessWorker::count_crash(std::uint32_t slot, OutcomeKind kind, const ProcessEnd& end) {
  const bool equal = kind == crash_kind_ && end == crash_end_ && !any_result(chunk_->judged, slot);
  equal_crashes_ = equal ? equal_crashes_ + 1 : 1;
  crash_kind_ = kind;
  crash_end_ = end;
  chunk_->judged = slot + 1;
  if (equal_crashes_ >= kSuspendAfter)
    suspension_ =
        fmt::format("suspended: {} times in a row {}", equal_crashes_,
                    kind == OutcomeKind::kTimedOut ? fmt::format("no result after {} s", limits_.seconds_per_case) : to_string(end));
}

// Did the target give a result (not: decline a case) in these slots?
bool ProcessWorker::any_result(std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t slot = from; slot < to; ++slot)
    if (arena_->finished(slot) && segment_->descriptor(slot).status != NF_UNSUPPORTED) return true;
  return false;
}

// Outcomes of all finished slots. False if any case left memory changed that is not its own.
bool ProcessWorker::take_outcomes() {
  if (!chunk_->alone && any_result(chunk_->judged, arena_->count())) equal_crashes_ = 0;
  bool clean = true;
  for (std::uint32_t slot = 0; slot < chunk_->cases.size(); ++slot) {
    Outcome& o = outcomes_[chunk_->cases[slot]];
    if (o.kind == OutcomeKind::kCrashed || o.kind == OutcomeKind::kTimedOut) continue;
    if (!arena_->finished(slot)) {
      o.message = !load_error_.empty() ? load_error_ : suspension_;
      continue;
    }
    o = arena_->take(slot);
    clean = clean && o.memory.changed_input.empty() && o.memory.overrun.empty();
  }
  return clean;
}

}  // namespace

std::unique_ptr<Worker> create_process_worker(const TargetChoice& target, const WorkerLimits& limits, int threads) {
  return std::make_unique<ProcessWorker>(target, limits, threads);
}

}  // namespace normfuzz
