// normfuzz cases: generated cases as files, for other programs and for the tests.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/selection.h"
#include "core/case_io.h"
#include "harness/generate/generator.h"

namespace normfuzz {
namespace {

struct Options {
  std::uint64_t seed = 1, first = 0;
  std::int64_t count = 10, max_elements = 4096;
  std::vector<std::string> ops, dtypes;
  std::string regime, out;
};

// One line: write_case() puts line breaks between its fields and nowhere else.
std::string one_line(std::string text) {
  std::erase(text, '\n');
  return text;
}

Status emit(const Case& c, const Options& o) {
  if (o.out.empty()) {
    fmt::print("{}\n", one_line(write_case(c)));
    return Unit{};
  }
  const std::string name = fmt::format("{}-{}-{}-{}.json", c.op, name_of(c.dtype()), o.seed, c.provenance ? c.provenance->index : 0);
  return save_case(c, (std::filesystem::path(o.out) / name).string());
}

Result<ExitStatus> run(const Options& o) {
  const auto ops = selected_ops("--op", o.ops);
  if (!ops) return Error{ops.error()};
  const auto dtypes = selected_dtypes("--dtype", o.dtypes);
  if (!dtypes) return Error{dtypes.error()};
  if (const Status known = check_regime("--regime", o.regime); !known) return Error{known.error()};
  std::error_code error;
  if (!o.out.empty() && !std::filesystem::create_directories(o.out, error) && error) return Error{o.out + ": " + error.message()};
  const GeneratorOptions options{o.regime, o.max_elements, false};
  const auto kinds = static_cast<std::uint64_t>(ops->size() * dtypes->size());
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(o.count); ++i) {  // all ops and dtypes in turn
    const std::uint64_t kind = i % kinds;
    const Case c = generate(o.seed, (*ops)[kind / dtypes->size()], (*dtypes)[kind % dtypes->size()], o.first + i / kinds, options);
    if (const Status done = emit(c, o); !done) return Error{done.error()};
  }
  return ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.natural("--seed", o->seed, "Seed");
  options.natural("--first", o->first, "Index of the first case of each op and dtype");
  options.integer("--count", o->count, 1, std::int64_t{1} << 32, "Cases in all, ops and dtypes in turn");
  options.list("--op", o->ops, "Only these operators", true);
  options.list("--dtype", o->dtypes, "Only these dtypes", true);
  options.text("--regime", o->regime, "Only this regime");
  options.integer("--max-elements", o->max_elements, 1, std::int64_t{1} << 20, "Largest case");
  options.text("--out", o->out, "Write one file a case into this directory; without it, one line a case to standard output");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kCases = {
    "cases",
    "Write generated cases as files or as JSON lines",
    "  normfuzz cases --seed 7 --count 100 >cases.jsonl && normfuzz oracle cases.jsonl --json\n"
    "  normfuzz cases --op layer_norm --dtype bf16 --regime large_mean --count 3 --out cases",
    declare,
};

}  // namespace normfuzz
