#include "harness/life_cycle/waiver.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/dtype.h"
#include "core/files.h"
#include "core/json_document.h"
#include "harness/run/table_reader.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxWaiverBytes = std::size_t{1} << 20;

// True if these are the needs that `set` names; "*" in it stands for any others.
bool allows(const std::vector<std::string>& set, const std::vector<std::string>& needs) {
  if (!contains(set, "*")) return set == needs;
  return std::all_of(set.begin(), set.end(), [&](const std::string& need) { return need == "*" || contains(needs, need); });
}

bool holds(const Waiver::Names& names, std::string_view name) { return !names || contains(*names, name); }

template <class Allowed>
void expect_each(TableReader& t, std::string_view field, const Waiver::Names& names, std::string_view expected, const Allowed& allowed) {
  for (const std::string& name : names.value_or(std::vector<std::string>{}))
    if (!allowed(name)) t.fail(field, fmt::format("holds \"{}\", expected {}", name, expected));
}

std::vector<std::string_view> class_names() {
  std::vector<std::string_view> names;
  for (std::size_t i = 1; i < kFailureClasses; ++i) names.push_back(name_of(static_cast<FailureClass>(i)));
  return names;
}

void read_signature(TableReader& t, Waiver& w) {
  w.targets = t.any_of("target", false);
  w.ops = t.any_of("op", true);
  expect_each(t, "op", w.ops, "an op of `normfuzz ops`", [](const std::string& name) { return find_op(name) != nullptr; });
  w.dtypes = t.any_of("dtype", true);
  expect_each(t, "dtype", w.dtypes, "f64, f32, f16 or bf16", [](const std::string& name) { return dtype_from_name(name).has_value(); });
  w.laws = t.any_of("law", true);
  w.classes = t.any_of("class", true);
  const auto classes = class_names();
  expect_each(t, "class", w.classes, "one of " + joined(classes), [&](const std::string& name) { return contains(classes, name); });
  w.needs = t.sets("needs");
}

std::string required_text(TableReader& t, std::string_view key, std::string_view expected) {
  std::string text = t.text(key, true);
  if (text.find_first_not_of(" \n") == std::string::npos) t.fail(key, expected);
  return text;
}

Waiver read_waiver(TableReader& t) {
  Waiver w;
  w.name = required_text(t, "name", "expected a name of its own");
  read_signature(t, w);
  if (const std::string text = t.text("versions", true); auto range = VersionRange::parse(text))
    w.versions = std::move(*range);
  else
    t.fail("versions", range.error());
  w.reason = required_text(t, "reason", "expected why this is known and waived");
  w.source = required_text(t, "source", "expected a reference such as OWNER/REPOSITORY#NUMBER");
  w.count = t.natural("count");
  w.entry = t.text("entry");
  if (w.entry.find('/') != std::string::npos) t.fail("entry", "expected the name of a folder in corpus/bugzoo");
  t.finish();
  return w;
}

std::vector<Waiver> read_root(const toml::table& root, const std::string& path, std::string& error) {
  std::vector<Waiver> waivers;
  std::set<std::string> names;
  for (const auto& [key, value] : root)
    if (key != "known" && error.empty())
      error = fmt::format("line {}: {}: unknown, expected [[known]] tables", value.source().begin.line, std::string(key.str()));
  each_table(root, "known", error, [&](const toml::table& table, const std::string& where) {
    TableReader reader(table, where, error, true);
    waivers.push_back(read_waiver(reader));
    waivers.back().where = fmt::format("{}: line {}", path, table.source().begin.line);
    if (!names.insert(waivers.back().name).second) reader.fail("name", "is that of another one, expected a name of its own");
  });
  return waivers;
}

std::string json_text(std::string_view text) {
  std::string out;
  append_json_string(out, text);  // what JSON writes, a basic string of TOML takes
  return out;
}

}  // namespace

bool Waiver::names(const Signature& s) const {
  return holds(targets, s.target) && holds(ops, s.op) && holds(dtypes, name_of(s.dtype)) && holds(laws, s.law) &&
         holds(classes, name_of(s.failure)) &&
         (!needs || std::any_of(needs->begin(), needs->end(), [&](const auto& set) { return allows(set, s.needs); }));
}

std::string waiver_path(const Target& target) { return (fs::path(target.module_path).parent_path() / "known.toml").string(); }

Result<std::vector<Waiver>> read_waivers(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::vector<Waiver>{};
  const auto text = read_file(path, kMaxWaiverBytes);
  if (!text) return Error{text.error()};
  std::string error;
  try {
    auto waivers = read_root(toml::parse(*text, path), path, error);
    if (error.empty()) return waivers;
  } catch (const toml::parse_error& e) {
    error = fmt::format("line {}: {}", e.source().begin.line, std::string(e.description()));
  }
  return Error{path + ": " + error};
}

std::string waiver_draft(const Signature& s, const std::string& slug, const std::string& version) {
  std::vector<std::string> needs;
  for (const std::string& need : s.needs) needs.push_back(json_text(need));
  const auto number = version_in(version);
  return fmt::format(
      "[[known]]\nname = {0}\nop = {1}\ndtype = {2}\nlaw = {3}\nclass = {4}\nneeds = [{5}]\nversions = {6}\n"
      "reason = \"\"  # why it is known and waived\nsource = \"\"  # OWNER/REPOSITORY#NUMBER, or where the framework says so\ncount = "
      "1\nentry = {0}\n",
      json_text(slug), json_text(s.op), json_text(name_of(s.dtype)), json_text(s.law), json_text(name_of(s.failure)), joined(needs),
      json_text(number ? ">=" + text_of(*number) : "*"));
}

}  // namespace normfuzz
