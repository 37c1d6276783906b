#include "harness/life_cycle/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/life_cycle/entry_runner.h"

namespace normfuzz {
namespace {

// A signature that shows on this version, and the status that it gets.
struct Claim {
  Signature signature;
  std::string slug, version;
  bool adopted = false, range_limit = false;
  FindingStatus status = FindingStatus::kNew;
  std::string note;
};

// "onnxruntime 1.32.0"; kernels of our own give only a number as their version.
std::string with_name(const std::string& target, const std::string& version) {
  return version.empty() || (version[0] >= '0' && version[0] <= '9') ? target + " " + version : version;
}

// Hands out what the waivers cover, never more than their count.
class Desk {
 public:
  explicit Desk(const std::map<std::string, std::vector<Waiver>>& waivers) : waivers_(waivers) {}

  void decide(Claim& claim) {
    if (claim.range_limit) {
      claim.status = FindingStatus::kKnown;
      return;
    }
    claim.status = FindingStatus::kNew;
    const auto of_target = waivers_.find(claim.signature.target);
    if (of_target == waivers_.end()) return;
    for (const Waiver& w : of_target->second) {
      if (!w.names(claim.signature)) continue;
      if (!w.versions.contains(claim.version)) {
        note(claim, fmt::format("waiver '{}' is for versions {}, not for {}", w.name, w.versions.text(),
                                with_name(claim.signature.target, claim.version)));
      } else if (std::set<std::string>& used = used_[&w]; std::ssize(used) >= w.count && !used.contains(claim.signature.text())) {
        note(claim, fmt::format("waiver '{}' covers {} signature{} already, its count", w.name, w.count, w.count == 1 ? "" : "s"));
      } else {
        used.insert(claim.signature.text());
        claim.status = FindingStatus::kKnown;
        claim.note = fmt::format("waiver '{}': {} ({})", w.name, w.reason, w.source);
        return;
      }
    }
  }
  // The waiver that holds for a signature on a version, whatever its count; null: none.
  const Waiver* holding(const Signature& signature, const std::string& version) const {
    const auto of_target = waivers_.find(signature.target);
    if (of_target == waivers_.end()) return nullptr;
    for (const Waiver& w : of_target->second)
      if (w.names(signature) && w.versions.contains(version)) return &w;
    return nullptr;
  }

 private:
  static void note(Claim& claim, const std::string& text) { claim.note += (claim.note.empty() ? "" : "; ") + text; }
  const std::map<std::string, std::vector<Waiver>>& waivers_;
  std::map<const Waiver*, std::set<std::string>> used_;  // signatures
};

Announcement about(const StoredEntry& entry, EntryState state, std::string message) {
  return {entry.slug, entry.status.signature.target, state, std::move(message), entry.directory};
}

Announcement announce_fixed(const StoredEntry& entry, const std::string& version, const Desk& desk) {
  std::string message = "no longer reproduces on " + with_name(entry.status.signature.target, version);
  if (const Waiver* w = desk.holding(entry.status.signature, version)) message += fmt::format("; waiver '{}' still names it", w->name);
  return about(entry, EntryState::kFixed, std::move(message));
}

Announcement announce_shown(const StoredEntry& entry, const Claim& claim, const std::string& detail) {
  const bool known = claim.status == FindingStatus::kKnown;
  std::string message = fmt::format("{} on {}", entry.status.status == FindingStatus::kFixed ? "is back" : "reproduces",
                                    with_name(claim.signature.target, claim.version));
  if (!detail.empty()) message += ", " + detail;
  message += claim.note.empty() ? known ? "" : ", and no waiver names it" : "; " + claim.note;
  return about(entry, known ? EntryState::kKnown : EntryState::kNew, std::move(message));
}

// An entry that shows, with its place in the claims.
struct Shown {
  const StoredEntry* entry;
  std::size_t claim;
  std::string detail;
};

// Runs the entries whose signature this campaign has not shown anyway.
void run_entries(const CampaignOptions& options, const LifeCycle& life_cycle, const Desk& desk, std::vector<Claim>& claims,
                 std::vector<Shown>& shown, std::vector<Announcement>& announcements) {
  EntryRunner runner(options.targets, worker_limits_of(options));
  std::set<std::string> seen;
  for (const Claim& c : claims) seen.insert(c.signature.text());
  for (const StoredEntry& entry : life_cycle.entries) {
    if (!runner.concerns(entry) || seen.contains(entry.status.signature.text())) continue;
    if (options.stop && options.stop->load()) return;
    if (options.progress) {
      Progress progress;
      progress.phase = "running again " + entry.slug;
      options.progress(progress);
    }
    const EntryRun run = runner.run(entry);
    if (run.state == EntryRun::State::kNotApplicable) {
      announcements.push_back(about(entry, EntryState::kNotApplicable, "does not run: " + run.detail));
    } else if (run.state == EntryRun::State::kGone) {
      if (entry.status.status != FindingStatus::kFixed) announcements.push_back(announce_fixed(entry, run.version, desk));
    } else {
      Signature now = entry.status.signature;  // a waiver for wrong numbers is none for a crash
      now.law = run.law;
      now.failure = run.failure;
      shown.push_back({&entry, claims.size(), run.detail});
      claims.push_back({std::move(now), entry.slug, run.version, entry.adopted, run.verdict == Verdict::kRangeLimit, {}, {}});
    }
  }
}

// Adopted ones first, so that a count is used up by what it was given for; then by slug, so that every run decides alike.
void decide_all(std::vector<Claim>& claims, Desk& desk) {
  std::vector<Claim*> order;
  for (Claim& c : claims) order.push_back(&c);
  std::sort(order.begin(), order.end(),
            [](const Claim* a, const Claim* b) { return std::pair(!a->adopted, a->slug) < std::pair(!b->adopted, b->slug); });
  for (Claim* c : order) desk.decide(*c);
}

Status store_statuses(Store& store, std::vector<Finding>& findings, const std::vector<Claim>& claims,
                      const std::function<Status(const Finding&)>& written) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    Finding& f = findings[i];
    if (f.status == claims[i].status && f.status_note == claims[i].note) continue;
    f.status = claims[i].status;
    f.status_note = claims[i].note;
    if (auto status = written(f); !status) return status;
    if (auto status = store.put_finding(f); !status) return status;
  }
  return Unit{};
}

}  // namespace

