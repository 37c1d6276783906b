#include "reports/escape.h"

#include <fmt/format.h>

#include <cstdint>

namespace normfuzz {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

struct Character {
  std::size_t bytes = 1;
  std::int32_t code = -1;  // -1: not UTF-8
};

// The next character: shortest form, no surrogates, at most U+10FFFF.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, static_cast<std::int32_t>(first)};
  const std::size_t bytes = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  std::int32_t code = static_cast<std::int32_t>(first & (0x7fU >> bytes));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  static constexpr std::int32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {bytes, code};
}

bool carried(std::int32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n';
  if (code >= 0x7f && code < 0xa0) return false;
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) return false;  // direction of writing
  return (code & 0xfffe) != 0xfffe;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = decode(text);
    out += c.code >= 0 && carried(c.code) ? text.substr(0, c.bytes) : kReplacement;
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : clean_text(text)) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string xml_attribute(std::string_view text) {
  std::string out;
  for (const char c : html_text(text)) out += c == '\n' ? "&#10;" : c == '\t' ? "&#9;" : std::string(1, c);
  return out;
}

std::string markdown_text(std::string_view text) {
  std::string out;
  const std::string clean = clean_text(text);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    const bool address = c == ':' && clean.compare(i, 3, "://") == 0;
    if (c == '\n' || c == '\t')
      out += ' ';
    else if (address || std::string_view("\\`*_{}[]<>()#+!|&@~$\"'").find(c) != std::string_view::npos)
      out += fmt::format("&#{};", static_cast<int>(c));
    else
      out += c;
  }
  return out;
}

std::string uri_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || std::string_view("/-._~").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace normfuzz
