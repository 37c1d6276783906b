// The programs of an entry: stand-alone where there can be one, else a call of normfuzz.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/bugzoo_entry.h"
#include "reports/escape.h"

namespace normfuzz {
namespace {

// The comparison of the stand-alone programs: exact and allowed are doubles there.
bool beyond(const ElementEvidence& v) {
  if (std::isnan(v.exact)) return !std::isnan(v.got);
  return v.got != v.exact && std::isfinite(v.allowed) && !(std::fabs(v.got - v.exact) <= v.allowed);
}

// Between single quotes, in which nothing has a meaning.
std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string shell_program(const Entry& e) {
  return fmt::format(
      "#!/bin/sh\n{}\n# Run by normfuzz itself, from its directory or with its path in NORMFUZZ; exits 1 while the divergence is "
      "there.\nexec \"${{NORMFUZZ:-./normfuzz}}\" repro "
      "\"$(dirname \"$0\")/case.json\" --target {}\n",
      title_lines(e, "#"), shell_word(e.label));
}

}  // namespace

// What a target or a file said, fit for one line of comment in any language: nothing in it ends or continues the line.
std::string comment_text(std::string_view text) {
  std::string out = clean_text(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\t' || c == '\\'; }, ' ');
  return out;
}

std::string title_of(const Entry& e) { return comment_text(e.finding.explanation); }

std::string seen_with(const Entry& e) { return comment_text(e.finding.version.empty() ? e.label : e.finding.version); }

std::string title_lines(const Entry& e, std::string_view comment) {
  return fmt::format("{} {}\n{} Shrunk by normfuzz; seen with {}.", comment, title_of(e), comment, seen_with(e));
}

Shows Entry::shows() const {
  if (finding.verdict == Verdict::kCrashed || finding.verdict == Verdict::kTimedOut) return Shows::kReturn;
  if (finding.law == "bit.determinism") return Shows::kRepeat;
  return std::any_of(elements.begin(), elements.end(), beyond) ? Shows::kValues : Shows::kNothing;
}

Programs repro_programs(const Entry& e, const std::string& directory) {
  Programs out;
  if (const auto text = cpp_program(e)) out.files.emplace_back("repro.cc", *text);
  if (const auto text = python_program(e, directory))
    out.files.emplace_back("repro.py", *text);
  else
    out.why_not = text.error();
  if (out.files.empty()) out.files.emplace_back("repro.sh", shell_program(e));
  return out;
}

}  // namespace normfuzz
