// normfuzz check: certifies an output that something else has computed.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "cli/case_files.h"
#include "cli/case_input.h"
#include "cli/command.h"
#include "cli/element_table.h"
#include "cli/table.h"
#include "oracles/ops/op.h"
#include "reports/json.h"

namespace normfuzz {
namespace {

struct Options {
  CaseInput input;
  std::string file, contract = "standard";
  std::string y, dx, dweight, dbias, weight_new, bias_new;  // the outputs, by name
  std::vector<std::string> modifiers;
  std::int64_t rows = 10;
  bool json = false;
};

Result<Contract> contract_from(const Options& o, DType storage) {
  Result<Contract> contract = contract_named(o.contract, storage);
  if (!contract) return Error{"--contract: " + contract.error()};
  for (const std::string& m : o.modifiers) {
    const std::size_t equals = m.find('=');
    if (equals == std::string::npos) return Error{"--modifier: '" + m + "', expected FIELD=VALUE, such as affine=folded"};
    if (const Status applied = apply_modifier(*contract, m.substr(0, equals), m.substr(equals + 1)); !applied)
      return Error{"--modifier: " + applied.error()};
  }
  return contract;
}

Result<Case> case_of(const Options& o) {
  if (o.file.empty()) return case_from(o.input);
  if (any_array(o.input) || !o.input.op.empty()) return Error{"--case: stands beside --x or --op, expected one or the other"};
  Result<NamedCase> named = read_named_case(o.file);
  return named ? Result<Case>(std::move(named->content)) : Error{named.error()};
}

Result<Tensor> output_from(const std::string& option, const std::string& path, const Options& o, const Tensor& expected) {
  Result<Tensor> t = array_from(option, path, o.input.dtype.empty() && expected.dtype == DType::kBF16 ? "bf16" : o.input.dtype);
  if (!t && expected.dtype != DType::kBF16 && !o.input.dtype.empty())  // a parameter's gradient may be wider than the rows
    if (Result<Tensor> own = array_from(option, path, ""); own) t = std::move(own);
  if (!t) return t;
  if (t->dtype != expected.dtype)
    return Error{fmt::format("{}: {}: dtype {}, expected {} as its input", option, path, name_of(t->dtype), name_of(expected.dtype))};
  if (t->shape != expected.shape)
    return Error{fmt::format("{}: {}: shape [{}], expected [{}]", option, path, fmt::join(t->shape, ","), fmt::join(expected.shape, ","))};
  return t;
}

// Every output of the op, in its order.
Result<Outcome> outcome_of(const Options& o, const Case& c) {
  const std::map<std::string, std::pair<std::string, const std::string*>> given = {{"y", {"--y", &o.y}},
                                                                                   {"dx", {"--dx", &o.dx}},
                                                                                   {"dweight", {"--dweight", &o.dweight}},
                                                                                   {"dbias", {"--dbias", &o.dbias}},
                                                                                   {"weight_new", {"--weight-new", &o.weight_new}},
                                                                                   {"bias_new", {"--bias-new", &o.bias_new}}};
  Outcome outcome;
  outcome.kind = OutcomeKind::kOk;
  const NamedTensors layouts = find_op(c.op)->output_layouts(c);
  for (const auto& [name, layout] : layouts) {
    const auto& [option, path] = given.at(name);
    if (path->empty()) return Error{fmt::format("{}: missing, expected the output {} of {}, .npy", option, name, c.op)};
    Result<Tensor> t = output_from(option, *path, o, layout);
    if (!t) return Error{t.error()};
    outcome.outputs.emplace_back(name, std::move(*t));
  }
  for (const auto& [name, place] : given)
    if (!place.second->empty() && std::none_of(layouts.begin(), layouts.end(), [&, n = name](const auto& l) { return l.first == n; }))
      return Error{fmt::format("{}: not an output of this {}", place.first, c.op)};
  return outcome;
}

Result<ExitStatus> run(const Options& o) {
  const Result<Case> c = case_of(o);
  if (!c) return Error{c.error()};
  const Result<Contract> contract = contract_from(o, c->dtype());
  if (!contract) return Error{contract.error()};
  const Result<Outcome> outcome = outcome_of(o, *c);
  if (!outcome) return Error{outcome.error()};
  CaseJudge judge(*c);
  const Judgement j = judge.judge(*outcome, *contract, true);
  const std::vector<ElementEvidence> elements = listed_elements(judge, *outcome, j, *contract);
  if (o.json) {
    fmt::print("{}\n", check_json({j.verdict, j.law, contract->name, j.detail, elements}));
  } else {
    fmt::print("{}\n{}", wrapped(verdict_line(j, contract->name), 0),
               element_table(elements, widest_output(*outcome), static_cast<std::size_t>(o.rows)));
  }
  if (!judge.contradiction().empty()) {
    fmt::print(stderr, "normfuzz: internal contradiction: {}\n", judge.contradiction());
    return ExitStatus::kContradiction;
  }
  return is_violation(j.verdict) ? ExitStatus::kDivergence : ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.text("--x", o->input.x, "Input, .npy");
  options.text("--a", o->input.a, "First input of distance and cosine, .npy");
  options.text("--y", o->y, "The output to certify, .npy");
  options.text("--dx", o->dx, "An output of a backward, .npy; so are:");
  options.text("--dweight", o->dweight, "");
  options.text("--dbias", o->dbias, "");
  options.text("--weight-new", o->weight_new, "An output of an update, .npy; so is:");
  options.text("--bias-new", o->bias_new, "");
  declare_case_input(options, o->input);
  options.text("--case", o->file, "Take operator, inputs and parameters from a case file");
  options.text("--contract", o->contract, "What the kernel promises: a rung of the ladder, see normfuzz grade --help");
  options.list("--modifier", o->modifiers, "A field of the contract as FIELD=VALUE", false);
  options.integer("--rows", o->rows, 1, std::int64_t{1} << 40, "Elements to print");
  options.flag("--json", o->json, "One JSON object, nothing else");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kCheck = {
    "check",
    "Certify a given output against the exact result and a contract",
    "  normfuzz check --op layer_norm --x x.npy --y y.npy --epsilon 1e-5\n"
    "  normfuzz check --op rms_norm --x x.npy --weight w.npy --y y.npy --epsilon 1e-6 --param weight_offset=1 --dtype bf16\n"
    "  normfuzz check --op layer_norm_backward --x x.npy --dy dy.npy --epsilon 1e-5 --dx dx.npy\n"
    "  normfuzz check --op distance --a a.npy --b b.npy --param p=1 --y y.npy\n"
    "  normfuzz check --case case.json --y y.npy --contract two_pass --modifier affine=folded --json",
    declare,
};

}  // namespace normfuzz
