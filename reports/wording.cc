#include "reports/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/store.h"

namespace normfuzz {

std::string measure_text(double v) {
  if (!(v > 0)) return "-";
  if (std::isinf(v)) return "inf";
  if (v < 0.001 || v >= 1e6) return fmt::format("{:.1e}", v);
  return v < 10 ? fmt::format("{:.3f}", v) : v < 1000 ? fmt::format("{:.1f}", v) : fmt::format("{:.0f}", v);
}

std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > (n < 0 ? 4U : 3U);) text.insert(at -= 3, 1, ',');
  return text;
}

std::string power_text(int exponent, int base) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (exponent >= 0 && std::pow(base, exponent) < 10000) return fmt::format("{:.0f}", std::pow(base, exponent));
  std::string out = std::to_string(base) + (exponent < 0 ? "⁻" : "");
  for (const char digit : std::to_string(std::abs(exponent))) out += kDigits[digit - '0'];
  return out;
}

std::string label_of(const Finding& f) { return f.variant.empty() ? f.target : f.target + ":" + f.variant; }

bool is_news(const Finding& f) { return f.status == FindingStatus::kNew && is_violation(f.verdict); }

std::vector<const Announcement*> news_of_earlier(const CampaignReport& report) {
  std::vector<const Announcement*> out;
  for (const Announcement& a : report.announcements)
    if (a.status == EntryState::kNew) out.push_back(&a);
  return out;
}

std::string news_text(const CampaignReport& r) {
  const auto findings = std::count_if(r.findings.begin(), r.findings.end(), is_news);
  const std::size_t entries = news_of_earlier(r).size();
  std::string out = findings > 0 ? fmt::format("{} new finding{}", findings, findings == 1 ? "" : "s") : "";
  if (entries > 0) out += fmt::format("{}{} {} of an earlier run", out.empty() ? "" : " and ", entries, entries == 1 ? "entry" : "entries");
  return out.empty() ? "nothing new" : out;
}

bool has_news(const CampaignReport& r) {
  return std::any_of(r.findings.begin(), r.findings.end(), [](const Finding& f) { return f.status == FindingStatus::kNew; }) ||
         !news_of_earlier(r).empty();
}

std::vector<const Finding*> findings_of(const CampaignReport& report, const TallyKey& key, const OpTally& t) {
  const std::size_t colon = key.target.find(':');
  const std::string target = key.target.substr(0, colon), variant = colon == std::string::npos ? "" : key.target.substr(colon + 1);
  std::vector<const Finding*> own, related;
  bool own_violation = false;
  for (const Finding& f : report.findings) {
    if (f.target != target || f.op != key.op || f.dtype != key.dtype) continue;
    const bool shows = f.variant == variant || std::find(f.variants.begin(), f.variants.end(), variant) != f.variants.end();
    (shows ? own : related).push_back(&f);
    own_violation = own_violation || (shows && is_violation(f.verdict));
  }
  if (own_violation || t.violations() == 0) return own;
  for (const Finding* f : related)
    if (is_violation(f->verdict)) own.push_back(f);
  return own;
}

std::string law_text(std::string_view law) {
  if (law == "constant_row") return "constant row -> bias";
  if (law == "equal_rows") return "equal rows -> equal bits";
  std::string words(law);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string variants_of(const Finding& finding) {
  std::string out;
  for (const std::string& variant : finding.variants)
    if (!variant.empty()) out += (out.empty() ? ":" : ", :") + variant;
  return out;
}

std::string shard_text(const CampaignReport& report) {
  const std::string shards = std::to_string(report.shards);
  return report.shard == CampaignSettings::kMerged ? "several of " + shards : std::to_string(report.shard) + "/" + shards;
}

}  // namespace normfuzz
