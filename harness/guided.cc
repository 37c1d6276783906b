#include "harness/guided.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "core/mix_bits.h"
#include "harness/generate/stream.h"
#include "harness/recipe/mutate.h"
#include "harness/seconds_since.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kRoundCases = 32;
constexpr std::uint64_t kRepeatEvery = 8;  // run twice and compare bits
constexpr std::uint64_t kAuditEvery = 16;  // put filter-certified rows to MPFR

// One target, op and dtype.
class Climb {
 public:
  Climb(const TargetChoice& choice, const OpInfo& op, DType dtype, std::uint64_t seed)
      : choice_(choice),
        op_(op.name),
        dtype_(dtype),
        seed_(seed),
        root_(Stream(seed).sub("guided").sub(choice.label()).sub(op.name).sub(name_of(dtype))) {}

  const TargetChoice& choice() const { return choice_; }
  std::uint64_t rounds() const { return rounds_; }
  const WorstPool& pool() const { return pool_; }
  void add_parent(const WorstInput& input) {
    if (input.op == op_ && input.dtype == dtype_) pool_.add(input);
  }

  // The note in the store: rounds done, then the pool.
  std::string note_name() const { return fmt::format("guided {} {} {}", choice_.label(), op_, name_of(dtype_)); }
  std::string note() const { return fmt::format("# {}\n", rounds_) + write_worst(pool_.all()); }
  Status restore(const std::string& note, const std::string& name) {
    const auto inputs = parse_worst(note, name);
    if (!inputs) return Error{inputs.error()};
    if (std::sscanf(note.c_str(), "# %lu", &rounds_) != 1) return Error{name + ": no number of rounds"};
    pool_ = {};
    for (const WorstInput& i : *inputs) pool_.add(i);
    return Unit{};
  }

  BlockResult round(Worker& worker, std::uint64_t block, std::string& contradiction) {
    BlockResult result;
    result.block = block;
    const auto start = Clock::now();
    std::vector<std::vector<std::uint8_t>> recipes;
    std::vector<Case> cases;
    for (std::uint64_t i = 0; i < kRoundCases; ++i) {
      recipes.push_back(propose(root_.sub(rounds_).sub(i)));
      cases.push_back(case_of_recipe(op_, dtype_, recipes.back()));
      cases.back().provenance->seed = seed_;
      cases.back().provenance->index = block * kRoundCases + i;
    }
    const ExamineOptions options{rounds_ % kRepeatEvery == 0, true, rounds_ % kAuditEvery == 1};
    std::vector<Examination> examined = examine(worker, choice_.target, cases, options);
    for (std::size_t i = 0; i < cases.size(); ++i) note(cases[i], recipes[i], examined[i], options.audit, result, contradiction);
    ++rounds_;
    result.seconds = seconds_since(start);
    return result;
  }

 private:
  // A regime, then one of its inputs, the worse the likelier.
  const WorstInput& pick(Stream& s) const {
    auto regime = pool_.by_regime().begin();
    std::advance(regime, s.below(pool_.by_regime().size()));
    const std::vector<WorstInput>& pool = regime->second;
    const std::uint64_t a = s.below(pool.size()), b = s.below(pool.size());
    return pool[std::min(a, b)];
  }
  std::vector<std::uint8_t> propose(Stream s) const {
    const std::uint64_t kind = s.below(10);
    if (kind < 2 || pool_.empty()) return fuzzing::random_bytes(s.next());
    const WorstInput& parent = pick(s);
    if (kind < 5) return fuzzing::refine(parent.recipe, s.next());
    if (kind < 6) {
      const WorstInput& other = pick(s);
      return fuzzing::cross(parent.recipe, other.recipe, s.next());
    }
    return fuzzing::mutate(parent.recipe, s.next());
  }

  void note(const Case& c, const std::vector<std::uint8_t>& recipe, const Examination& e, bool audited, BlockResult& result,
            std::string& contradiction) {
    if (!e.contradiction.empty()) contradiction = fmt::format("{}: {}", c.source, e.contradiction);
    result.tally.add(choice_.label(), c, contract_of(choice_.target, c).name, e.judgement, audited);
    const CaseRows rows = CaseRows::borrowing(c);
    result.tally.note_errors(choice_.label(), c, class_of(c, rows), e.judgement);
    if (is_violation(e.judgement.verdict) || e.judgement.verdict == Verdict::kRangeLimit) {
      keep_candidate(candidate_of(choice_, c, e), result.candidates);
    } else if (e.judgement.worst_ratio > 0) {
      pool_.add({op_, dtype_, c.provenance->regime, e.judgement.worst_ratio, recipe});
    }
  }

  const TargetChoice& choice_;
  std::string op_;
  DType dtype_;
  std::uint64_t seed_, rounds_ = 0;
  Stream root_;
  WorstPool pool_;
};

using Climbs = std::vector<std::unique_ptr<Climb>>;

Climbs climbs_of(const CampaignOptions& options, const WorstByTarget& parents) {
  Climbs climbs;
  const CampaignSettings settings = settings_of(options);
  for (const TargetChoice& t : options.targets)
    for (const std::string& op : settings.ops)
      for (const std::string& dtype : settings.dtypes) {
        const DType d = *dtype_from_name(dtype);
        if (!t.target.by_path && !t.target.promise(op, d)) continue;
        climbs.push_back(std::make_unique<Climb>(t, *find_op(op), d, options.seed));
        if (const auto known = parents.find(t.label()); known != parents.end())
          for (const WorstInput& i : known->second) climbs.back()->add_parent(i);
      }
  return climbs;
}

