#include "harness/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "harness/seconds_since.h"

namespace normfuzz {
namespace {

// Samples by index, so that the same cases are taken whatever the number of workers.
constexpr std::uint64_t kRepeatEvery = 8;   // run twice and compare bits
constexpr std::uint64_t kAuditEvery = 64;   // put filter-certified rows to MPFR
constexpr std::uint64_t kLadderEvery = 4;   // put to every rung of the ladder
constexpr std::uint64_t kBoundsEvery = 64;  // note the bounds of every element under every rung
constexpr std::int64_t kBoundsElements = 2048;
constexpr std::int64_t kPropertyElements = std::int64_t{1} << 18;  // larger cases cost more than they could show

std::vector<std::string> sorted_ops(const CampaignOptions& o) {
  std::vector<std::string> ops;
  for (const OpInfo* op : all_ops())
    if (o.ops.empty() || std::find(o.ops.begin(), o.ops.end(), op->name) != o.ops.end()) ops.emplace_back(op->name);
  return ops;
}

std::vector<DType> sorted_dtypes(const CampaignOptions& o) {
  std::vector<DType> dtypes;
  for (const DType d : kAllDTypes)
    if (o.dtypes.empty() || std::find(o.dtypes.begin(), o.dtypes.end(), d) != o.dtypes.end()) dtypes.push_back(d);
  return dtypes;
}

// One case of a block with what is shared by all targets.
struct Item {
  explicit Item(Case generated) : c(std::move(generated)), judge(c), place(class_of(c, judge.rows())) {}
  Case c;
  CaseJudge judge;
  CaseClass place;
  const Property* asked = nullptr;  // of the targets; c.property holds its arguments where the premises are met
};

// The runs of one block on one target.
struct Batch {
  std::vector<Contract> contracts;
  std::vector<RunPlan> plans;
  std::vector<const Case*> runs;
};

class BlockRunner {
 public:
  BlockRunner(const CampaignOptions& options, const WorkerLimits& limits) : options_(options) {
    for (const TargetChoice& t : options.targets) workers_.push_back(Worker::create(t, limits));
  }

  BlockResult run(std::uint64_t block) {
    BlockResult result;
    result.block = block;
    const auto start = Clock::now();
    const auto items = generate_items(block);
    std::vector<Batch> batches;
    for (const TargetChoice& t : options_.targets) batches.push_back(plan(t.target, items));
    for (std::size_t t = 0; t < workers_.size(); ++t) workers_[t]->submit(batches[t].runs);
    for (std::size_t t = 0; t < workers_.size(); ++t) {
      std::vector<Outcome> outcomes = workers_[t]->collect();
      judge(options_.targets[t], batches[t], items, outcomes, result);
    }
    for (const auto& item : items) {
      result.tally.note_coverage(item->c, item->place);
      note_bounds(*item, result.tally);
      ask_oracle(*item, result.tally);
    }
    result.seconds = seconds_since(start);
    return result;
  }
  const std::string& contradiction() const { return contradiction_; }

 private:
  std::vector<std::unique_ptr<Item>> generate_items(std::uint64_t block) const {
    std::vector<std::unique_ptr<Item>> items;
    for (std::uint64_t i = block * kBlockIndices; i < (block + 1) * kBlockIndices; ++i)
      for (const std::string& op : sorted_ops(options_))
        for (const DType d : sorted_dtypes(options_)) {
          Case c = generate(options_.seed, op, d, i, options_.generator);
          const Property* asked = ask(c);
          items.push_back(std::make_unique<Item>(std::move(c)));
          items.back()->asked = asked;
        }
    return items;
  }

  // In the middle of the stretch, so that these are not the cases that are put to the ladder.
  bool asks(const Case& c) const {
    return options_.properties > 0 && index_of(c) % options_.properties == options_.properties / 2 &&
           c.inputs.front().second->size() <= kPropertyElements;
  }
  std::uint64_t draw(const Case& c, std::string_view purpose) const {
    return property_draw(options_.seed, c.op, c.dtype(), index_of(c), purpose);
  }
  // Depends on the case's place in the campaign alone.
  const Property* ask(Case& c) const {
    const Property* p = asks(c) ? draw_kernel_property(c.op, draw(c, "property")) : nullptr;
    if (!p) return nullptr;
    if (auto args = p->choose(c, draw(c, p->id))) c.property = PropertyRef{std::string(p->id), std::move(*args)};
    return p;
  }
  // A theorem about the oracle or about indices: no target takes part.
  void ask_oracle(const Item& item, Tally& tally) {
    const Property* p = asks(item.c) ? draw_oracle_property(item.c.op, draw(item.c, "oracle")) : nullptr;
    if (!p) return;
    PropertyNote note{p->id};
    if (const auto args = p->choose(item.c, draw(item.c, p->id))) {
      const PropertyResult r = check_without_kernel(*p, item.c, *args);
      note.met = r.state != PropertyResult::State::kVoid;
      note.broken = r.state == PropertyResult::State::kBroken;
      if (note.broken) contradiction_ = fmt::format("seed {} index {}: {}: {}", options_.seed, index_of(item.c), p->id, r.detail);
    }
    tally.note_property("oracle", item.c, note);
  }

