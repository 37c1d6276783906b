// Markdown for a comment on a pull request: what is new first, everything else folded away, never longer than GitHub takes.
#include <fmt/format.h>

#include <map>

#include "oracles/contract.h"
#include "reports/changes.h"
#include "reports/escape.h"
#include "reports/formats.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

constexpr std::size_t kMostBytes = 65'000;     // GitHub refuses bodies of more than 65,536 characters
constexpr std::size_t kMostExplanation = 400;  // characters of a message in a table

std::string code(std::string_view text) { return fmt::format("<code>{}</code>", markdown_text(text)); }

// Cut at a character's beginning.
std::string shortened(const std::string& text) {
  if (text.size() <= kMostExplanation) return text;
  std::size_t end = kMostExplanation;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

// Lines as long as they fit beside what is kept free for the rest; says how many were left out.
class Room {
 public:
  explicit Room(std::size_t bytes) : left_(bytes) {}
  std::string take(const std::string& head, const std::vector<std::string>& lines, const std::string& tail, std::string_view what) {
    static constexpr std::size_t kNote = 120;
    if (lines.empty() || head.size() + tail.size() + kNote > left_) return "";
    std::string out = head;
    std::size_t n = 0;
    while (n < lines.size() && out.size() + lines[n].size() + tail.size() + kNote <= left_) out += lines[n++];
    if (n < lines.size()) out += fmt::format("\n{} more {} are in the HTML report.\n", lines.size() - n, what);
    out += tail;
    left_ -= out.size();
    return out;
  }

 private:
  std::size_t left_;
};

std::string finding_line(const Finding& f, const std::string& entries) {
  const std::string what = shortened(f.explanation.empty() ? f.judgement.detail : f.explanation);
  return fmt::format("| {} | {} {} | {} | {} | {} |\n", code(label_of(f)), code(f.op), name_of(f.dtype), name_of(f.verdict),
                     markdown_text(what), code("./normfuzz repro " + entries + "/" + f.slug));
}

std::vector<std::string> finding_lines(const std::vector<const Finding*>& findings, const std::string& entries) {
  std::vector<std::string> lines;
  for (const Finding* f : findings) lines.push_back(finding_line(*f, entries));
  return lines;
}

constexpr std::string_view kFindingHead = "| target | op | verdict | what | reproduce |\n|---|---|---|---|---|\n";

std::string folded(std::string_view summary) { return fmt::format("\n<details><summary>{}</summary>\n\n", summary); }

// "op -> dtype -> cell" of one target.
std::vector<std::string> grade_lines(const CampaignReport& report) {
  std::map<std::pair<std::string, std::string>, std::map<DType, std::string>> rows;
  for (const auto& [key, t] : report.tally.entries) {
    if (t.cases() == t.count(Verdict::kUnsupported) + t.count(Verdict::kRejected)) continue;
    std::string cell = markdown_text(t.grade());
    if (t.violations() > 0) cell += fmt::format(" **{} violations**", grouped(t.violations()));
    rows[{key.target, key.op}][key.dtype] = cell;
  }
  std::vector<std::string> lines;
  for (const auto& [key, cells] : rows) {
    std::string line = fmt::format("| {} | {} |", code(key.first), code(key.second));
    for (const DType d : kAllDTypes) line += fmt::format(" {} |", cells.contains(d) ? cells.at(d) : "");
    lines.push_back(line + "\n");
  }
  return lines;
}

std::string headline(const CampaignReport& r) {
  std::string out = fmt::format("## normfuzz: {}\n\n", news_text(r));
  out += fmt::format("{}{} runs of generated cases in {:.0f} s, seed {}{}: {} certified, {} violations.\n",
                     r.interrupted ? "Interrupted, everything saved. " : "", grouped(r.tally.cases()), r.seconds, r.seed,
                     r.shards == 1 ? "" : ", shard " + shard_text(r), grouped(r.tally.certified()), grouped(r.tally.violations()));
  if (r.previous) {
    const Changes c = changes_of(r);
    out += fmt::format("Since the previous run (seed {}): {} appeared, {} still there, {} no longer seen{}.\n", r.previous->seed,
                       c.fresh.size(), c.again.size(), c.gone.size(),
                       c.unasked.empty() ? "" : fmt::format(", {} not asked this time", c.unasked.size()));
  }
  return out;
}

// Of earlier runs: those that are news, or all others but the known ones, which show as before.
std::vector<std::string> entry_lines(const CampaignReport& r, bool news) {
  std::vector<std::string> lines;
  for (const Announcement& a : r.announcements)
    if ((a.status == EntryState::kNew) == news && a.status != EntryState::kKnown)
      lines.push_back(fmt::format("- {} {}: {}\n", name_of(a.status), code(a.slug), markdown_text(shortened(a.message))));
  return lines;
}

std::vector<std::string> target_lines(const CampaignReport& r) {
  std::vector<std::string> lines;
  for (const ReportedTarget& t : r.targets)
    lines.push_back(
        fmt::format("- {}: {}\n", code(t.label),
                    t.skipped.empty() ? markdown_text(shortened(t.version)) : "skipped: " + markdown_text(shortened(t.skipped))));
  return lines;
}

std::string markdown(const CampaignReport& report, const std::string& entries_from_file) {
  const std::string entries = report.out_directory.empty() ? entries_from_file : report.out_directory + "/bugzoo";
  std::vector<const Finding*> news, rest;
  for (const Finding& f : report.findings) (is_news(f) ? news : rest).push_back(&f);
  const Changes changes = changes_of(report);
  std::string out = headline(report);
  Room room(kMostBytes - out.size());
  out += room.take("\n" + std::string(kFindingHead), finding_lines(news, entries), "", "new findings");
  out += room.take("\n", entry_lines(report, true), "", "new entries");
  out += room.take(folded(fmt::format("{} known", rest.size())) + std::string(kFindingHead), finding_lines(rest, entries), "\n</details>\n",
                   "known findings");
  out += room.take(folded(fmt::format("{} no longer seen", changes.gone.size())) + std::string(kFindingHead),
                   finding_lines(changes.gone, entries), "\n</details>\n", "findings that are gone");
  out += room.take(folded("Other entries of earlier runs"), entry_lines(report, false), "\n</details>\n", "entries");
  out += room.take(folded("Grades: the strictest contract that no sampled case broke") +
                       "| target | op | f64 | f32 | f16 | bf16 |\n|---|---|---|---|---|---|\n",
                   grade_lines(report), "\n</details>\n", "grades");
  out += room.take(folded("Targets"), target_lines(report), "\n</details>\n", "targets");
  return out;
}

}  // namespace

extern const ReportFormat kMarkdown;
const ReportFormat kMarkdown = {"--markdown", "write a Markdown file that fits into a comment on a pull request", markdown};

}  // namespace normfuzz
