#include "harness/finding.h"

#include <fmt/format.h>

#include <cstdint>

namespace normfuzz {
namespace {

constexpr std::size_t kMostSlug = 80;

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string rough_text(std::string_view target, std::string_view op, DType dtype, std::string_view law, FailureClass failure) {
  return fmt::format("{} {} {} {} {}", target, op, name_of(dtype), law, name_of(failure));
}

// FNV-1a, 32 bits: tells apart long slugs that agree in their first characters.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t h = 0x811c9dc5u;
  for (const char ch : text) h = (h ^ static_cast<unsigned char>(ch)) * 0x01000193u;
  return h;
}

// Lower-case letters and digits, everything else a single hyphen.
std::string file_safe(std::string_view text) {
  std::string out;
  for (const char ch : text) {
    const char lower = ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
    if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))
      out += lower;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace

std::string Candidate::rough_signature() const { return rough_text(target, original.op, original.dtype(), law, failure); }

std::string Finding::rough_signature() const { return rough_text(target, op, dtype, law, failure); }

std::string_view name_of(FindingStatus s) {
  static constexpr std::string_view kNames[] = {"new", "known", "fixed"};
  return kNames[static_cast<std::size_t>(s)];
}

std::string Signature::text() const {
  return fmt::format("{} {} {} {} {} [{}]", target, op, normfuzz::name_of(dtype), law, normfuzz::name_of(failure), joined(needs, ", "));
}

std::string slug_of(const Finding& f) {
  const std::string full = file_safe(f.signature());
  if (full.size() <= kMostSlug) return full;
  return file_safe(full.substr(0, kMostSlug - 9)) + fmt::format("-{:08x}", hash_of(full));
}

}  // namespace normfuzz
