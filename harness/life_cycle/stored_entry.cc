#include "harness/life_cycle/stored_entry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/case_io.h"
#include "core/files.h"
#include "harness/life_cycle/version_range.h"
#include "harness/record.h"
#include "harness/tally.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "normfuzz.finding/1";
constexpr std::size_t kMaxStatusBytes = std::size_t{1} << 20;

std::string json_text(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}
std::string or_null(std::string_view text) { return text.empty() ? "null" : json_text(text); }

std::string list(const std::vector<std::string>& words) {
  std::string out = "[";
  for (const std::string& word : words) out += (out.size() > 1 ? ", " : "") + json_text(word);
  return out + "]";
}

std::string text_or_null(RecordReader& in, const JsonValue& object, std::string_view field) {
  const auto v = object.kind() == JsonKind::kObject ? object.find(field) : std::nullopt;
  return v && v->kind() == JsonKind::kNull ? "" : in.text(object, field);
}

void read_signature(RecordReader& in, const JsonValue& v, Signature& s) {
  s.target = in.text(v, "target");
  s.op = in.text(v, "op");
  s.dtype = in.choice<DType>(v, "dtype", std::size(kAllDTypes));
  s.law = in.text(v, "law");
  s.failure = in.choice<FailureClass>(v, "class", kFailureClasses);
  s.needs = in.texts(v, "needs");
  std::sort(s.needs.begin(), s.needs.end());
  if (s.target.empty() || s.op.empty() || s.law.empty()) in.fail("signature: expected target, op and law");
}

void read_requirements(RecordReader& in, const JsonValue& v, EntryStatus& s) {
  s.isa = text_or_null(in, v, "isa");
  s.version_range = text_or_null(in, v, "version");
  if (const auto range = VersionRange::parse(s.version_range.empty() ? "*" : s.version_range); !range)
    in.fail("requires.version: " + range.error());
}

void read_first_seen(RecordReader& in, const JsonValue& v, EntryStatus& s) {
  s.first_version = in.text(v, "version");
  s.first_seed = in.unsigned_integer(v, "seed");
  s.first_index = in.unsigned_integer(v, "index");
  s.first_regime = in.text(v, "regime");
}

}  // namespace

std::string write_entry_status(const EntryStatus& e) {
  const Signature& s = e.signature;
  std::string out = fmt::format("{{\n \"schema\": \"{}\",\n \"status\": \"{}\",\n \"verdict\": \"{}\",\n", kSchema, name_of(e.status),
                                name_of(e.verdict));
  out += fmt::format(" \"signature\": {{\"target\": {}, \"op\": {}, \"dtype\": \"{}\", \"law\": {}, \"class\": \"{}\", \"needs\": {}}},\n",
                     json_text(s.target), json_text(s.op), name_of(s.dtype), json_text(s.law), name_of(s.failure), list(s.needs));
  out += fmt::format(" \"versions\": {},\n \"variants\": {},\n", list(e.versions), list(e.variants));
  out += fmt::format(" \"requires\": {{\"isa\": {}, \"version\": {}}},\n", or_null(e.isa), or_null(e.version_range));
  out += fmt::format(" \"first_seen\": {{\"version\": {}, \"seed\": {}, \"index\": {}, \"regime\": {}}}\n", json_text(e.first_version),
                     e.first_seed, e.first_index, json_text(e.first_regime));
  return out + "}\n";
}

Result<EntryStatus> parse_entry_status(std::string_view json, std::string_view name) {
  const auto document = JsonDocument::parse(json, name);
  if (!document) return Error{document.error()};
  const JsonValue v = document->root();
  RecordReader in{std::string(name)};
  EntryStatus s;
  if (const std::string schema = in.text(v, "schema"); schema != kSchema)
    in.fail("schema: " + in_quotes(schema) + ", expected " + std::string(kSchema));
  if (!in.ok()) return Error{in.error()};
  s.status = in.choice<FindingStatus>(v, "status", kFindingStatuses);
  s.verdict = in.choice<Verdict>(v, "verdict", kVerdicts);
  if (const auto signature = v.find("signature"))
    read_signature(in, *signature, s.signature);
  else
    in.fail("signature: missing, expected an object");
  s.versions = in.texts(v, "versions");
  s.variants = in.texts(v, "variants");
  if (const auto needed = v.find("requires")) read_requirements(in, *needed, s);
  if (const auto seen = v.find("first_seen")) read_first_seen(in, *seen, s);
  if (!in.ok()) return Error{in.error()};
  return s;
}

Result<StoredEntry> read_entry(const std::string& directory) {
  StoredEntry entry;
  entry.directory = directory;
  entry.slug = fs::path(directory).filename().string();
  const std::string status_file = directory + "/status.json";
  const auto text = read_file(status_file, kMaxStatusBytes);
  if (!text) return Error{text.error()};
  auto status = parse_entry_status(*text, status_file);
  if (!status) return Error{status.error()};
  auto content = read_case(directory + "/case.json");
  if (!content) return Error{content.error()};
  if (const Status valid = validate(*content); !valid) return Error{directory + "/case.json: " + valid.error()};
  entry.status = std::move(*status);
  entry.content = std::move(*content);
  return entry;
}

Result<std::vector<StoredEntry>> read_entries(const std::string& bugzoo) {
  std::vector<StoredEntry> entries;
  std::error_code error;
  if (!fs::exists(bugzoo, error)) return entries;
  for (const fs::directory_entry& folder : fs::directory_iterator(bugzoo, error)) {
    if (!folder.is_directory() || folder.path().filename().string().starts_with(".")) continue;  // a hidden one is being written
    auto entry = read_entry(folder.path().string());
    if (!entry) return Error{entry.error()};
    entries.push_back(std::move(*entry));
  }
  if (error) return Error{bugzoo + ": " + error.message() + ", expected a folder of BugZoo entries"};
  std::sort(entries.begin(), entries.end(), [](const StoredEntry& a, const StoredEntry& b) { return a.slug < b.slug; });
  return entries;
}

Result<StoredEntry> adopt_entry(const std::string& from, const std::string& bugzoo) {
  auto entry = read_entry(from);
  if (!entry) return entry;
  const fs::path final = fs::path(bugzoo) / entry->slug;
  if (fs::exists(final)) return Error{final.string() + ": exists already, expected a finding that is not adopted yet"};
  const fs::path part = fs::path(bugzoo) / fmt::format(".{}.part-{}", entry->slug, ::getpid());
  entry->status.status = FindingStatus::kKnown;
  std::error_code error;
  fs::create_directories(bugzoo, error);
  fs::remove_all(part, error);
  fs::copy(from, part, fs::copy_options::recursive, error);
  Status done = error ? Status(Error{part.string() + ": cannot be written: " + error.message()})
                      : write_file_atomically((part / "status.json").string(), write_entry_status(entry->status));
  if (done) {
    fs::rename(part, final, error);
    if (error) done = Error{final.string() + ": cannot be written: " + error.message()};
  }
  std::error_code ignored;
  fs::remove_all(done ? fs::path(from) : part, ignored);
  if (!done) return Error{done.error()};
  entry->directory = final.string();
  entry->adopted = true;
  return entry;
}

}  // namespace normfuzz