  static std::uint64_t index_of(const Case& c) { return c.provenance->index; }
  static ExamineOptions examine_options(const Case& c) { return {index_of(c) % kRepeatEvery == 0, true, index_of(c) % kAuditEvery == 0}; }

  static Batch plan(const Target& target, const std::vector<std::unique_ptr<Item>>& items) {
    Batch batch;
    for (const auto& item : items) {
      batch.contracts.push_back(contract_of(target, item->c));
      batch.plans.push_back(plan_runs(item->c, item->judge.rows(), batch.contracts.back(), examine_options(item->c), &target));
    }
    for (const RunPlan& p : batch.plans)
      for (const Case* run : p.runs()) batch.runs.push_back(run);
    return batch;
  }

  void judge(const TargetChoice& choice, const Batch& batch, const std::vector<std::unique_ptr<Item>>& items,
             std::vector<Outcome>& outcomes, BlockResult& result) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Item& item = *items[i];
      const auto runs = std::span(outcomes).subspan(at, batch.plans[i].runs().size());
      at += runs.size();
      const ExamineOptions options = examine_options(item.c);
      const Examination e = judge_runs(item.judge, batch.plans[i], runs, batch.contracts[i], options);
      if (!e.contradiction.empty()) contradiction_ = fmt::format("seed {} index {}: {}", options_.seed, index_of(item.c), e.contradiction);
      result.tally.add(choice.label(), item.c, batch.contracts[i].name, e.judgement, options.audit);
      result.tally.note_errors(choice.label(), item.c, item.place, e.judgement);
      if (e.outcome.kind == OutcomeKind::kOk) grade(choice.label(), item, e.outcome, result.tally);
      note_properties(choice.label(), item, e, result.tally);
      if (is_violation(e.judgement.verdict) || e.judgement.verdict == Verdict::kRangeLimit)
        keep_candidate(candidate_of(choice, item.c, e), result.candidates);
    }
  }

  static void note_properties(const std::string& label, const Item& item, const Examination& e, Tally& tally) {
    if (e.outcome.kind != OutcomeKind::kOk) return;
    for (const PropertyNote& note : e.properties) tally.note_property(label, item.c, note);
    if (item.asked && !item.c.property) tally.note_property(label, item.c, {item.asked->id});
  }

  void grade(const std::string& label, Item& item, const Outcome& outcome, Tally& tally) {
    GradeNotes notes;
    item.judge.note_laws(outcome, notes);
    if (!notes.laws.empty()) tally.note_laws(label, item.c, notes);
    if (index_of(item.c) % kLadderEvery != 0 || !outcome.memory.clean()) return;
    std::vector<std::string_view> broken;
    for (const std::string_view rung : contract_ladder())
      if (!item.judge.keeps(outcome, *contract_named(rung, item.c.dtype()))) broken.push_back(rung);
    tally.note_ladder(label, item.c, broken);
  }

  static void note_bounds(Item& item, Tally& tally) {
    if (index_of(item.c) % kBoundsEvery != 0 || item.judge.rows().rows() * item.judge.rows().cols() > kBoundsElements) return;
    Outcome zeros;  // the bounds do not depend on it
    zeros.kind = OutcomeKind::kOk;
    zeros.outputs = find_op(item.c.op)->output_layouts(item.c);
    for (const std::string_view rung : contract_ladder())
      tally.note_bounds(item.c, rung, item.judge.all_elements(zeros, *contract_named(rung, item.c.dtype())));
  }

  const CampaignOptions& options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::string contradiction_;
};

// Hands out the blocks of this shard that are not stored yet.
class BlockQueue {
 public:
  BlockQueue(const std::set<std::uint64_t>& done, const CampaignOptions& o)
      : done_(done), shard_(static_cast<std::uint64_t>(o.shard)), shards_(static_cast<std::uint64_t>(o.shards)), next_(shard_) {
    const std::uint64_t per_block = kBlockIndices * sorted_ops(o).size() * sorted_dtypes(o).size();
    if (o.cases > 0) end_ = (o.cases + per_block - 1) / per_block;
  }
  std::optional<std::uint64_t> next() {
    while (done_.contains(next_)) next_ += shards_;
    if (next_ >= end_) return std::nullopt;
    const std::uint64_t block = next_;
    next_ += shards_;
    return block;
  }

