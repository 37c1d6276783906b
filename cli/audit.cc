// normfuzz audit: which mutants a test policy lets through, next to normfuzz itself with as many cases.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <tuple>

#include "cli/audit_report.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/selection.h"
#include "cli/table.h"
#include "cli/target_choice.h"
#include "harness/audit/presets.h"

namespace normfuzz {
namespace {

struct Options {
  std::vector<std::string> presets, dtypes, hidden, batch, mutants;
  std::string rtol, atol, metric = "allclose", inputs = "randn", reference = "f64", time;
  double epsilon = 1e-5;
  std::int64_t cases = 100;
  std::uint64_t seed = 1;
  bool planted = false, json = false, quiet = false;
};

Result<double> tolerance_from(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return Error{option + " is '" + text + "', expected a number >= 0"};
}

Result<std::vector<std::int64_t>> extents_from(const std::string& option, const std::vector<std::string>& texts) {
  std::vector<std::int64_t> out;
  for (const std::string& text : texts) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kPolicyElements)
      return Error{fmt::format("{} holds '{}', expected whole numbers from 1 to {}", option, text, kPolicyElements)};
    out.push_back(value);
  }
  return out;
}

// The policy that the options describe.
Result<TestPolicy> own_policy(const Options& o) {
  TestPolicy p;
  p.name = "yours";
  p.source = "as asked for";
  Tolerance tolerance{DType::kF32, Direction::kBoth, 0, 0};
  for (auto [option, text, value] : {std::tuple{"--rtol", &o.rtol, &tolerance.rtol}, std::tuple{"--atol", &o.atol, &tolerance.atol}}) {
    if (text->empty()) continue;
    const auto number = tolerance_from(option, *text);
    if (!number) return Error{number.error()};
    *value = *number;
  }
  const auto metric = metric_named(o.metric);
  if (!metric) return Error{metric.error()};
  p.metric = *metric;
  const auto inputs = input_policy_named(o.inputs);
  if (!inputs) return Error{inputs.error()};
  p.inputs = *inputs;
  const auto hidden = extents_from("--hidden", o.hidden), batch = extents_from("--batch", o.batch);
  if (!hidden) return Error{hidden.error()};
  if (!batch) return Error{batch.error()};
  if (!hidden->empty()) p.hidden = *hidden;
  if (!batch->empty()) p.batch = *batch;
  const auto dtypes = selected_dtypes("--dtypes", o.dtypes);
  if (!dtypes) return Error{dtypes.error()};
  for (const DType d : *dtypes) p.tolerances.push_back({d, tolerance.direction, tolerance.rtol, tolerance.atol});
  p.epsilon = o.epsilon;
  p.reference = o.reference == "f32" ? DType::kF32 : DType::kF64;
  return p;
}

Result<std::vector<TestPolicy>> policies_of(const Options& o) {
  std::vector<TestPolicy> policies;
  for (const std::string& name : o.presets) {
    if (name == "all") {
      policies.insert(policies.end(), policy_presets().begin(), policy_presets().end());
      continue;
    }
    const TestPolicy* preset = find_policy_preset(name);
    std::vector<std::string> names = {"all"};
    for (const TestPolicy& p : policy_presets()) names.push_back(p.name);
    if (!preset) return Error{"--preset is '" + name + "', expected one of " + joined(names)};
    policies.push_back(*preset);
  }
  if (o.rtol.empty() && o.atol.empty()) {
    if (policies.empty()) return Error{"audit: expected --rtol and --atol, or --preset NAME"};
    return policies;
  }
  const auto own = own_policy(o);
  if (!own) return Error{own.error()};
  policies.push_back(*own);
  return policies;
}

// Controls, then the mutants family by family, in the order in which the list names families.
Result<std::vector<MutantEntry>> chosen_mutants(const Options& o) {
  std::vector<MutantEntry> all = mutant_catalogue();
  std::set<std::string_view> known;
  std::vector<std::string_view> families = {""};
  for (const MutantEntry& m : all) {
    known.insert(m.name);
    if (std::find(families.begin(), families.end(), m.family) == families.end()) families.push_back(m.family);
  }
  for (const std::string& name : o.mutants)
    if (!known.contains(name))
      return Error{"--mutants names '" + name + "', which is no variant of the target mutants: see normfuzz targets"};
  std::vector<MutantEntry> out;
  for (const std::string_view family : families)
    for (const MutantEntry& m : all) {
      const bool named = std::find(o.mutants.begin(), o.mutants.end(), m.name) != o.mutants.end();
      if (m.family == family && (named || (o.mutants.empty() && (!m.rare || o.planted)))) out.push_back(m);
    }
  return out;
}

Result<std::unique_ptr<Worker>> start(const std::string& target, Target* manifest = nullptr) {
  const auto choices = choose_from({target});
  if (!choices) return Error{choices.error()};
  auto worker = Worker::create(choices->front(), {});
  if (const auto version = worker->version(); !version) return Error{"target " + target + ": not available: " + version.error()};
  if (manifest) *manifest = choices->front().target;
  return worker;
}

