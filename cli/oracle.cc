// normfuzz oracle: the exact result of stored cases.
#include "oracles/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/case_files.h"
#include "cli/command.h"
#include "cli/table.h"
#include "core/case_io.h"
#include "reports/json.h"

namespace normfuzz {
namespace {

constexpr int kDoubleDigits = 17;  // tell any two doubles apart

struct Options {
  std::vector<std::string> files;
  std::string reading = "totalized";
  std::int64_t digits = 0, rows = 20;
  bool verify = false, json = false;
};

// "y[3]": the first element whose bits are not the recorded ones; empty: all are.
std::string first_difference(const Case& c, const std::map<std::string, Tensor>& exact) {
  for (const auto& [name, recorded] : c.expect) {
    const auto it = exact.find(name);
    if (it == exact.end()) return name;
    if (it->second.dtype != recorded.dtype || it->second.shape != recorded.shape) return name + ", whose dtype or shape is another one";
    for (std::int64_t i = 0; i < recorded.size(); ++i)
      if (recorded.bits(i) != it->second.bits(i)) return fmt::format("{}[{}]", name, i);
  }
  return {};
}

void print_text(const NamedCase& file, const OracleAnswer& answer, const Options& o) {
  for (const auto& [name, y] : answer.expect) {
    fmt::print("{}: {} {}, {} elements, exact, rounded once to {}\n", file.name, file.content.op, name, y.size(), name_of(y.dtype));
    std::vector<std::vector<std::string>> rows = {{"element", std::string(name_of(y.dtype)), "decimal"}};
    for (std::int64_t i = 0; i < std::min(y.size(), o.rows); ++i)
      rows.push_back({fmt::format("{}[{}]", name, i), hex_from_value(y.value(i)), answer.digits.at(name)[static_cast<std::size_t>(i)]});
    fmt::print("{}", table(rows));
    if (y.size() > o.rows) fmt::print("... {} more (--rows N shows N)\n", y.size() - o.rows);
  }
}

// True if the recorded values, if any, are the exact ones.
Result<bool> answer_case(const NamedCase& file, const Options& o, Reading reading) {
  const auto exact = exact_outputs(file.content, reading);
  if (!exact) return Error{file.name + ": " + exact.error()};
  OracleAnswer answer{file.content.op, o.reading, *exact, {}};
  if (o.digits > 0 || !o.json) {
    auto decimal = exact_decimal(file.content, o.digits > 0 ? static_cast<int>(o.digits) : kDoubleDigits, reading);
    if (!decimal) return Error{file.name + ": " + decimal.error()};
    answer.digits = std::move(*decimal);
  }
  if (o.json)
    fmt::print("{}\n", oracle_json(answer));
  else
    print_text(file, answer, o);
  const std::string difference = first_difference(file.content, *exact);
  if (!o.json && !file.content.expect.empty())
    fmt::print("{}\n", difference.empty() ? "equal to the recorded result, bit for bit" : "the recorded result differs at " + difference);
  return difference.empty();
}

Result<ExitStatus> run(const Options& o) {
  const Reading reading = *reading_from_name(o.reading);
  bool equal = true;
  for (const std::string& path : o.files) {
    const Status done = each_case(path, [&](const NamedCase& file) -> Status {
      const Result<bool> same = answer_case(file, o, reading);
      if (!same) return Error{same.error()};
      equal = equal && *same;
      return Unit{};
    });
    if (!done) return Error{done.error()};
  }
  return o.verify && !equal ? ExitStatus::kDivergence : ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.list("FILE", o->files, "Case files, BugZoo entries, or .jsonl files with one case a line", false, true);
  options.choice("--reading", o->reading, {"totalized", "ieee"}, "x/0 is 0 (totalized), or 0/0 is NaN (ieee)");
  options.integer("--digits", o->digits, 1, kMaxDigits, "Significant decimal digits to print, correctly rounded");
  options.integer("--rows", o->rows, 1, std::int64_t{1} << 40, "Elements to print per output");
  options.flag("--verify", o->verify, "Exit status 1 if a result recorded in the file differs");
  options.flag("--json", o->json, "One JSON object a case, nothing else");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kOracle = {
    "oracle",
    "Print the exact result of a case, correctly rounded",
    "  normfuzz oracle corpus/public/ln-large-mean-40000.json\n"
    "  normfuzz oracle case.json --digits 50\n"
    "  normfuzz oracle case.json --reading ieee --json\n"
    "  normfuzz oracle --verify corpus/public/ln-*.json",
    declare,
};

}  // namespace normfuzz