Status restore(const Store& store, Climbs& climbs) {
  const auto notes = store.notes();
  if (!notes) return Error{notes.error()};
  for (const auto& climb : climbs)
    if (const auto it = notes->find(climb->note_name()); it != notes->end())
      if (const auto status = climb->restore(it->second, store.path() + ": note " + it->first); !status) return status;
  return Unit{};
}

// Hands out whole rounds; a climb is with one thread at a time, and the one with the fewest rounds is next.
class GuidedRun {
 public:
  GuidedRun(Store& store, const CampaignOptions& options, Climbs& climbs, CampaignOutcome& outcome)
      : store_(store), options_(options), climbs_(climbs), outcome_(outcome) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < climbs.size(); ++i)
      if (std::any_of(options.targets.begin(), options.targets.end(),
                      [&](const auto& t) { return t.label() == climbs[i]->choice().label(); }))
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return climbs[a]->rounds() < climbs[b]->rounds(); });
    waiting_.assign(order.begin(), order.end());
    const std::uint64_t in_a_round = kRoundCases * climbs.size();
    if (options.cases > 0) rounds_ = (options.cases + in_a_round - 1) / in_a_round;
    progress_.phase = "fuzzing";
    progress_.budget_seconds = options.seconds;
    progress_.budget_cases = static_cast<std::int64_t>(options.cases);
  }

  Status run(const WorkerLimits& limits) {
    std::vector<std::thread> threads;
    for (int i = 0; i < std::max(1, options_.jobs); ++i) threads.emplace_back([&] { work(limits); });
    for (std::thread& t : threads) t.join();
    outcome_.seconds = seconds_since(start_);
    return error_.empty() ? Status(Unit{}) : Error{error_};
  }

 private:
  std::optional<std::size_t> next() {
    const std::lock_guard lock(mutex_);
    if (options_.stop && options_.stop->load()) outcome_.interrupted = true;
    if (outcome_.interrupted || !error_.empty() || !outcome_.contradiction.empty() || waiting_.empty()) return std::nullopt;
    if (options_.seconds > 0 && seconds_since(start_) >= options_.seconds) return std::nullopt;
    const std::size_t climb = waiting_.front();
    waiting_.pop_front();
    return climb;
  }

  void work(const WorkerLimits& limits) {
    std::map<std::string, std::unique_ptr<Worker>> workers;
    while (const auto i = next()) {
      Climb& climb = *climbs_[*i];
      std::string contradiction;
      if (climb.rounds() < rounds_) {
        std::unique_ptr<Worker>& worker = workers[climb.choice().label()];
        if (!worker) worker = Worker::create(climb.choice(), limits);
        const std::uint64_t block = climb.rounds() * climbs_.size() + *i;
        done(*i, climb.round(*worker, block, contradiction), contradiction);
      }
    }
  }

  void done(std::size_t i, const BlockResult& result, const std::string& contradiction) {
    const std::lock_guard lock(mutex_);
    if (!contradiction.empty()) outcome_.contradiction = contradiction;
    auto status = store_.commit_block(result);
    if (status) status = store_.put_note(climbs_[i]->note_name(), climbs_[i]->note());
    if (!status) error_ = status.error();
    for (const Candidate& c : result.candidates) signatures_.insert(c.rough_signature());
    waiting_.push_back(i);
    progress_.seconds = seconds_since(start_);
    progress_.cases += result.tally.cases();
    progress_.generated += static_cast<std::int64_t>(kRoundCases);
    progress_.candidates = signatures_.size();
    if (options_.progress) options_.progress(progress_);
  }

  Store& store_;
  const CampaignOptions& options_;
  Climbs& climbs_;
  CampaignOutcome& outcome_;
  const Clock::time_point start_ = Clock::now();
  std::uint64_t rounds_ = ~std::uint64_t{0};  // of every climb
  std::deque<std::size_t> waiting_;
  std::mutex mutex_;
  std::string error_;
  std::set<std::string> signatures_;
  Progress progress_;
};

}  // namespace

CampaignSettings guided_settings_of(const CampaignOptions& options, const WorstByTarget& parents) {
  CampaignSettings s = settings_of(options);
  s.block_size = kRoundCases;
  std::uint64_t digest = 0;
  for (const auto& [label, inputs] : parents)
    for (const char ch : label + write_worst(inputs)) digest = mix_bits(digest ^ static_cast<unsigned char>(ch));
  s.options = fmt::format("guided=yes parents={:016x}", digest);
  return s;
}

Result<CampaignOutcome> fuzz_guided(Store& store, const CampaignOptions& options, const WorstByTarget& parents, WorstByTarget& worst) {
  CampaignOutcome outcome;
  const auto running = start_targets(options, outcome);
  if (!running) return Error{running.error()};
  // Of all targets: a climb has the same blocks in every run, whichever targets could start.
  Climbs climbs = climbs_of(options, parents);
  if (climbs.empty()) return Error{"--guided: none of the targets offers any of these ops and dtypes"};
  if (const auto status = restore(store, climbs); !status) return Error{status.error()};
  if (const auto status = GuidedRun(store, *running, climbs, outcome).run(worker_limits_of(options)); !status) return Error{status.error()};
  for (const auto& climb : climbs)
    for (const WorstInput& i : climb->pool().all()) worst[climb->choice().label()].push_back(i);
  return outcome;
}

}  // namespace normfuzz
