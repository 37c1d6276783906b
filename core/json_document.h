// A JSON text as a flat list of nodes, read once, front to back: strict where our formats are strict (no duplicate names, numbers keep
// their spelling, bounded depth and count), so that what is built on it only has to say what it expects of each field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace normfuzz {

enum class JsonKind : std::uint8_t {
  kNull,
  kBoolean,
  kInteger,   // fits int64; "-0" is a kDecimal, because an int64 loses its sign
  kUnsigned,  // 2^63 .. 2^64-1
  kDecimal,   // everything else that is a number, in its own spelling
  kString,
  kArray,
  kObject,
};

class JsonDocument;

// One value of a document; cheap to copy, valid as long as the document.
class JsonValue {
 public:
  JsonKind kind() const { return node().kind; }
  std::int64_t integer() const { return node().integer; }                                        // kInteger
  std::uint64_t unsigned_integer() const { return static_cast<std::uint64_t>(node().integer); }  // kUnsigned, or kInteger >= 0
  std::string_view text() const;  // kString: its characters; kDecimal: its spelling
  std::string_view key() const;   // of a member of an object

  std::int64_t count() const { return node().integer; }  // elements or members
  // The first element or member, and the one after this; both only while there are some.
  JsonValue first() const { return {document_, index_ + 1}; }
  JsonValue next() const { return {document_, node().end}; }
  std::optional<JsonValue> find(std::string_view key) const;

  // What stands here, for an error message: `the string "abc"`, `an array of 3`, `null`.
  std::string describe() const;

 private:
  friend class JsonDocument;
  friend class JsonHandler;
  struct Node {
    JsonKind kind;
    std::uint32_t end;  // index of the node behind this value
    std::uint32_t key_begin, key_size, text_begin, text_size;
    std::int64_t integer;
  };
  JsonValue(const JsonDocument* document, std::uint32_t index) : document_(document), index_(index) {}
  inline const Node& node() const;

  const JsonDocument* document_;
  std::uint32_t index_;
};

class JsonDocument {
 public:
  // `name` is what errors call the text. Texts above 4 GiB, deeper than 32 levels or of more than 2^23 values are refused.
  static Result<JsonDocument> parse(std::string_view text, std::string_view name);
  JsonValue root() const { return {this, 0}; }

 private:
  friend class JsonValue;
  friend class JsonHandler;
  std::vector<JsonValue::Node> nodes_;
  std::string text_;  // of all strings, keys and decimals
};

inline const JsonValue::Node& JsonValue::node() const { return document_->nodes_[index_]; }

// Appends a JSON string literal; bytes that are not UTF-8 become U+FFFD, so that a reader accepts the text.
void append_json_string(std::string& out, std::string_view text);

}  // namespace normfuzz
