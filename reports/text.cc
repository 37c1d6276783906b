#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "oracles/contract.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

constexpr std::size_t kOpWidth = 18;  // what the other columns leave of 100; "channel_layer_norm"

struct Paint {
  bool on;
  std::string operator()(std::string_view code, std::string text) const { return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text; }
  std::string bold(std::string text) const { return (*this)("1", std::move(text)); }
  std::string red(std::string text) const { return (*this)("31", std::move(text)); }
  std::string yellow(std::string text) const { return (*this)("33", std::move(text)); }
};

std::string fitted(std::string_view text, std::size_t width) {
  return text.size() <= width ? std::string(text) : std::string(text.substr(0, width - 1)) + "~";
}

// A count in at most `width` >= 4 characters: in thousands, millions, ... where it needs more.
std::string count_text(std::int64_t n, std::size_t width) {
  std::string text = std::to_string(n);
  for (const char* unit = "KMGTPE"; text.size() > width; ++unit) text = fmt::format("{}{}", n /= 1000, *unit);
  return text;
}

// Breaks at spaces; what follows the first line is indented by `indent`.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out, line;
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "\n";
  line.assign(begin, ' ');
  bool fresh = true;
  for (std::size_t at = begin; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!fresh && line.size() + 1 + word.size() > kReportColumns) {
      out += line + "\n";
      line.assign(indent, ' ');
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
    at = end + 1;
  }
  return out + line + "\n";
}

// Widths of a line: 24 for op and dtype, then 8 10 6 11 7 8 8, and 18 for the longest grade, "native_accumulate": 100.
std::string header_line() {
  return fmt::format(" {:<{}} {:<4}{:>8}{:>10}{:>6}{:>11}{:>7}{:>8}{:>8} {}", "op", kOpWidth, "type", "cases", "certified", "viol.",
                     "open/range", "unsup.", "ratio", "ulps", "grade");
}

// A longer name stands on a line of its own above its dtypes: cut, a forward and its backward would look alike.
std::string table_line(const TallyKey& key, const OpTally& t, bool first_of_op, const Paint& paint) {
  const bool fits = key.op.size() <= kOpWidth;
  const std::string own_line = fits || !first_of_op ? "" : fmt::format(" {}\n", key.op), name = fits ? key.op : "";
  const std::string open = fmt::format("{}/{}", count_text(t.count(Verdict::kUndecided), 4), count_text(t.count(Verdict::kRangeLimit), 5));
  const std::string violations = fmt::format("{:>6}", count_text(t.violations(), 5));
  return own_line + fmt::format(" {:<{}} {:<4}{:>8}{:>10}{}{:>11}{:>7}{:>8}{:>8} {}\n", name, kOpWidth, name_of(key.dtype),
                                count_text(t.cases(), 7), count_text(t.certified(), 9), t.violations() ? paint.red(violations) : violations,
                                open, count_text(t.count(Verdict::kUnsupported) + t.count(Verdict::kRejected), 6),
                                measure_text(t.ratio.value), measure_text(t.ulps.value), t.grade());
}

const ReportedTarget* find(std::span<const ReportedTarget> targets, const std::string& label) {
  const auto it = std::find_if(targets.begin(), targets.end(), [&](const ReportedTarget& t) { return t.label == label; });
  return it == targets.end() ? nullptr : &*it;
}

// Reasons of one kind over the ops and dtypes of a target that share them: "layer_norm f16 bf16".
using ReasonLines = std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>>;

void collect_reasons(const std::string& kind, const ReasonCounts& counts, const TallyKey& key, ReasonLines& lines) {
  const auto note = [&](const std::string& reason, std::int64_t count) {
    std::string& where = lines[{kind, reason}][key.op];
    where += fmt::format(" {} ({})", name_of(key.dtype), count_text(count, 9));
  };
  for (const auto& [reason, count] : counts.named()) note(reason.empty() ? "no reason given" : reason, count);
  if (counts.other() > 0) note("further reasons", counts.other());
}

std::string reasons_text(const Tally& tally, const std::string& label) {
  ReasonLines lines;
  for (const auto& [key, t] : tally.entries) {
    if (key.target != label) continue;
    collect_reasons("unsupported", t.unsupported, key, lines);
    collect_reasons("rejected", t.rejected, key, lines);
  }
  std::string out;
  for (const auto& [what, ops] : lines) {
    std::string where;
    for (const auto& [op, dtypes] : ops) where += (where.empty() ? "" : ", ") + op + dtypes;
    out += wrapped(fmt::format("   {}: {}: {}", what.first, where, what.second), 5);
  }
  return out;
}

