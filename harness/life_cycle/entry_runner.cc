#include "harness/life_cycle/entry_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/life_cycle/version_range.h"

namespace normfuzz {
namespace {

std::string plain(const std::string& variant) { return variant == "default" ? "" : variant; }

EntryRun not_applicable(std::string version, std::string reason) {
  EntryRun run;
  run.version = std::move(version);
  run.detail = std::move(reason);
  return run;
}

EntryRun state_of(const StoredEntry& entry, const Examination& e, std::string version) {
  const Judgement& j = e.judgement;
  if (j.verdict == Verdict::kUnsupported || j.verdict == Verdict::kRejected)
    return not_applicable(std::move(version), std::string(name_of(j.verdict)) + ": " + j.detail);
  const bool shows = is_violation(j.verdict) || (j.verdict == Verdict::kRangeLimit && entry.status.verdict == Verdict::kRangeLimit);
  EntryRun run;
  run.state = shows ? EntryRun::State::kShows : EntryRun::State::kGone;
  run.version = std::move(version);
  if (!shows) return run;
  const Signature& s = entry.status.signature;
  run.verdict = j.verdict;
  run.law = j.law;
  run.failure = j.failure;
  if (j.verdict != entry.status.verdict || j.law != s.law || j.failure != s.failure)
    run.detail = fmt::format("now as {} ({}, {})", name_of(j.verdict), j.law, name_of(j.failure));
  return run;
}

}  // namespace

ExamineOptions runs_for(std::string_view law) { return {law == "bit.determinism", law == "bit.containment", false}; }

bool EntryRunner::concerns(const StoredEntry& entry) const {
  return std::any_of(targets_.begin(), targets_.end(),
                     [&](const TargetChoice& t) { return t.target.name == entry.status.signature.target; });
}

// The first variant that the entry names and this processor can run. A variant that is not chosen starts from one without modifiers of its
// own.
const TargetChoice* EntryRunner::choice_for(const StoredEntry& entry, std::string& reason) {
  std::vector<std::string> names = entry.status.variants;
  if (names.empty()) names.emplace_back();
  const TargetChoice* base = nullptr;
  for (const TargetChoice& t : targets_)
    if (t.target.name == entry.status.signature.target && (!base || t.variant.modifiers.empty())) base = &t;
  for (const std::string& name : names) {
    for (const TargetChoice& t : targets_)
      if (t.target.name == base->target.name && t.variant.name == plain(name)) return &t;
    for (const Variant& v : base->target.variants) {
      if (v.name != plain(name) || !base->variant.modifiers.empty()) continue;
      if (processor_has(v.requires_cpu)) return others_.emplace_back(std::make_unique<TargetChoice>(base->target, v)).get();
      reason = "this processor has no " + v.requires_cpu;
    }
  }
  if (reason.empty()) reason = "no variant " + names[0] + " takes part";
  return nullptr;
}

Worker& EntryRunner::worker_of(const TargetChoice& choice) {
  auto& worker = workers_[choice.label()];
  if (!worker || worker->suspended()) worker = Worker::create(choice, limits_);
  return *worker;
}

EntryRun EntryRunner::run(const StoredEntry& entry) {
  if (!processor_has(entry.status.isa)) return not_applicable("", "this processor has no " + entry.status.isa);
  std::string reason;
  const TargetChoice* choice = choice_for(entry, reason);
  if (!choice) return not_applicable("", reason);
  Worker& worker = worker_of(*choice);
  const auto version = worker.version();
  if (!version) return not_applicable("", version.error());
  const auto range = VersionRange::parse(entry.status.version_range.empty() ? "*" : entry.status.version_range);
  if (range && !range->contains(*version)) return not_applicable(*version, "it requires a version " + range->text());
  constexpr int kTries = 3;  // a failure that comes and goes
  EntryRun run;
  for (int i = 0; i < kTries && (i == 0 || run.state == EntryRun::State::kGone); ++i)
    run = state_of(entry, examine(worker, choice->target, std::span(&entry.content, 1), runs_for(entry.status.signature.law)).front(),
                   *version);
  return run;
}

}  // namespace normfuzz
