// normfuzz cases: generated cases as files, for other programs and for the tests.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "core/case_io.h"
#include "harness/generate/generator.h"
#include "oracles/ops/op.h"

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

Result<ExitStatus> run(Options o) {
  if (o.ops.empty())
    for (const OpInfo* op : all_ops()) o.ops.emplace_back(op->name);
  if (o.dtypes.empty())
    for (const DType d : kAllDTypes) o.dtypes.emplace_back(name_of(d));
  for (const std::string& op : o.ops)
    if (!find_op(op)) return Error{"--op: '" + op + "' is no operator (see normfuzz ops)"};
  std::vector<DType> dtypes;
  for (const std::string& name : o.dtypes) {
    const auto d = dtype_from_name(name);
    if (!d) return Error{"--dtype: '" + name + "', expected f64, f32, f16 or bf16"};
    dtypes.push_back(*d);
  }
  const auto& regimes = all_regimes();
  if (!o.regime.empty() && std::none_of(regimes.begin(), regimes.end(), [&](const RegimeInfo& r) { return r.name == o.regime; }))
    return Error{"--regime: '" + o.regime + "' is no regime (see normfuzz regimes)"};
  std::error_code error;
  if (!o.out.empty() && !std::filesystem::create_directories(o.out, error) && error) return Error{o.out + ": " + error.message()};
  const GeneratorOptions options{o.regime, o.max_elements, false};
  const auto kinds = static_cast<std::uint64_t>(o.ops.size() * dtypes.size());
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(o.count); ++i) {  // all ops and dtypes in turn
    const std::uint64_t kind = i % kinds;
    const Case c = generate(o.seed, o.ops[kind / dtypes.size()], dtypes[kind % dtypes.size()], o.first + i / kinds, options);
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