std::string finding_text(const Finding& f, const std::string& out_directory, const Paint& paint) {
  std::string out = paint.bold(f.slug) + "\n";
  const std::string state = fmt::format("{} ({})", name_of(f.verdict), name_of(f.status));
  const bool alarming = f.status == FindingStatus::kNew && is_violation(f.verdict);
  out += wrapped(fmt::format("  {}: {}{}", state, f.explanation.empty() ? f.judgement.detail : f.explanation,
                             f.admitted_by.empty() || f.explanation.find(f.admitted_by) != std::string::npos ? "" : "; " + f.admitted_by),
                 4);
  if (alarming) out.replace(out.find(state), state.size(), paint.red(state));
  out += wrapped(fmt::format("  {} {} {}{}, {} {}, first: seed {} index {}{}", f.target, f.op, name_of(f.dtype), variants_of(f),
                             f.occurrences, f.occurrences == 1 ? "case" : "cases", f.first_seed, f.first_index,
                             f.first_regime.empty() ? "" : " (" + f.first_regime + ")"),
                 4);
  if (!f.status_note.empty()) out += wrapped("  " + f.status_note, 4);
  return out + fmt::format("  {}/bugzoo/{}\n", out_directory, f.slug);
}

// What became of earlier entries; those that are known and still show are only counted.
std::string announcements_text(std::span<const Announcement> announcements, const Paint& paint) {
  std::string out;
  std::int64_t known = 0;
  for (const EntryState state : {EntryState::kNew, EntryState::kFixed, EntryState::kNotApplicable})
    for (const Announcement& a : announcements) {
      known += state == EntryState::kNew && a.status == EntryState::kKnown;
      if (a.status != state) continue;
      const std::string line = wrapped(fmt::format(" {}: {} {}", name_of(state), a.slug, a.message), 4);
      out += state == EntryState::kNew ? paint.red(line.substr(0, line.size() - 1)) + "\n" : line;
    }
  if (known > 0) out += fmt::format(" known: {} more that still reproduce\n", known);
  return out.empty() ? out : paint.bold("entries of earlier runs") + "\n" + out;
}

std::string filter_text(const Tally& tally) {
  std::int64_t rows = 0, filtered = 0, mpfr = 0, audited = 0, elements = 0, unbounded = 0;
  for (const auto& [key, t] : tally.entries) {
    rows += t.rows;
    filtered += t.filtered_rows;
    mpfr += t.mpfr_rows;
    audited += t.audited_rows;
    elements += t.elements;
    unbounded += t.unbounded;
  }
  if (rows == 0) return "";
  const auto percent = [](std::int64_t part, std::int64_t whole) { return 100 * static_cast<double>(part) / static_cast<double>(whole); };
  return wrapped(fmt::format("judged: {} rows, {} elements ({} with an infinite bound); the filter certified {:.1f} % of the rows, "
                             "MPFR decided {}; {} certified rows audited by MPFR",
                             rows, elements, unbounded, percent(filtered, rows), mpfr, audited),
                 8);
}

std::string closing_text(const CampaignReport& r, const Paint& paint) {
  std::int64_t fresh = 0;
  for (const Finding& f : r.findings) fresh += f.status == FindingStatus::kNew && is_violation(f.verdict);
  const auto earlier = [&](EntryState state) {
    return std::count_if(r.announcements.begin(), r.announcements.end(), [&](const Announcement& a) { return a.status == state; });
  };
  const auto back = earlier(EntryState::kNew), fixed = earlier(EntryState::kFixed);
  std::string out =
      wrapped(fmt::format("{}{} cases in {:.1f} s, seed {}{}: {} certified, {} violations; {} findings, {} new{}",
                          r.interrupted ? "interrupted, everything saved: " : "", r.tally.cases(), r.seconds, r.seed,
                          r.shards == 1 ? "" : fmt::format(", shard {}", shard_text(r)), r.tally.certified(), r.tally.violations(),
                          r.findings.size(), fresh, back + fixed > 0 ? fmt::format("; of earlier runs {} new, {} fixed", back, fixed) : ""),
              4);
  if (fresh + back > 0) out = paint.red(out.substr(0, out.size() - 1)) + "\n";
  std::string skipped;
  for (const ReportedTarget& t : r.targets)
    if (!t.skipped.empty()) skipped += fmt::format("{}{} ({})", skipped.empty() ? "" : ", ", t.label, t.skipped);
  return skipped.empty() ? out : out + paint.yellow(wrapped("skipped: " + skipped, 4));
}

std::string number_text(double v) { return std::isfinite(v) ? fmt::format("{:a} ({:.9g})", v, v) : fmt::format("{}", v); }

}  // namespace

std::string table_text(const Tally& tally, std::span<const ReportedTarget> targets, bool colour) {
  const Paint paint{colour};
  std::string out, label, op;
  if (!tally.entries.empty()) out = paint.bold(header_line()) + "\n";
  for (auto it = tally.entries.begin(); it != tally.entries.end(); ++it) {
    if (it->first.target != label || it == tally.entries.begin()) {
      label = it->first.target;
      const ReportedTarget* target = find(targets, label);
      op.clear();
      out += paint.bold(fitted(target && !target->version.empty() ? label + " " + target->version : label, kReportColumns)) + "\n";
    }
    out += table_line(it->first, it->second, std::exchange(op, it->first.op) != it->first.op, paint);
    if (std::next(it) == tally.entries.end() || std::next(it)->first.target != label) out += reasons_text(tally, label);
  }
  return out;
}