 private:
  std::set<std::uint64_t> done_;
  std::uint64_t shard_, shards_, next_;
  std::uint64_t end_ = ~std::uint64_t{0};
};

}  // namespace

Result<CampaignOptions> start_targets(const CampaignOptions& options, CampaignOutcome& outcome) {
  CampaignOptions running = options;
  std::erase_if(running.targets, [&](const TargetChoice& t) {
    const auto version = Worker::create(t, worker_limits_of(options))->version();
    if (version)
      outcome.versions.emplace_back(t.label(), *version);
    else
      outcome.failed.emplace_back(t.label(), version.error());
    return !version;
  });
  if (running.targets.empty())
    return Error{"no target could be started: " + (outcome.failed.empty() ? "none chosen" : outcome.failed[0].second)};
  return running;
}

WorkerLimits worker_limits_of(const CampaignOptions& options) {
  WorkerLimits limits;
  limits.seconds_per_case = options.case_seconds;
  limits.log_path = options.out + "/workers.log";
  return limits;
}

Candidate candidate_of(const TargetChoice& choice, const Case& c, const Examination& e) {
  const Judgement& j = e.judgement;
  Candidate candidate{choice.target.name, choice.variant.name, c, j.verdict, j.law, j.failure, 1};
  if (!e.by_property) candidate.original.property.reset();  // shown by the case alone
  return candidate;
}

void keep_candidate(Candidate candidate, std::vector<Candidate>& kept) {
  const std::string signature = candidate.variant + ' ' + candidate.rough_signature();
  for (Candidate& known : kept)
    if (known.variant + ' ' + known.rough_signature() == signature) {
      ++known.occurrences;
      return;
    }
  kept.push_back(std::move(candidate));
}

CampaignSettings settings_of(const CampaignOptions& o) {
  CampaignSettings s;
  s.seed = o.seed;
  s.generator_version = kGeneratorVersion;
  s.block_size = kBlockIndices;
  s.shard = o.shard;
  s.shards = o.shards;
  s.ops = sorted_ops(o);
  for (const DType d : sorted_dtypes(o)) s.dtypes.emplace_back(name_of(d));
  for (const TargetChoice& t : o.targets) s.targets.push_back(t.label());
  s.options =
      fmt::format("regime={} max_elements={} large_shapes={} properties={}", o.generator.regime.empty() ? "all" : o.generator.regime,
                  o.generator.max_elements, o.generator.large_shapes, o.properties);
  return s;
}

Result<CampaignOutcome> fuzz(Store& store, const CampaignOptions& options) {
  CampaignOutcome outcome;
  auto started = start_targets(options, outcome);
  if (!started) return Error{started.error()};
  const CampaignOptions& running = *started;
  const WorkerLimits limits = worker_limits_of(options);

  BlockQueue queue(store.blocks(), options);
  std::mutex mutex;
  std::string store_error;
  std::set<std::string> signatures;
  Progress progress;
  progress.phase = "fuzzing";
  progress.budget_seconds = options.seconds;
  progress.budget_cases = static_cast<std::int64_t>(options.cases);
  const auto start = Clock::now();
  const auto work = [&] {
    BlockRunner runner(running, limits);
    for (;;) {
      std::uint64_t block;
      {
        const std::lock_guard lock(mutex);
        if (options.stop && options.stop->load()) outcome.interrupted = true;
        if (outcome.interrupted || !store_error.empty() || !outcome.contradiction.empty()) return;
        if (options.seconds > 0 && seconds_since(start) >= options.seconds) return;
        const auto next = queue.next();
        if (!next) return;
        block = *next;
      }
      const BlockResult result = runner.run(block);
      const std::lock_guard lock(mutex);
      if (!runner.contradiction().empty()) outcome.contradiction = runner.contradiction();
      if (const auto status = store.commit_block(result); !status) {
        store_error = status.error();
        return;
      }
      for (const Candidate& c : result.candidates) signatures.insert(c.rough_signature());
      progress.seconds = seconds_since(start);
      progress.cases += result.tally.cases();
      progress.generated += static_cast<std::int64_t>(kBlockIndices * sorted_ops(options).size() * sorted_dtypes(options).size());
      progress.candidates = signatures.size();
      if (options.progress) options.progress(progress);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, options.jobs); ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  outcome.seconds = seconds_since(start);
  if (!store_error.empty()) return Error{store_error};
  return outcome;
}

}  // namespace normfuzz
