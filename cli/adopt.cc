// normfuzz adopt: takes a finding into the corpus.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "harness/life_cycle/stored_entry.h"
#include "harness/life_cycle/waiver.h"

namespace normfuzz {
namespace {

struct Options {
  std::string slug, out = "out", corpus = NORMFUZZ_CORPUS_DIR;
};

// The name of an entry, or its path as the report prints it.
std::string entry_path(const Options& o) {
  std::string slug = o.slug;
  while (slug.ends_with('/')) slug.pop_back();
  return slug.find('/') == std::string::npos ? o.out + "/bugzoo/" + slug : slug;
}

Result<ExitStatus> run(const Options& o) {
  const std::string from = entry_path(o);
  std::error_code ignored;
  if (!std::filesystem::is_directory(from, ignored)) return Error{from + ": no such entry, expected a folder that `normfuzz run` wrote"};
  const auto entry = adopt_entry(from, o.corpus + "/bugzoo");
  if (!entry) return Error{entry.error()};
  const EntryStatus& s = entry->status;
  fmt::print("{}: adopted, first seen on {}\n", entry->directory, s.first_version.empty() ? "an unknown version" : s.first_version);
  if (s.verdict == Verdict::kRangeLimit) return ExitStatus::kClean;
  fmt::print("To waive it, put this into the known.toml beside the target {} (targets/{}/known.toml):\n\n{}", s.signature.target,
             s.signature.target, waiver_draft(s.signature, entry->slug, s.first_version));
  return ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.text("SLUG", o->slug, "a finding of the campaign in --out, or the path of an entry", true);
  options.text("--out", o->out, "directory of the campaign");
  options.text("--corpus", o->corpus, "directory to take it into, as bugzoo/SLUG");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kAdopt = {
    "adopt",
    "Take a finding into the corpus, where every later run tries it again",
    "  normfuzz adopt onnxruntime-group-norm-f32-standard-wrong-mean-offset --out nightly\n"
    "  normfuzz adopt out/bugzoo/SLUG --corpus my-corpus",
    declare,
};

}  // namespace normfuzz
