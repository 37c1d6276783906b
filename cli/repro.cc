// normfuzz repro: runs a stored case again and shows every element beside its exact value.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/case_files.h"
#include "cli/case_input.h"
#include "cli/command.h"
#include "cli/element_table.h"
#include "cli/table.h"
#include "cli/target_choice.h"
#include "harness/examine.h"
#include "harness/shrink/edit.h"
#include "oracles/ops/op.h"
#include "reports/json.h"

namespace normfuzz {
namespace {

struct Options {
  CaseInput input;
  std::string path;
  std::vector<std::string> targets;
  std::int64_t rows = 10;
  double seconds = 10;
  bool json = false;
};

// One target's answer, with what the text needs besides.
struct Rerun {
  ReproAnswer answer;
  std::string version, contradiction, line;
  DType storage = DType::kF64;  // for the digits of the table
};

Result<NamedCase> case_of(const Options& o) {
  if (!o.path.ends_with(".npy")) return read_named_case(o.path);
  CaseInput input = o.input;
  const OpInfo* op = find_op(input.op);
  (op && op->inputs.front().name == "a" ? input.a : input.x) = o.path;
  Result<Case> c = case_from(input);
  return c ? Result<NamedCase>(NamedCase{o.path, std::move(*c)}) : Error{o.path + ": " + c.error()};
}

// What the case's own property says; nothing for a case without one.
std::optional<PropertyAnswer> property_answer(const Case& c, const Examination& e) {
  if (!c.property) return std::nullopt;
  PropertyAnswer answer{c.property->id, false, false, true, ""};
  const Property* p = find_property(c.property->id);
  if (!p) answer.detail = "no property of this name, see `normfuzz theorems`";
  for (const PropertyNote& n : e.properties)
    if (n.id == c.property->id) answer = {c.property->id, n.met, n.broken, n.judged, n.detail};
  if (p && p->needs_no_kernel() && !p->needs_kernel() && p->meets(c, c.property->args)) {
    const PropertyResult result = check_without_kernel(*p, c, c.property->args);
    answer.met = result.state != PropertyResult::State::kVoid;
    answer.broken = result.state == PropertyResult::State::kBroken;
    answer.detail = result.detail;
  }
  return answer;
}

std::string property_line(const PropertyAnswer& p) {
  if (!p.met) return fmt::format("{}: premises not met{}{}", p.id, p.detail.empty() ? "" : ": ", p.detail);
  if (!p.broken) return p.id + ": holds";
  return fmt::format("{}: broken{}: {}", p.id, p.judged ? "" : ", and not claimed", p.detail);
}

Result<Rerun> run_on(const TargetChoice& choice, const Case& c, double seconds) {
  WorkerLimits limits;
  limits.seconds_per_case = seconds;
  const std::unique_ptr<Worker> worker = Worker::create(choice, limits);
  const Result<std::string> version = worker->version();
  if (!version) return Error{choice.label() + ": not available: " + version.error()};
  const Result<Contract> contract = choice.target.contract(c.op, c.dtype());
  if (!contract) return Error{choice.label() + ": " + contract.error()};
  // Everything that can be asked about one case: the same bits twice, neighbours of a non-finite row untouched, filter against MPFR.
  const Examination e = std::move(examine(*worker, choice.target, std::span(&c, 1), {true, true, true}).front());
  CaseJudge judge(c);
  Rerun r{
      {choice.label(), e.outcome.kind, e.outcome.message, {e.judgement.verdict, e.judgement.law, contract->name, e.judgement.detail, {}}},
      *version,
      e.contradiction,
      verdict_line(e.judgement, contract->name),
      widest_output(e.outcome)};
  if (e.outcome.kind == OutcomeKind::kOk && !e.by_property)
    r.answer.check.elements = listed_elements(judge, e.outcome, e.judgement, *contract);
  else
    r.answer.check.elements = e.judgement.evidence;
  r.answer.property = property_answer(c, e);
  return r;
}

void print_text(const Rerun& r, std::int64_t rows) {
  const bool red = is_violation(r.answer.check.verdict) && isatty(STDOUT_FILENO);
  const std::string line = wrapped(fmt::format("{} ({}): {}", r.answer.target, r.version, r.line), 0);
  fmt::print("{}{}{}\n", red ? "\033[31m" : "", line, red ? "\033[0m" : "");
  if (r.answer.property) fmt::print("{}\n", wrapped(property_line(*r.answer.property), 0));
  fmt::print("{}", element_table(r.answer.check.elements, r.storage, static_cast<std::size_t>(rows)));
}

std::string headline(const NamedCase& file) {
  const Case& c = file.content;
  std::string line =
      fmt::format("{}: {}, {} {} [{}]", file.name, c.op, main_name(c), name_of(c.dtype()), fmt::join(main_input(c).shape, ","));
  for (const auto& [name, value] : c.params) {
    line += ", " + name + " ";
    if (const auto* number = std::get_if<double>(&value)) line += fmt::format("{:.9g}", *number);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) line += std::to_string(*integer);
    if (const auto* text = std::get_if<std::string>(&value)) line += *text;
  }
  if (!c.source.empty()) line += ", " + c.source;
  return wrapped(line, 0);
}

Result<ExitStatus> run(const Options& o) {
  const Result<NamedCase> file = case_of(o);
  if (!file) return Error{file.error()};
  const Result<std::vector<TargetChoice>> choices = choose_from(o.targets);
  if (!choices) return Error{choices.error()};
  if (!o.json) fmt::print("{}\n", headline(*file));
  std::vector<ReproAnswer> answers;
  ExitStatus status = ExitStatus::kClean;
  for (const TargetChoice& choice : *choices) {
    const Result<Rerun> r = run_on(choice, file->content, o.seconds);
    if (!r && !o.targets.empty()) return Error{"target " + r.error()};
    if (!r) {
      fmt::print(stderr, "normfuzz: skipped {}\n", r.error());
      continue;
    }
    if (!o.json) print_text(*r, o.rows);
    if (!r->contradiction.empty()) {
      fmt::print(stderr, "normfuzz: internal contradiction: {}\n", r->contradiction);
      status = ExitStatus::kContradiction;
    } else if (is_violation(r->answer.check.verdict) && status == ExitStatus::kClean) {
      status = ExitStatus::kDivergence;
    }
    answers.push_back(r->answer);
  }
  if (o.json) fmt::print("{}\n", repro_json(answers));
  return status;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.text("PATH", o->path, "A case file, a BugZoo entry, or x (or a) as .npy with --op", true);
  options.list("--target", o->targets, "Only this target: NAME, NAME:VARIANT, NAME:* or a .so or .py file; may be repeated", true);
  declare_case_input(options, o->input);
  options.integer("--rows", o->rows, 1, std::int64_t{1} << 40, "Elements to print per target, worst first");
  options.number("--case-seconds", o->seconds, "A call that takes longer is a hang");
  options.flag("--json", o->json, "One JSON object, nothing else");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kRepro = {
    "repro",
    "Run a stored case again: got, exact and allowed per element",
    "  normfuzz repro corpus/public/ln-one-feature.json\n"
    "  normfuzz repro out/bugzoo/SLUG --target onednn:avx2 --target cpu\n"
    "  normfuzz repro case.json --target ./my_kernels.so --json\n"
    "  normfuzz repro x.npy --op layer_norm --epsilon 1e-5 --target torch",
    declare,
};

}  // namespace normfuzz
