#include "harness/life_cycle/version_range.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <compare>

namespace normfuzz {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The numbers at the beginning of `text`, with dots between them; `text` is what is left.
std::optional<Version> take_version(std::string_view& text) {
  Version version;
  for (;;) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !is_digit(text[0])) return std::nullopt;
    version.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.size() < 2 || text[0] != '.' || !is_digit(text[1])) return version;
    text.remove_prefix(1);
  }
}

std::strong_ordering compare(const Version& a, const Version& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    if (const auto order = (i < a.size() ? a[i] : 0) <=> (i < b.size() ? b[i] : 0); order != 0) return order;
  return std::strong_ordering::equal;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

}  // namespace

std::optional<Version> version_in(std::string_view text) {
  std::optional<Version> alone;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.') && !(text[at - 1] == 'v' && at == 1))) continue;
    std::string_view rest = text.substr(at);
    const auto version = take_version(rest);
    if (version && version->size() > 1) return version;
    if (version && !alone && (rest.empty() || !is_word(rest[0]))) alone = version;
  }
  return alone;
}

std::string text_of(const Version& version) { return fmt::format("{}", fmt::join(version, ".")); }

Result<VersionRange> VersionRange::parse(std::string_view text) {
  VersionRange range;
  range.text_ = text;
  if (trimmed(text) == "*") return range;
  const Error refused{fmt::format("is \"{}\", expected \"*\" or comparisons such as \">=2.15,<2.17\"", text)};
  static constexpr std::pair<std::string_view, Comparison> kComparisons[] = {{">=", Comparison::kAtLeast},
                                                                             {"<=", Comparison::kAtMost},
                                                                             {"==", Comparison::kEqual},
                                                                             {">", Comparison::kAbove},
                                                                             {"<", Comparison::kBelow}};
  for (std::string_view rest = text;;) {
    std::string_view part = trimmed(rest.substr(0, rest.find(',')));
    const auto* comparison =
        std::find_if(std::begin(kComparisons), std::end(kComparisons), [&](const auto& c) { return part.starts_with(c.first); });
    if (comparison == std::end(kComparisons)) return refused;
    part = trimmed(part.substr(comparison->first.size()));
    const auto version = take_version(part);
    if (!version || !part.empty()) return refused;
    range.limits_.push_back({comparison->second, *version});
    if (rest.find(',') == std::string_view::npos) return range;
    rest.remove_prefix(rest.find(',') + 1);
  }
}

bool VersionRange::contains(const Version& version) const {
  return std::all_of(limits_.begin(), limits_.end(), [&](const Limit& limit) {
    const auto order = compare(version, limit.version);
    switch (limit.comparison) {
      case Comparison::kAtLeast:
        return order >= 0;
      case Comparison::kAbove:
        return order > 0;
      case Comparison::kAtMost:
        return order <= 0;
      case Comparison::kBelow:
        return order < 0;
      case Comparison::kEqual:
        return order == 0;
    }
    return false;
  });
}

bool VersionRange::contains(std::string_view text) const {
  if (limits_.empty()) return true;
  const auto version = version_in(text);
  return version && contains(*version);
}

}  // namespace normfuzz
