// TOML tables, read strictly: wrong types and unknown keys are errors that name key and expectation. Private to the readers of
// manifest.toml and known.toml, which are the only sources that include toml++.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace normfuzz {

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

inline std::string joined(const auto& names) { return fmt::format("{}", fmt::join(names, ", ")); }

// Reads one table strictly: wrong types and unknown keys are errors that name file, key and expectation. The first error stays.
class TableReader {
 public:
  // `lines`: errors begin with "line N: ".
  TableReader(const toml::table& table, std::string where, std::string& error, bool lines = false)
      : table_(table), where_(std::move(where)), error_(error), lines_(lines) {}

  std::string text(std::string_view key, bool required = false) {
    const toml::node* node = take(key, required);
    if (node == nullptr) return {};
    if (const auto* value = node->as_string()) return value->get();
    fail(key, "expected a string");
    return {};
  }
  std::optional<std::vector<std::string>> texts(std::string_view key, bool required = false) {
    const toml::node* node = take(key, required);
    if (node == nullptr) return std::nullopt;
    std::vector<std::string> result;
    const toml::array* array = node->as_array();
    if (array == nullptr) {
      fail(key, "expected an array of strings");
      return std::nullopt;
    }
    for (const toml::node& element : *array) {
      if (!element.is_string())
        fail(key, "expected an array of strings");
      else
        result.push_back(element.as_string()->get());
    }
    return result;
  }
  // "a" or ["a", "b"]: any of them; "*", or nothing where that is allowed: nullopt, which stands for all.
  std::optional<std::vector<std::string>> any_of(std::string_view key, bool required) {
    const toml::node* node = take(key, required);
    if (node == nullptr || (node->is_string() && node->as_string()->get() == "*")) return std::nullopt;
    const auto texts = texts_of(*node);
    if (!texts || texts->empty()) fail(key, "expected a string, an array of strings, or \"*\"");
    return texts.value_or(std::vector<std::string>{});
  }
  // "a" or ["a", "b"]: one set; [["a"], ["a", "b"]]: any of these sets; "*": nullopt.
  std::optional<std::vector<std::vector<std::string>>> sets(std::string_view key) {
    const toml::node* node = take(key, true);
    if (node == nullptr || (node->is_string() && node->as_string()->get() == "*")) return std::nullopt;
    std::vector<std::vector<std::string>> result;
    const toml::array* array = node->as_array();
    if (array != nullptr && !array->empty() && (*array)[0].is_array()) {
      for (const toml::node& element : *array) result.push_back(set_of(key, element));
    } else {
      result.push_back(set_of(key, *node));
    }
    return result;
  }
  std::int64_t natural(std::string_view key) {
    const toml::node* node = take(key, true);
    const auto* value = node == nullptr ? nullptr : node->as_integer();
    if (node != nullptr && (value == nullptr || value->get() < 1)) fail(key, "expected a whole number from 1");
    return value == nullptr ? 0 : value->get();
  }
  // A table of strings, numbers and booleans, each as the text it stands for.
  std::map<std::string, std::string> values(std::string_view key) {
    std::map<std::string, std::string> result;
    const toml::node* node = take(key, false);
    if (node == nullptr) return result;
    if (!node->is_table()) {
      fail(key, "expected a table");
      return result;
    }
    for (const auto& [name, value] : *node->as_table()) {
      const std::string inner(name.str());
      if (const auto* s = value.as_string())
        result[inner] = s->get();
      else if (const auto* i = value.as_integer())
        result[inner] = std::to_string(i->get());
      else if (const auto* f = value.as_floating_point())
        result[inner] = fmt::format("{}", f->get());
      else if (const auto* b = value.as_boolean())
        result[inner] = b->get() ? "yes" : "no";
      else
        fail(fmt::format("{}.{}", key, inner), "expected a string, a number or a boolean");
    }
    return result;
  }
  bool flag(std::string_view key) {
    const toml::node* node = take(key, false);
    if (node == nullptr) return false;
    if (const auto* value = node->as_boolean()) return value->get();
    fail(key, "expected true or false");
    return false;
  }
  // Every key must have been asked for.
  void finish() {
    for (const auto& [key, value] : table_)
      if (!contains(known_, key.str())) fail(key.str(), "unknown, expected one of " + joined(known_));
  }
  void fail(std::string_view key, std::string_view what) {
    if (!error_.empty()) return;
    const toml::node* node = table_.get(key);
    const auto line = (node == nullptr ? table_.source() : node->source()).begin.line;
    error_ = fmt::format("{}{}.{}: {}", lines_ ? fmt::format("line {}: ", line) : "", where_, key, what);
  }

 private:
  const toml::node* take(std::string_view key, bool required) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr && required) fail(key, "missing, expected a value");
    return node;
  }
  static std::optional<std::vector<std::string>> texts_of(const toml::node& node) {
    if (const auto* one = node.as_string()) return std::vector{one->get()};
    const toml::array* array = node.as_array();
    if (array == nullptr) return std::nullopt;
    std::vector<std::string> result;
    for (const toml::node& element : *array) {
      if (!element.is_string()) return std::nullopt;
      result.push_back(element.as_string()->get());
    }
    return result;
  }
  std::vector<std::string> set_of(std::string_view key, const toml::node& node) {
    auto set = texts_of(node);
    if (!set) fail(key, "expected a string, an array of strings, an array of such arrays, or \"*\"");
    std::vector<std::string> sorted = set.value_or(std::vector<std::string>{});
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  const toml::table& table_;
  std::string where_;
  std::string& error_;
  bool lines_ = false;
  std::vector<std::string> known_;
};

// Calls read(table, where) for each table of [[name]].
template <class F>
void each_table(const toml::table& root, std::string_view name, std::string& error, F read) {
  const toml::node* node = root.get(name);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const std::string where = fmt::format("{}[{}]", name, i);
    if (const toml::table* table = (*array)[i].as_table())
      read(*table, where);
    else if (error.empty())
      error = where + ": expected a table";
  }
  if (array == nullptr && error.empty()) error = fmt::format("{}: expected [[{}]] tables", name, name);
}

}  // namespace normfuzz
