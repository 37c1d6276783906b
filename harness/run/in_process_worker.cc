#include "harness/run/in_process_worker.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "harness/run/arena.h"
#include "harness/run/load_module.h"
#include "harness/run/native_call.h"

namespace normfuzz {
namespace {

constexpr std::size_t kSegmentBytes = std::size_t{1} << 30;  // address space, not memory
constexpr std::size_t kKeptBytes = std::size_t{16} << 20;    // pages kept from one case to the next

// Sets the variant's variables, and one thread unless it says otherwise, as a worker's process has it; the reason if that cannot be.
Status set_environment(const Variant& variant) {
  for (const auto& [name, value] : variant.env) {
    const char* present = std::getenv(name.c_str());
    if (present != nullptr && present != value)
      return Error{fmt::format("{} is '{}' in this process and variant '{}' needs '{}': one variant per process", name, present,
                               variant.name, value)};
    setenv(name.c_str(), value.c_str(), 1);
  }
  for (const char* name : {"NORMFUZZ_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) setenv(name, "1", 0);
  return Unit{};
}

class InProcessWorker : public Worker {
 public:
  explicit InProcessWorker(TargetChoice choice) : choice_(std::move(choice)) {}

  Result<std::string> version() override {
    if (!load()) return Error{load_error_};
    return version_;
  }

  void submit(std::span<const Case* const> cases) override {
    outcomes_.clear();
    for (const Case* c : cases) outcomes_.push_back(run_one(*c));
  }
  std::vector<Outcome> collect() override { return std::move(outcomes_); }
  bool suspended() const override { return false; }

 private:
  bool load() {
    if (target_ == nullptr && load_error_.empty()) load_error_ = try_to_load();
    return load_error_.empty();
  }

  std::string try_to_load() {
    if (choice_.target.kind != TargetKind::kNative) return "cannot load: a Python target needs a process of its own";
    if (const Status set = set_environment(choice_.variant); !set) return "cannot load: " + set.error();
    auto segment = Segment::create(kSegmentBytes);
    if (!segment) return segment.error();
    std::string reason;
    const nf_target* target = load_module(choice_.target.module_path.c_str(), reason);
    if (target == nullptr) return "cannot load: " + reason;
    if (target->version != nullptr) version_ = target->version();
    segment_.emplace(std::move(*segment));
    arena_.emplace(*segment_, kKeptBytes);
    target_ = target;
    return "";
  }

  // Alone, so that memory that is not its own is this case's doing, with the guards that a case alone has in a process.
  Outcome run_one(const Case& c) {
    Outcome o;  // kUnsupported
    if (!load()) {
      o.message = load_error_;
      return o;
    }
    if (c.threads > 0) {
      o.message = "a number of threads needs a process of its own";
      return o;
    }
    arena_->reset();
    const Result<bool> placed = arena_->place(c, kWideGuardBytes);
    if (!placed) {
      o.message = placed.error();
      return o;
    }
    run_slot(segment_->base(), *target_, 0);
    return arena_->take(0);
  }

  const TargetChoice choice_;
  const nf_target* target_ = nullptr;  // never unloaded: frameworks leave threads and exit handlers behind
  std::string version_, load_error_;
  std::optional<Segment> segment_;
  std::optional<Arena> arena_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

std::unique_ptr<Worker> create_in_process_worker(const TargetChoice& target) { return std::make_unique<InProcessWorker>(target); }

}  // namespace normfuzz
