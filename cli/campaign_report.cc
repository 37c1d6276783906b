#include "cli/campaign_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/target_choice.h"
#include "core/hex_float.h"
#include "harness/record.h"
#include "reports/formats.h"

namespace normfuzz {
namespace {

// Names of notes in the store; an empty text is as good as none.
constexpr std::string_view kVersion = "version of ", kSkipped = "skipped ", kSeconds = "seconds", kInterrupted = "interrupted",
                           kEarlier = "earlier entry ";

std::string note_of(const std::map<std::string, std::string>& notes, std::string_view name) {
  const auto it = notes.find(std::string(name));
  return it == notes.end() ? "" : it->second;
}

double seconds_of(const std::map<std::string, std::string>& notes) {
  const std::string text = note_of(notes, kSeconds);
  const auto value = value_from_hex(text);
  return value ? *value : 0;
}

std::vector<ReportedTarget> targets_of(const std::map<std::string, std::string>& notes) {
  std::vector<ReportedTarget> took_part, skipped;
  for (const auto& [name, text] : notes) {
    if (text.empty()) continue;
    if (name.starts_with(kVersion)) took_part.push_back({name.substr(kVersion.size()), text, ""});
    if (name.starts_with(kSkipped)) skipped.push_back({name.substr(kSkipped.size()), "", text});
  }
  took_part.insert(took_part.end(), skipped.begin(), skipped.end());
  return took_part;
}

// With the state in the name: shards that disagree about an entry keep what each of them says.
std::string earlier_prefix(EntryState state) { return fmt::format("{}{}: ", kEarlier, name_of(state)); }

// Of each entry what is worst, and in that order.
Result<std::vector<Announcement>> announcements_of(const std::map<std::string, std::string>& notes, const std::string& path) {
  std::vector<Announcement> out;
  std::set<std::string> said;
  for (const EntryState state : {EntryState::kNew, EntryState::kKnown, EntryState::kFixed, EntryState::kNotApplicable}) {
    const std::string prefix = earlier_prefix(state);
    for (const auto& [name, text] : notes) {
      if (text.empty() || !name.starts_with(prefix) || !said.insert(name.substr(prefix.size())).second) continue;
      const auto document = JsonDocument::parse(text, path + ": note " + name);
      if (!document) return Error{document.error()};
      RecordReader in(path + ": note " + name);
      out.push_back({name.substr(prefix.size()), in.text(document->root(), "target"), state, in.text(document->root(), "message"),
                     in.text(document->root(), "directory")});
      if (!in.ok()) return Error{in.error()};
    }
  }
  return out;
}

}  // namespace

Status remember_run(Store& store, const CampaignOutcome& outcome, const std::vector<Announcement>& announcements) {
  const auto before = store.notes();
  if (!before) return Error{before.error()};
  std::map<std::string, std::string> notes;
  for (const auto& [name, text] : *before)
    if (name.starts_with(kSkipped) || name.starts_with(kEarlier)) notes[name] = "";  // perhaps set up or repaired since
  for (const Announcement& a : announcements)
    notes[earlier_prefix(a.status) + a.slug] =
        RecordWriter().text("target", a.target).text("message", a.message).text("directory", a.directory).finish();
  if (const auto known = built_targets())
    for (const Target& t : *known)
      if (!t.unavailable.empty()) notes[std::string(kSkipped) + t.name] = t.unavailable;
  for (const auto& [label, reason] : outcome.failed) notes[std::string(kSkipped) + label] = reason;
  for (const auto& [label, version] : outcome.versions) {
    notes[std::string(kVersion) + label] = version;
    notes[std::string(kSkipped) + label] = "";
  }
  notes[std::string(kSeconds)] = hex_from_value(seconds_of(*before) + outcome.seconds);
  notes[std::string(kInterrupted)] = outcome.interrupted ? "yes" : "";
  for (const auto& [name, text] : notes)
    if (note_of(*before, name) != text)
      if (auto status = store.put_note(name, text); !status) return status;
  return Unit{};
}

Result<CampaignReport> report_of(const Store& store, const std::string& out) {
  CampaignReport r;
  r.seed = store.settings().seed;
  r.shard = store.settings().shard;
  r.shards = store.settings().shards;
  auto tally = store.tally();
  if (!tally) return Error{tally.error()};
  r.tally = std::move(*tally);
  auto findings = store.findings();
  if (!findings) return Error{findings.error()};
  r.findings = std::move(*findings);
  const auto notes = store.notes();
  if (!notes) return Error{notes.error()};
  r.targets = targets_of(*notes);
  auto announcements = announcements_of(*notes, store.path());
  if (!announcements) return Error{announcements.error()};
  r.announcements = std::move(*announcements);
  r.interrupted = !note_of(*notes, kInterrupted).empty();
  r.seconds = seconds_of(*notes);
  const auto seconds = store.seconds();  // of all shards, and where a killed run left no note
  if (seconds && (r.shard == CampaignSettings::kMerged || r.seconds == 0)) r.seconds = *seconds;
  r.out_directory = out;
  return r;
}

void remove_lost_entries(const std::vector<Finding>& before, const std::vector<Finding>& now, const std::string& out) {
  std::set<std::string> kept;
  for (const Finding& f : now) kept.insert(f.slug);
  std::error_code ignored;
  for (const Finding& f : before)
    if (!kept.contains(f.slug)) std::filesystem::remove_all(std::filesystem::path(out) / "bugzoo" / f.slug, ignored);
}

bool is_version_note(std::string_view name) { return name.starts_with(kVersion); }

Result<std::vector<Candidate>> open_candidates(const Store& store) {
  auto candidates = store.candidates();
  if (!candidates) return candidates;
  const auto findings = store.findings();
  if (!findings) return Error{findings.error()};
  std::erase_if(*candidates, [&](const Candidate& c) {
    return std::any_of(findings->begin(), findings->end(), [&](const Finding& f) { return f.rough_signature() == c.rough_signature(); });
  });
  return candidates;
}

Status compare_with(CampaignReport& report, const std::string& previous) {
  const auto store = Store::open_for_reading(previous);
  if (!store) return Error{"--previous: " + store.error()};
  auto findings = store->findings();
  if (!findings) return Error{"--previous: " + findings.error()};
  report.previous = PreviousCampaign{previous, store->settings().seed, std::move(*findings)};
  return Unit{};
}

bool ReportFiles::any() const {
  return std::any_of(paths.begin(), paths.end(), [](const std::string& path) { return !path.empty(); });
}

void declare_report_files(OptionSet& options, ReportFiles& files) {
  files.paths.resize(all_formats().size());
  for (std::size_t i = 0; i < files.paths.size(); ++i) options.text(all_formats()[i]->option, files.paths[i], all_formats()[i]->help);
  options.text("--previous", files.previous, "compare the findings with those of an earlier campaign");
}

Status write_report_files(const ReportFiles& files, CampaignReport& report) {
  if (!files.previous.empty())
    if (auto status = compare_with(report, files.previous); !status) return status;
  for (std::size_t i = 0; i < files.paths.size(); ++i)
    if (!files.paths[i].empty())
      if (auto status = write_report(*all_formats()[i], report, files.paths[i]); !status) return status;
  return Unit{};
}

}  // namespace normfuzz
