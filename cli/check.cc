// normfuzz check: certifies an output that something else has computed.
#include <fmt/format.h>

#include <memory>

#include "cli/case_files.h"
#include "cli/case_input.h"
#include "cli/command.h"
#include "cli/element_table.h"
#include "cli/table.h"
#include "reports/json.h"

namespace normfuzz {
namespace {

struct Options {
  CaseInput input;
  std::string file, y, contract = "standard";
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
  if (o.file.empty()) {
    if (o.input.x.empty()) return Error{"--x: missing, expected a .npy file (or --case FILE)"};
    return case_from(o.input);
  }
  if (!o.input.x.empty() || !o.input.op.empty()) return Error{"--case: stands beside --x or --op, expected one or the other"};
  Result<NamedCase> named = read_named_case(o.file);
  return named ? Result<Case>(std::move(named->content)) : Error{named.error()};
}

Result<Outcome> outcome_of(const Options& o, const Case& c) {
  Result<Tensor> y = array_from("--y", o.y, o.input.dtype.empty() && c.dtype() == DType::kBF16 ? "bf16" : o.input.dtype);
  if (!y) return Error{y.error()};
  const Tensor& x = *c.input("x");
  if (y->dtype != x.dtype) return Error{fmt::format("--y: {}: dtype {}, expected {} as x", o.y, name_of(y->dtype), name_of(x.dtype))};
  if (y->shape != x.shape)
    return Error{fmt::format("--y: {}: shape [{}], expected [{}] as x", o.y, fmt::join(y->shape, ","), fmt::join(x.shape, ","))};
  Outcome outcome;
  outcome.kind = OutcomeKind::kOk;
  outcome.outputs.emplace_back("y", std::move(*y));
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
               element_table(elements, c->dtype(), static_cast<std::size_t>(o.rows)));
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
  options.text("--y", o->y, "The output to certify, .npy", true);
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
    "  normfuzz check --case case.json --y y.npy --contract two_pass --modifier affine=folded --json",
    declare,
};

}  // namespace normfuzz