std::string_view name_of(EntryState s) {
  static constexpr std::string_view kNames[] = {"new", "known", "fixed", "not applicable"};
  return kNames[static_cast<std::size_t>(s)];
}

Result<LifeCycle> load_life_cycle(const std::vector<TargetChoice>& targets, const std::string& adopted, const std::string& previous) {
  LifeCycle life_cycle;
  for (const TargetChoice& t : targets) {
    if (life_cycle.waivers.contains(t.target.name)) continue;
    auto waivers = read_waivers(waiver_path(t.target));
    if (!waivers) return Error{waivers.error()};
    life_cycle.waivers[t.target.name] = std::move(*waivers);
  }
  auto entries = read_entries(adopted);
  if (!entries) return Error{entries.error()};
  std::set<std::string> slugs;
  for (StoredEntry& e : *entries) {
    e.adopted = true;
    slugs.insert(e.slug);
    life_cycle.entries.push_back(std::move(e));
  }
  if (previous.empty()) return life_cycle;
  std::error_code ignored;
  if (!std::filesystem::is_directory(previous, ignored))
    return Error{"--previous: " + previous + ": no such directory, expected that of an earlier run"};
  entries = read_entries(previous + "/bugzoo");
  if (!entries) return Error{entries.error()};
  for (StoredEntry& e : *entries)
    if (slugs.insert(e.slug).second) life_cycle.entries.push_back(std::move(e));
  return life_cycle;
}

Result<std::vector<Announcement>> settle(Store& store, const CampaignOptions& options, const LifeCycle& life_cycle,
                                         const std::function<Status(const Finding&)>& written) {
  auto findings = store.findings();
  if (!findings) return Error{findings.error()};
  std::set<std::string> adopted;
  for (const StoredEntry& e : life_cycle.entries)
    if (e.adopted) adopted.insert(e.status.signature.text());
  std::vector<Claim> claims;
  for (const Finding& f : *findings)
    claims.push_back({f.parts(), f.slug, f.version, adopted.contains(f.signature()), f.verdict == Verdict::kRangeLimit, {}, {}});
  Desk desk(life_cycle.waivers);
  std::vector<Shown> shown;
  std::vector<Announcement> announcements;
  run_entries(options, life_cycle, desk, claims, shown, announcements);
  decide_all(claims, desk);
  for (const Shown& s : shown) announcements.push_back(announce_shown(*s.entry, claims[s.claim], s.detail));
  if (auto status = store_statuses(store, *findings, claims, written); !status) return Error{status.error()};
  return announcements;
}

}  // namespace normfuzz
