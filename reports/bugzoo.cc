#include "reports/bugzoo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/case_io.h"
#include "harness/run/paths.h"
#include "reports/bugzoo_entry.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

// Above this a case is one of the large ones, and only its offending elements are listed.
constexpr std::int64_t kListed = 64;

Contract contract_of(const Finding& f, const Target* target) {
  if (target)
    for (const Variant& v : target->variants)
      if (v.name == f.variant)
        if (const auto declared = TargetChoice(*target, v).target.contract(f.op, f.dtype)) return *declared;
  return *contract_named("standard", f.dtype);
}

}  // namespace

Entry entry_of(const Finding& f, const std::vector<Target>& targets, const std::string& targets_directory) {
  const auto at = std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return t.name == f.target; });
  const Target* target = at == targets.end() ? nullptr : &*at;
  Entry e{f,
          contract_of(f, target),
          {},
          false,
          f.variant.empty() ? f.target : f.target + ":" + f.variant,
          {},
          "",
          targets_directory + "/" + f.target,
          "",
          default_python()};
  std::error_code ignored;
  const bool in_python = target && target->kind == TargetKind::kPython;
  const std::string source = in_python ? target->module_path : e.folder + "/repro.py";
  if (fs::exists(source, ignored)) e.python_source = source;
  if (target && target->by_path) e.label = target->module_path;
  if (in_python && !target->python.empty()) e.python = target->python;
  if (target)
    for (const Variant& v : target->variants)
      if (v.name == f.variant) {
        e.environment = v.env;
        e.requires_cpu = v.requires_cpu;
      }
  e.elements = f.judgement.evidence;
  // A property's evidence compares runs: the bounds of the first one say nothing about it.
  if (f.outcome.kind == OutcomeKind::kOk && !f.shrunk.property && CaseRows(f.shrunk).elements() <= kListed) {
    e.elements = CaseJudge(f.shrunk).all_elements(f.outcome, e.contract);
    e.all_elements = !e.elements.empty();
    for (const ElementEvidence& worse : f.judgement.evidence)  // judged by a law or by `robust`: sharper than the contract's bound
      for (ElementEvidence& same : e.elements)
        if (same.index == worse.index && same.output == worse.output) same = worse;
  }
  const std::vector<std::string> outputs = CaseRows(f.shrunk).outputs();
  const auto place = [&](const ElementEvidence& v) {
    return std::pair(std::find(outputs.begin(), outputs.end(), v.output) - outputs.begin(), v.index);
  };
  std::sort(e.elements.begin(), e.elements.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return e;
}

namespace {

Status write_files(const Entry& e, const std::string& directory) {
  if (auto s = save_case(e.finding.shrunk, directory + "/case.json"); !s) return s;
  const Programs programs = repro_programs(e, directory);
  std::vector<std::pair<std::string, std::string>> files = programs.files;
  files.insert(files.end(), {{"README.md", readme_text(e, programs)}, {"contract.lean", lean_text(e)}, {"status.json", status_text(e)}});
  for (const auto& [name, content] : files)
    if (auto s = write_file_atomically(directory + "/" + name, content); !s) return s;
  if (fs::exists(directory + "/repro.sh")) {
    std::error_code error;
    fs::permissions(directory + "/repro.sh", fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add,
                    error);
  }
  return Unit{};
}

// Puts `complete` in the place of `final`; where there is an entry already, both change places in one step.
Status move_into_place(const std::string& complete, const std::string& final) {
  if (::rename(complete.c_str(), final.c_str()) == 0) return Unit{};
  if (errno == EEXIST || errno == ENOTEMPTY) {
    std::error_code ignored;
    if (::renameat2(AT_FDCWD, complete.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) == 0) {
      fs::remove_all(complete, ignored);
      return Unit{};
    }
    if (errno == EINVAL || errno == ENOSYS) {  // a file system that cannot exchange
      fs::remove_all(final, ignored);
      if (::rename(complete.c_str(), final.c_str()) == 0) return Unit{};
    }
  }
  return Error{fmt::format("{}: cannot put the entry in place: {}", final, std::strerror(errno))};
}

}  // namespace

Status write_entry(const Finding& finding, const std::string& directory, const std::vector<TargetChoice>& chosen) {
  return write_entry(finding, directory, worker_directory() + "/targets", chosen);
}

Status write_entry(const Finding& finding, const std::string& directory, const std::string& targets_directory,
                   const std::vector<TargetChoice>& chosen) {
  const std::string slug = finding.slug.empty() ? slug_of(finding) : finding.slug;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Error{fmt::format("{}: cannot create the directory for entries: {}", directory, error.message())};
  const std::string part = fmt::format("{}/.{}.part-{}", directory, slug, ::getpid());
  fs::remove_all(part, error);
  if (!fs::create_directory(part, error)) return Error{fmt::format("{}: cannot create the entry: {}", part, error.message())};
  const auto known = load_targets(targets_directory);
  std::vector<Target> targets = known ? *known : std::vector<Target>{};
  for (const TargetChoice& c : chosen)
    if (c.target.by_path) targets.push_back(c.target);
  Status status = write_files(entry_of(finding, targets, targets_directory), part);
  if (status) status = move_into_place(part, directory + "/" + slug);
  if (!status) fs::remove_all(part, error);
  return status;
}

}  // namespace normfuzz
