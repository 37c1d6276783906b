#include "harness/run/worker.h"

#include <map>
#include <utility>

#include "harness/run/process_worker.h"

namespace normfuzz {
namespace {

// Runs each case in a process with the number of threads that it asks for: a framework fixes that number when it starts. Nearly all ask for
// none; processes of other numbers start with the first case for them.
class WorkerByThreads : public Worker {
 public:
  WorkerByThreads(TargetChoice choice, WorkerLimits limits) : choice_(std::move(choice)), limits_(std::move(limits)) {}

  Result<std::string> version() override { return of(1).worker->version(); }
  bool suspended() const override {
    const auto main = shares_.find(1);
    return main != shares_.end() && main->second.worker->suspended();
  }

  void submit(std::span<const Case* const> cases) override {
    submitted_ = cases.size();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Share& share = of(cases[i]->threads > 0 ? cases[i]->threads : 1);
      share.cases.push_back(cases[i]);
      share.places.push_back(i);
    }
    for (auto& [threads, share] : shares_)
      if (!share.cases.empty()) share.worker->submit(share.cases);
  }

  std::vector<Outcome> collect() override {
    std::vector<Outcome> all(submitted_);
    for (auto& [threads, share] : shares_) {
      if (share.cases.empty()) continue;
      std::vector<Outcome> outcomes = share.worker->collect();
      for (std::size_t i = 0; i < outcomes.size(); ++i) all[share.places[i]] = std::move(outcomes[i]);
      share.cases.clear();
      share.places.clear();
    }
    return all;
  }

 private:
  struct Share {
    std::unique_ptr<Worker> worker;
    std::vector<const Case*> cases;
    std::vector<std::size_t> places;  // in the order of submission
  };
  Share& of(int threads) {
    Share& share = shares_[threads];
    if (!share.worker) share.worker = create_process_worker(choice_, limits_, threads);
    return share;
  }

  const TargetChoice choice_;
  const WorkerLimits limits_;
  std::map<int, Share> shares_;
  std::size_t submitted_ = 0;
};

}  // namespace

std::unique_ptr<Worker> Worker::create(const TargetChoice& target, const WorkerLimits& limits) {
  return std::make_unique<WorkerByThreads>(target, limits);
}

}  // namespace normfuzz