std::string laws_text(const Tally& tally) {
  std::map<std::string, std::map<std::string, std::string>> lines;  // law -> target and op -> dtypes
  for (const auto& [key, t] : tally.entries)
    for (const auto& [law, n] : t.laws) {
      std::string& line = lines[law][key.target + " " + key.op];
      if (!line.empty()) line += ", ";
      line += fmt::format("{} {}", name_of(key.dtype),
                          n.broken == 0 ? "yes" : fmt::format("no ({} of {} rows broken)", n.broken, n.held + n.broken));
    }
  std::string out;
  for (const auto& [law, rows] : lines) {
    out += wrapped(law_text(law), 2);
    for (const auto& [where, verdicts] : rows) out += wrapped(fmt::format("   {}: {}", where, verdicts), 5);
  }
  return out;
}

std::string properties_text(const Tally& tally) {
  std::string out;
  for (const Property* p : all_properties()) {
    PropertyTally sum;
    std::string broken;
    for (const auto& [key, t] : tally.properties) {
      if (key.id != p->id) continue;
      sum.merge(t);
      if (t.violations > 0) broken += fmt::format("{}{} {}", broken.empty() ? "" : ", ", key.target, t.violations);
      if (t.unclaimed > 0) broken += fmt::format("{}{} {} (not claimed)", broken.empty() ? "" : ", ", key.target, t.unclaimed);
    }
    if (sum.tried == 0) continue;
    const double met = 100 * static_cast<double>(sum.met) / static_cast<double>(sum.tried);
    out += wrapped(fmt::format(" {:<26}{:>8}{:>8.1f}  {}", p->id, count_text(sum.tried, 7), met, broken.empty() ? "-" : broken), 46);
  }
  if (out.empty()) return out;
  return fmt::format(" {:<26}{:>8}{:>8}  violations by target\n{}", "property", "tried", "met %", out);
}

// Of the contracts that outcomes were judged by; the other rungs of the ladder are in the JSON report.
std::string bounds_text(const Tally& tally) {
  std::map<std::string, std::string> lines;  // op, contract and regimes -> dtypes
  for (const auto& [key, share] : tally.bounds) {
    const auto finite = share.finite_share();
    if (share.elements == 0 || !finite) continue;
    std::string& line = lines[fmt::format("{} {} {}", key.op, key.contract, key.special ? "special" : "ordinary")];
    const auto median = share.median_ulps();
    line += fmt::format("{}{} {:.2f} %{}", line.empty() ? "" : ", ", name_of(key.dtype), 100 * *finite,
                        median ? fmt::format(" {}", *median == 0 ? "0" : measure_text(*median)) : "");
  }
  std::string out;
  for (const auto& [what, dtypes] : lines) out += wrapped(fmt::format("   {}: {}", what, dtypes), 5);
  return out.empty() ? out : "bounds: share of elements with a finite one, and the median bound in ulps of the type\n" + out;
}

std::string elements_text(std::span<const ElementEvidence> elements, std::size_t limit, bool colour) {
  const Paint paint{colour};
  std::string out;
  for (const ElementEvidence& e : elements.first(std::min(limit, elements.size()))) {
    const std::string place = fmt::format("{}[{}]", e.output, e.index);
    out += fmt::format("  {:<8} {}got   {}\n", e.verdict == ElementVerdict::kViolation ? paint.red(fmt::format("{:<8}", place)) : place, "",
                       number_text(e.got));
    out += fmt::format("  {:<8} exact {}\n", "", number_text(e.exact));
    out += fmt::format("  {:<8} error {} ulps, allowed {}\n", "", measure_text(e.ulps), number_text(e.allowed));
  }
  if (elements.size() > limit) out += fmt::format("  and {} more elements\n", elements.size() - limit);
  return out;
}

std::string campaign_text(const CampaignReport& report, bool colour) {
  const Paint paint{colour};
  std::string out = table_text(report.tally, report.targets, colour);
  if (!report.findings.empty()) out += fmt::format("\n{}\n", paint.bold("findings"));
  for (const Finding& f : report.findings) out += finding_text(f, report.out_directory, paint);
  const std::string laws = laws_text(report.tally), bounds = bounds_text(report.tally), filter = filter_text(report.tally);
  const std::string properties = properties_text(report.tally), earlier = announcements_text(report.announcements, paint);
  for (const std::string& part : {earlier, properties, laws, bounds, filter})
    if (!part.empty()) out += fmt::format("\n{}", part);
  return out + closing_text(report, paint);
}

}  // namespace normfuzz