// As it would be typed; --json and --quiet change nothing in it.
std::string command_of(const Options& o) {
  std::string out = "normfuzz audit";
  const auto add = [&](const char* option, const std::string& value, const std::string& fallback) {
    if (value != fallback) out += fmt::format(" {} {}", option, value);
  };
  add("--preset", joined(o.presets, ","), "");
  add("--rtol", o.rtol, "");
  add("--atol", o.atol, "");
  add("--metric", o.metric, "allclose");
  add("--input-policy", o.inputs, "randn");
  add("--hidden", joined(o.hidden, ","), "");
  add("--batch", joined(o.batch, ","), "");
  add("--dtypes", joined(o.dtypes, ","), "");
  add("--epsilon", fmt::format("{:g}", o.epsilon), "1e-05");
  add("--reference", o.reference, "f64");
  add("--mutants", joined(o.mutants, ","), "");
  add("--time", o.time, "");
  if (o.planted) out += " --planted";
  return out + fmt::format(" --cases {} --seed {}", o.cases, o.seed);
}

Result<AuditRow> audit(const MutantEntry& mutant, const AuditReport& report, Worker& reference, Worker& control) {
  Target target;
  auto worker = start("mutants:" + std::string(mutant.name), &target);
  if (!worker) return Error{worker.error()};
  AuditRow row{mutant, {}, {}};
  const AuditScope scope{mutant.ops, mutant.dtypes};
  for (const TestPolicy& p : report.policies)
    row.policies.push_back(put_to_policy(p, scope, **worker, reference, row.control() ? nullptr : &control, report.budget));
  row.own = put_to_normfuzz(scope, **worker, target, report.budget);
  return row;
}

Result<ExitStatus> run(const Options& o) {
  AuditReport report;
  auto policies = policies_of(o);
  if (!policies) return Error{policies.error()};
  report.policies = std::move(*policies);
  const auto seconds = o.time.empty() ? Result<double>(0) : seconds_from("--time", o.time);
  if (!seconds) return Error{seconds.error()};
  const auto mutants = chosen_mutants(o);
  if (!mutants) return Error{mutants.error()};
  report.command = command_of(o);
  report.budget = {o.seed, o.cases, *seconds, &interrupt_flag()};
  auto reference = start("cpu");
  if (!reference) return Error{reference.error()};
  auto control = start("mutants:two_pass");
  if (!control) return Error{control.error()};
  const bool bar = !o.quiet && !o.json && isatty(STDERR_FILENO);
  for (std::size_t i = 0; i < mutants->size() && !interrupt_flag(); ++i) {
    const MutantEntry& m = (*mutants)[i];
    if (bar) fmt::print(stderr, "\r\033[K{} of {}: {}", i + 1, mutants->size(), m.name);
    auto row = audit(m, report, **reference, **control);
    if (!row) return Error{row.error()};
    if (!interrupt_flag()) report.rows.push_back(std::move(*row));
  }
  if (bar) fmt::print(stderr, "\r\033[K");
  report.interrupted = interrupt_flag();
  fmt::print("{}", o.json ? audit_json(report) + "\n" : audit_markdown(report));
  return report.interrupted ? ExitStatus::kInterrupted : ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.list("--preset", o->presets, "Policies of projects: names, or all", true);
  options.text("--rtol", o->rtol, "Relative tolerance of your policy");
  options.text("--atol", o->atol, "Absolute one; of cosine and pcc: the largest 1 - value that passes");
  options.text("--metric", o->metric, "allclose, relative, max_abs, cosine or pcc");
  options.text("--input-policy", o->inputs, "randn, uniform, integers or arange");
  options.list("--hidden", o->hidden, "Row lengths to draw from (default: 64 to 8192)", true);
  options.list("--batch", o->batch, "Numbers of rows to draw from (default: 1 to 64; at most 2^15 elements)", true);
  options.list("--dtypes", o->dtypes, "Dtypes that your policy tests (default: all)", true);
  options.number("--epsilon", o->epsilon, "Epsilon of the norms in your tests");
  options.choice("--reference", o->reference, {"f64", "f32"}, "In which the correct kernel computes the expected values");
  options.list("--mutants", o->mutants, "Only these mutants and controls", true);
  options.flag("--planted", o->planted, "The planted bugs too, which random cases hardly ever show");
  options.integer("--cases", o->cases, 1, std::int64_t{1} << 32, "Cases per mutant, of every policy and of normfuzz");
  options.text("--time", o->time, "Let normfuzz go on for so long per mutant: 60s");
  options.natural("--seed", o->seed, "Seed");
  options.flag("--quiet", o->quiet, "No progress line");
  options.flag("--json", o->json, "One JSON object, nothing else");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kAudit = {
    "audit",
    "Count the known bugs that a test policy lets through",
    "  normfuzz audit --rtol 1e-2 --atol 1e-2 --hidden 5120\n"
    "  normfuzz audit --metric pcc --atol 1e-2 --input-policy uniform --dtypes bf16\n"
    "  normfuzz audit --preset pytorch,vllm --cases 50 --time 10s\n"
    "The tables are Markdown. A mutant is a kernel with one known bug of public reports, a control a correct one.",
    declare,
};

}  // namespace normfuzz
