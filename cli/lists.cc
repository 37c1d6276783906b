// normfuzz ops, normfuzz regimes: what the program knows, from its own registers.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/table.h"
#include "harness/generate/generator.h"
#include "oracles/ops/op.h"
#include "reports/json.h"

namespace normfuzz {
namespace {

std::string joined_views(const std::vector<std::string_view>& views) { return joined({views.begin(), views.end()}); }

std::vector<NamedLine> op_lines() {
  std::vector<NamedLine> lines;
  for (const OpInfo* op : all_ops()) {
    std::vector<std::string> inputs;
    for (const InputSpec& i : op->inputs) inputs.push_back(std::string(i.name) + (i.required ? "" : "?"));
    lines.push_back({std::string(op->name),
                     {{"summary", std::string(op->summary)},
                      {"inputs", joined(inputs)},
                      {"params", joined_views(op->params)},
                      {"outputs", joined_views(op->outputs)}}});
  }
  return lines;
}

std::vector<NamedLine> regime_lines() {
  std::vector<NamedLine> lines;
  for (const RegimeInfo& r : all_regimes())
    lines.push_back({std::string(r.name), {{"summary", std::string(r.summary)}, {"special", r.special ? "yes" : "no"}}});
  return lines;
}

void print_text(std::string_view heading, const std::vector<NamedLine>& lines) {
  std::vector<std::vector<std::string>> rows = {{std::string(heading), ""}};
  for (const NamedLine& l : lines) {
    rows.push_back({l.name, l.fields.at("summary")});
    for (const char* field : {"inputs", "params"})
      if (l.fields.count(field)) rows.push_back({"", fmt::format("{}: {}", field, l.fields.at(field))});
  }
  fmt::print("{}", table(rows));
}

template <std::vector<NamedLine> (*lines)()>
Action declare_list(OptionSet& options, std::string_view key, std::string_view heading) {
  auto json = std::make_shared<bool>(false);
  options.flag("--json", *json, "One JSON object, nothing else");
  return [json, key, heading]() -> Result<ExitStatus> {
    if (*json)
      fmt::print("{}\n", list_json(key, lines()));
    else
      print_text(heading, lines());
    return ExitStatus::kClean;
  };
}

}  // namespace

extern const Command kOps = {
    "ops",
    "List the operators: formula, inputs (x? may be absent), parameters",
    "  normfuzz ops\n"
    "  normfuzz ops --json",
    [](OptionSet& options) { return declare_list<op_lines>(options, "ops", "op"); },
};

extern const Command kRegimes = {
    "regimes",
    "List the regimes that cases are drawn from",
    "  normfuzz regimes\n"
    "  normfuzz regimes --json",
    [](OptionSet& options) { return declare_list<regime_lines>(options, "regimes", "regime"); },
};

}  // namespace normfuzz
