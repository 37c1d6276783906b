#include "core/json_document.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/hex_float.h"

namespace normfuzz {
namespace {

// Deeper than any format of ours (a case's data stands at depth 4); the parser itself keeps its stack on the heap.
constexpr std::size_t kMaxDepth = 32;
// Eight values per element of the largest ordinary case (2^20 elements, PROTOCOLS 'Determinism'): bounds the memory a small file can claim.
constexpr std::size_t kMaxNodes = std::size_t{1} << 23;

std::string one_line(std::string_view text) {
  constexpr std::size_t kShown = 300;
  std::string out;
  for (const char c : text.substr(0, kShown)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kShown ? "..." : "");
}

// nlohmann's "[json.exception.parse_error.101] parse error at line 1, column 2: ..." without the bracket.
std::string reason_of(const std::exception& e) {
  std::string_view what = e.what();
  if (const auto close = what.find("] "); what.starts_with('[') && close != std::string_view::npos) what.remove_prefix(close + 2);
  return one_line(what);
}

}  // namespace

// Receives the parser's events. Returning false stops the parser; `error` then says why.
class JsonHandler {
 public:
  explicit JsonHandler(JsonDocument& document) : document_(document) {}
  std::string error;

  bool null() { return add(JsonKind::kNull); }
  bool boolean(bool value) { return add(JsonKind::kBoolean, value); }
  // The lexer calls this for numbers with a minus sign only, so a zero here was written "-0".
  bool number_integer(std::int64_t value) { return value == 0 ? decimal("-0") : add(JsonKind::kInteger, value); }
  bool number_unsigned(std::uint64_t value) {
    return add(value >> 63 ? JsonKind::kUnsigned : JsonKind::kInteger, static_cast<std::int64_t>(value));
  }
  bool number_float(double, const std::string& spelling) { return decimal(spelling); }
  bool string(std::string& value) { return add(JsonKind::kString) && set_text(value); }
  bool binary(nlohmann::json::binary_t&) { return fail("binary data, expected JSON text"); }
  bool start_object(std::size_t) { return open(JsonKind::kObject); }
  bool start_array(std::size_t) { return open(JsonKind::kArray); }
  bool end_array() { return close(); }
  bool end_object() { return unique_keys() && close(); }
  bool key(std::string& value) {
    key_begin_ = static_cast<std::uint32_t>(document_.text_.size());
    key_size_ = static_cast<std::uint32_t>(value.size());
    document_.text_ += value;
    return true;
  }
  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception& e) {
    return fail(reason_of(e) + ", expected JSON");
  }

 private:
  bool fail(std::string message) {
    if (error.empty()) error = std::move(message);
    return false;
  }
  bool add(JsonKind kind, std::int64_t integer = 0) {
    auto& nodes = document_.nodes_;
    if (nodes.size() == kMaxNodes) return fail("more than " + std::to_string(kMaxNodes) + " values, expected fewer");
    if (!open_.empty()) ++nodes[open_.back()].integer;
    const auto end = static_cast<std::uint32_t>(nodes.size() + 1);
    nodes.push_back({kind, end, key_begin_, key_size_, 0, 0, integer});
    key_size_ = 0;
    return true;
  }
  bool set_text(const std::string& text) {
    document_.nodes_.back().text_begin = static_cast<std::uint32_t>(document_.text_.size());
    document_.nodes_.back().text_size = static_cast<std::uint32_t>(text.size());
    document_.text_ += text;
    return true;
  }
  bool decimal(const std::string& spelling) { return add(JsonKind::kDecimal) && set_text(spelling); }
  bool open(JsonKind kind) {
    if (open_.size() == kMaxDepth) return fail("nesting deeper than " + std::to_string(kMaxDepth) + ", expected less");
    if (!add(kind)) return false;
    open_.push_back(static_cast<std::uint32_t>(document_.nodes_.size() - 1));
    return true;
  }
  bool close() {
    document_.nodes_[open_.back()].end = static_cast<std::uint32_t>(document_.nodes_.size());
    open_.pop_back();
    return true;
  }
  bool unique_keys() {
    const JsonValue object(&document_, open_.back());
    std::vector<std::string_view> keys;
    JsonValue member = object.first();
    for (std::int64_t i = 0; i < object.count(); ++i, member = member.next()) keys.push_back(member.key());
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    return twice == keys.end() || fail("field " + in_quotes(*twice) + " twice in one object, expected once");
  }

  JsonDocument& document_;
  std::vector<std::uint32_t> open_;  // indices of the containers being read
  std::uint32_t key_begin_ = 0, key_size_ = 0;
};

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string_view name) {
  const auto refuse = [&](const std::string& what) { return Error{std::string(name) + ": document: " + what}; };
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) return refuse("more than 4 GiB, expected less");
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return refuse("empty, expected JSON");
  JsonDocument document;
  JsonHandler handler(document);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) return refuse(handler.error);
  return document;
}

std::string_view JsonValue::text() const { return std::string_view(document_->text_).substr(node().text_begin, node().text_size); }
std::string_view JsonValue::key() const { return std::string_view(document_->text_).substr(node().key_begin, node().key_size); }

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  JsonValue member = first();
  for (std::int64_t i = 0; i < count(); ++i, member = member.next())
    if (member.key() == key) return member;
  return std::nullopt;
}

std::string JsonValue::describe() const {
  switch (kind()) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBoolean:
      return integer() ? "true" : "false";
    case JsonKind::kInteger:
      return "the integer " + std::to_string(integer());
    case JsonKind::kUnsigned:
      return "the integer " + std::to_string(unsigned_integer());
    case JsonKind::kDecimal:
      return "the number " + std::string(text().substr(0, 40));
    case JsonKind::kString:
      return "the string " + in_quotes(text());
    case JsonKind::kArray:
      return "an array of " + std::to_string(count());
    case JsonKind::kObject:
      return "an object of " + std::to_string(count());
  }
  return {};
}

namespace {

// Length of the well-formed UTF-8 sequence that `text` begins with, or 0 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || c == 0x7f) {
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    } else if (length == 0) {
      out += "\\ufffd";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

}  // namespace normfuzz
