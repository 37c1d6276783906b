#include "cli/case_files.h"

#include <filesystem>

#include "core/case_io.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

// A list of cases may be longer than one case may be (kMaxCaseBytes): 1 GiB.
constexpr std::size_t kMaxListBytes = std::size_t{1} << 30;

Result<NamedCase> checked(std::string name, Result<Case> c) {
  if (!c) return Error{c.error()};
  if (const Status valid = validate(*c); !valid) return Error{name + ": " + valid.error()};
  return NamedCase{std::move(name), std::move(*c)};
}

}  // namespace

Result<NamedCase> read_named_case(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return checked(path, read_case(path));
  const std::string inside = (fs::path(path) / "case.json").string();
  if (!fs::exists(inside, ignored)) return Error{path + ": a directory without case.json, expected a case file or a BugZoo entry"};
  return checked(inside, read_case(inside));
}

Status each_case(const std::string& path, const std::function<Status(const NamedCase&)>& use) {
  if (!path.ends_with(".jsonl")) {
    const Result<NamedCase> c = read_named_case(path);
    return c ? use(*c) : Status(Error{c.error()});
  }
  const Result<std::string> text = read_file(path, kMaxListBytes);
  if (!text) return Error{text.error()};
  std::string_view rest = *text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::string_view content = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), content.size() + 1));
    if (content.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string name = path + ":" + std::to_string(line);
    const Result<NamedCase> c = checked(name, parse_case(content, name));
    if (!c) return Error{c.error()};
    if (Status used = use(*c); !used) return used;
  }
  return Unit{};
}

}  // namespace normfuzz
