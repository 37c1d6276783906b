#include "harness/shrink.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "harness/shrink/edit.h"
#include "harness/shrink/passes.h"
#include "harness/shrink/simplicity.h"

namespace normfuzz {
namespace {

// Cases per call of the probe: one round trip to a worker. A crash costs a new process and a hang a time-out, so those go in small steps.
constexpr std::size_t kBatch = 64, kCrashBatch = 8, kHangBatch = 2;
constexpr int kCrashProbes = 600, kHangProbes = 60;
constexpr std::size_t kBatchBytes = std::size_t{64} << 20;

// An error that barely leaves its bound convinces nobody, and many wrong formulas would explain it: where the original's is this many times
// the bound, the shrunk one's stays so. Given up for cases that then stay larger than kReadable elements.
constexpr double kClear = 16;
constexpr std::int64_t kReadable = 4;

// Error over bound of the worst element; infinite for everything that is no such error.
double clearness(const Examination& e) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (e.judgement.evidence.empty()) return kInfinity;
  const ElementEvidence& worst = e.judgement.evidence[0];
  if (!std::isfinite(worst.got) || !std::isfinite(worst.exact) || !(worst.allowed > 0)) return kInfinity;
  return std::fabs(worst.got - worst.exact) / worst.allowed;
}

std::size_t bytes_of(const Case& c) {
  std::size_t bytes = 0;
  for (const auto& [name, t] : c.inputs) bytes += t ? t->data.size() : 0;
  return bytes;
}

class Shrinker {
 public:
  Shrinker(const Case& original, Verdict verdict, const std::string& law, FailureClass failure, const Probe& probe,
           const ShrinkOptions& options)
      : verdict_(verdict),
        law_(law),
        failure_(failure),
        probe_(probe),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.max_seconds))) {
    result_.shrunk = original;
    result_.shrunk.expect.clear();
    const bool crash = verdict == Verdict::kCrashed, hang = verdict == Verdict::kTimedOut;
    batch_ = hang ? kHangBatch : crash ? kCrashBatch : kBatch;
    budget_ = std::min(options.max_probes, hang ? kHangProbes : crash ? kCrashProbes : options.max_probes);
  }

  ShrinkResult run() {
    constexpr int kTries = 3;  // a failure that comes and goes
    for (int i = 0; i < kTries && !result_.reproduced; ++i) {
      std::vector<Examination> e = examined({result_.shrunk});
      if (e.empty()) break;
      result_.reproduced = same(e[0]);
      result_.examination = std::move(e[0]);
    }
    if (!result_.reproduced) return std::move(result_);
    current_ = simplicity(result_.shrunk);
    seen_.insert(digest(result_.shrunk));
    least_clearness_ = std::min(clearness(result_.examination), kClear);
    while (round() && !exhausted()) {
    }
    if (current_.elements > kReadable) {
      least_clearness_ = 0;
      seen_ = {digest(result_.shrunk)};
      while (round() && !exhausted()) {
      }
    }
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool same(const Examination& e) const {
    return e.judgement.verdict == verdict_ && e.judgement.law == law_ && e.judgement.failure == failure_ &&
           clearness(e) >= least_clearness_;
  }
  bool exhausted() const { return result_.probes >= budget_ || Clock::now() >= deadline_; }

  Focus focus() const {
    const auto& evidence = result_.examination.judgement.evidence;
    if (evidence.empty() || evidence[0].index < 0) return {};
    return place_of(result_.shrunk, evidence[0].output, evidence[0].index);
  }

  std::vector<Examination> examined(const std::vector<Case>& cases) {
    result_.probes += static_cast<int>(cases.size());
    return probe_(cases);
  }

  void accept(Case c, Examination e) {
    current_ = simplicity(c);
    result_.shrunk = std::move(c);
    result_.examination = std::move(e);
  }

  // Valid, strictly simpler, not tried before; simplest first.
  std::vector<Case> worth_trying(std::vector<Case> proposals) {
    std::vector<std::pair<Simplicity, std::size_t>> order;
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      const Case& p = proposals[i];
      if (!validate(p)) continue;
      const Simplicity s = simplicity(p);
      if (s < current_ && seen_.insert(digest(p)).second) order.emplace_back(s, i);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Case> out;
    for (const auto& [s, i] : order) out.push_back(std::move(proposals[i]));
    return out;
  }

  // The next batch from `at` on, within the limits.
  std::vector<Case> next_batch(std::vector<Case>& cases, std::size_t& at) {
    std::vector<Case> batch;
    std::size_t bytes = 0;
    const auto left = static_cast<std::size_t>(std::max(0, budget_ - result_.probes));
    while (at < cases.size() && batch.size() < std::min(batch_, left) && (batch.empty() || bytes < kBatchBytes)) {
      bytes += bytes_of(cases[at]);
      batch.push_back(std::move(cases[at++]));
    }
    return batch;
  }

  // Takes the simplest proposal that fails in the same way.
  bool improve(std::vector<Case> proposals) {
    std::vector<Case> cases = worth_trying(std::move(proposals));
    for (std::size_t at = 0; at < cases.size() && !exhausted();) {
      std::vector<Case> batch = next_batch(cases, at);
      std::vector<Examination> results = examined(batch);
      for (std::size_t i = 0; i < results.size() && i < batch.size(); ++i)
        if (same(results[i])) {
          accept(std::move(batch[i]), std::move(results[i]));
          return true;
        }
    }
    return false;
  }

  template <class Propose>
  bool improve_while(Propose propose) {
    bool any = false;
    while (!exhausted() && improve(propose())) any = true;
    return any;
  }

  // Tries every edit by itself, then as many of the good ones together as still fail.
  bool improve_elements(std::size_t most) {
    const std::vector<Edit> edits = simpler_elements(result_.shrunk, most);
    std::map<std::pair<std::string, std::int64_t>, std::pair<Simplicity, const Edit*>> best;
    std::vector<std::pair<const Edit*, Case>> singles;
    for (const Edit& e : edits) {
      Case c = edited(result_.shrunk, e);
      if (simplicity(c) < current_ && seen_.insert(digest(c)).second) singles.emplace_back(&e, std::move(c));
    }
    for (std::size_t at = 0; at < singles.size() && !exhausted();) {
      std::vector<Case> batch;
      const std::size_t begin = at, left = static_cast<std::size_t>(budget_ - result_.probes);
      while (at < singles.size() && batch.size() < std::min(batch_, left)) batch.push_back(singles[at++].second);
      const std::vector<Examination> results = examined(batch);
      for (std::size_t i = 0; i < results.size() && i < batch.size(); ++i) {
        if (!same(results[i])) continue;
        const Edit* e = singles[begin + i].first;
        const Simplicity s = simplicity(batch[i]);
        auto [it, fresh] = best.try_emplace({e->tensor, e->first}, s, e);
        if (!fresh && s < it->second.first) it->second = {s, e};
      }
    }
    if (best.empty()) return false;
    return improve(merged(best));
  }

  // All good edits, halves of them, and each alone (seen before, so forgotten again first).
  std::vector<Case> merged(const auto& best) {
    std::vector<const Edit*> good;
    for (const auto& [place, choice] : best) good.push_back(choice.second);
    std::vector<Case> out;
    const auto propose = [&](std::size_t begin, std::size_t end) {
      Case c = result_.shrunk;
      for (std::size_t i = begin; i < end; ++i) c = edited(std::move(c), *good[i]);
      seen_.erase(digest(c));
      out.push_back(std::move(c));
    };
    for (std::size_t size = good.size(); size > 0; size /= 2)
      for (std::size_t begin = 0; begin + size <= good.size(); begin += size) propose(begin, begin + size);
    return out;
  }

  bool round() {
    bool any = improve_while([&] { return shorter_axes(result_.shrunk, focus()); });
    any |= improve_while([&] { return simpler_shapes(result_.shrunk); });
    if (current_.elements > 1) any |= improve(tiny_relatives(result_.shrunk, focus()));
    any |= improve_while([&] { return simpler_layouts(result_.shrunk); });
    any |= improve_while([&] { return simpler_parameters(result_.shrunk); });
    any |= improve_while([&] { return simpler_tensors(result_.shrunk, focus()); });
    constexpr std::size_t kFew = 9, kAll = 64;
    while (!exhausted() && (improve_elements(kFew) || improve_elements(kAll))) any = true;
    return any;
  }

  Verdict verdict_;
  std::string law_;
  FailureClass failure_;
  const Probe& probe_;
  Clock::time_point deadline_;
  std::size_t batch_;
  int budget_;
  ShrinkResult result_;
  Simplicity current_;
  std::set<std::string> seen_;
  double least_clearness_ = 0;
};

}  // namespace

ShrinkResult shrink(const Case& original, Verdict verdict, const std::string& law, FailureClass failure, const Probe& probe,
                    const ShrinkOptions& options) {
  return Shrinker(original, verdict, law, failure, probe, options).run();
}

}  // namespace normfuzz
