// Flat records as JSON text: what the store keeps in a column. Written compactly, read strictly, floats hexadecimal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/hex_float.h"
#include "core/json_document.h"
#include "core/result.h"

namespace normfuzz {

// {"name":value,...}; array elements have no name.
class RecordWriter {
 public:
  explicit RecordWriter(char open = '{') : close_(open == '{' ? '}' : ']') { out_ += open; }
  RecordWriter& integer(std::string_view name, std::int64_t v) { return raw(name, std::to_string(v)); }
  RecordWriter& unsigned_integer(std::string_view name, std::uint64_t v) { return raw(name, std::to_string(v)); }
  RecordWriter& number(std::string_view name, double v) { return raw(name, '"' + hex_from_value(v) + '"'); }
  RecordWriter& text(std::string_view name, std::string_view v) {
    key(name);
    append_json_string(out_, v);
    return *this;
  }
  RecordWriter& texts(std::string_view name, const std::vector<std::string>& values) {
    RecordWriter list('[');
    for (const std::string& v : values) list.text("", v);
    return raw(name, list.finish());
  }
  RecordWriter& raw(std::string_view name, std::string_view json) {
    key(name);
    out_ += json;
    return *this;
  }
  // Leaves out what is 0 or empty: most fields of most records are.
  RecordWriter& integer_unless_zero(std::string_view name, std::int64_t v) { return v ? integer(name, v) : *this; }
  RecordWriter& text_unless_empty(std::string_view name, std::string_view v) { return v.empty() ? *this : text(name, v); }
  RecordWriter& raw_unless_empty(std::string_view name, std::string_view json) { return json.size() <= 2 ? *this : raw(name, json); }
  std::string finish() { return std::move(out_ += close_); }

 private:
  void key(std::string_view name) {
    if (out_.size() > 1) out_ += ',';
    if (close_ == ']') return;
    append_json_string(out_, name);
    out_ += ':';
  }
  std::string out_;
  char close_;
};

// Reads such a record. The first thing that is not as expected is remembered with its place; everything read after it is a zero.
class RecordReader {
 public:
  RecordReader(std::string name) : name_(std::move(name)) {}

  std::int64_t integer(const JsonValue& object, std::string_view field) {
    const auto v = member(object, field);
    if (!v) return 0;
    if (v->kind() != JsonKind::kInteger) fail(field, *v, "an integer");
    return v->kind() == JsonKind::kInteger ? v->integer() : 0;
  }
  std::uint64_t unsigned_integer(const JsonValue& object, std::string_view field) {
    const auto v = member(object, field);
    if (!v) return 0;
    const bool ok = v->kind() == JsonKind::kUnsigned || (v->kind() == JsonKind::kInteger && v->integer() >= 0);
    if (!ok) fail(field, *v, "an integer >= 0");
    return ok ? v->unsigned_integer() : 0;
  }
  double number(const JsonValue& object, std::string_view field) {
    const auto v = member(object, field);
    if (!v) return 0;
    if (v->kind() == JsonKind::kString)
      if (const auto value = value_from_hex(v->text())) return *value;
    fail(field, *v, "a hexadecimal float");
    return 0;
  }
  std::string text(const JsonValue& object, std::string_view field) {
    const auto v = member(object, field);
    if (!v) return {};
    if (v->kind() != JsonKind::kString) fail(field, *v, "a text");
    return v->kind() == JsonKind::kString ? std::string(v->text()) : std::string{};
  }
  std::vector<std::string> texts(const JsonValue& object, std::string_view field) {
    std::vector<std::string> values;
    each(object, field, JsonKind::kArray, [&](const JsonValue& v) {
      if (v.kind() == JsonKind::kString)
        values.emplace_back(v.text());
      else
        fail(field, v, "texts");
    });
    return values;
  }
  // An enumerator by its name; there are `count`.
  template <class Enum>
  Enum choice(const JsonValue& object, std::string_view field, std::size_t count) {
    const std::string text = this->text(object, field);
    for (std::size_t i = 0; i < count; ++i)
      if (name_of(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
    fail(std::string(field) + ": " + in_quotes(text) + ", expected a name of its list");
    return Enum{};
  }
  // Calls `visit` with every element or member; an absent field has none.
  template <class Visit>
  void each(const JsonValue& object, std::string_view field, JsonKind container, const Visit& visit) {
    const auto v = member(object, field);
    if (!v) return;
    if (v->kind() != container) return fail(field, *v, container == JsonKind::kArray ? "an array" : "an object");
    std::int64_t left = v->count();
    if (left == 0) return;
    for (JsonValue e = v->first();; e = e.next()) {
      visit(e);
      if (--left == 0) break;
    }
  }

  void fail(std::string_view field, const JsonValue& found, std::string_view expected) {
    fail(std::string(field) + ": " + found.describe() + ", expected " + std::string(expected));
  }
  void fail(const std::string& what) {
    if (error_.empty()) error_ = name_ + ": " + what;
  }
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  const std::string& name() const { return name_; }

 private:
  std::optional<JsonValue> member(const JsonValue& object, std::string_view field) {
    if (object.kind() == JsonKind::kObject) return object.find(field);
    fail(field, object, "an object around it");
    return std::nullopt;
  }
  std::string name_, error_;
};

}  // namespace normfuzz
