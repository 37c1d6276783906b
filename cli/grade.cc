// normfuzz grade: which contract a target keeps, per op and dtype, and which laws it follows without claiming them.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/law_runs.h"
#include "cli/selection.h"
#include "cli/target_choice.h"
#include "core/files.h"
#include "harness/examine.h"
#include "harness/generate/generator.h"
#include "reports/grades.h"
#include "reports/json.h"
#include "reports/text.h"

namespace normfuzz {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kLawsEvery = 4;  // the laws take three more runs each: every fourth case shows them as well

struct Options {
  std::vector<std::string> targets, more_targets, ops, dtypes;
  std::int64_t cases = 400, max_elements = 4096;
  std::uint64_t seed = 1;
  double case_seconds = 10;
  std::string markdown;
  bool json = false;
};

// What to type for the same page.
std::string command_of(const Options& o) {
  const auto list = [](const char* option, const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& n : names) text += (text.empty() ? std::string(" ") + option + " " : ",") + n;
    return text;
  };
  return fmt::format("normfuzz grade{}{}{}{} --cases {} --max-elements {} --seed {}", list("--targets", o.targets),
                     list("--target", o.more_targets), list("--ops", o.ops), list("--dtypes", o.dtypes), o.cases, o.max_elements, o.seed);
}

class Grader {
 public:
  Grader(const TargetChoice& choice, Worker& worker, Tally& tally) : choice_(choice), worker_(worker), tally_(tally) {}

  // Grades one batch of cases of an op and dtype. An error is an internal contradiction.
  Status batch(const std::vector<Case>& cases) {
    std::vector<Examination> examined = examine(worker_, choice_.target, cases, {true, true, false});
    std::vector<std::vector<LawRun>> laws(cases.size());
    std::vector<const Case*> related;
    for (std::size_t i = 0; i < cases.size(); i += kLawsEvery) {
      if (examined[i].outcome.kind != OutcomeKind::kOk) continue;
      laws[i] = law_runs(cases[i]);
      for (const LawRun& run : laws[i]) related.push_back(&run.related);
    }
    const std::vector<Outcome> outcomes = related.empty() ? std::vector<Outcome>() : worker_.run(related);
    std::size_t at = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Examination& e = examined[i];
      if (!e.contradiction.empty()) return Error{e.contradiction};
      tally_.add(choice_.label(), cases[i], contract_of(choice_.target, cases[i]).name, e.judgement);
      if (e.outcome.kind != OutcomeKind::kOk) continue;
      CaseJudge judge(cases[i]);
      GradeNotes notes;
      judge.note_laws(e.outcome, notes);
      ++(e.judgement.law == "bit.determinism" ? notes.laws["determinism"].broken : notes.laws["determinism"].held);
      for (const LawRun& run : laws[i]) note_law_run(run, e.outcome, outcomes[at++], judge.rows(), notes);
      tally_.note_laws(choice_.label(), cases[i], notes);
      note_rungs(judge, cases[i], e.outcome);
    }
    return Unit{};
  }

 private:
  void note_rungs(CaseJudge& judge, const Case& c, const Outcome& outcome) {
    std::vector<std::string_view> broken;
    for (const std::string_view rung : contract_ladder())
      if (!judge.keeps(outcome, *contract_named(rung, c.dtype()))) broken.push_back(rung);
    tally_.note_ladder(choice_.label(), c, broken);
  }

  const TargetChoice& choice_;
  Worker& worker_;
  Tally& tally_;
};

struct Plan {
  std::vector<TargetChoice> targets;
  std::vector<std::string> ops;
  std::vector<DType> dtypes;
};

Result<Plan> plan_of(const Options& o) {
  std::vector<std::string> names = o.targets;
  names.insert(names.end(), o.more_targets.begin(), o.more_targets.end());
  auto targets = choose_from(names);
  if (!targets) return Error{targets.error()};
  auto ops = selected_ops("--ops", o.ops);
  if (!ops) return Error{ops.error()};
  auto dtypes = selected_dtypes("--dtypes", o.dtypes);
  if (!dtypes) return Error{dtypes.error()};
  return Plan{std::move(*targets), std::move(*ops), std::move(*dtypes)};
}

// False: interrupted.
Result<bool> grade_target(const TargetChoice& choice, Worker& worker, const Plan& plan, const Options& o, Tally& tally) {
  const std::atomic<bool>& stop = interrupt_flag();
  Grader grader(choice, worker, tally);
  for (const std::string& op : plan.ops)
    for (const DType d : plan.dtypes) {
      if (!choice.target.by_path && !choice.target.promise(op, d)) continue;
      if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K{} {} {}", choice.label(), op, name_of(d));
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(o.cases);) {
        std::vector<Case> cases;
        for (; cases.size() < kBatch && i < static_cast<std::uint64_t>(o.cases); ++i)
          cases.push_back(generate(o.seed, op, d, i, {"", o.max_elements, false}));
        if (const Status done = grader.batch(cases); !done) return Error{done.error()};
        if (stop) return false;
      }
    }
  return true;
}

Result<ExitStatus> run(const Options& o) {
  const Result<Plan> plan = plan_of(o);
  if (!plan) return Error{plan.error()};
  CampaignReport report;
  report.seed = o.seed;
  const auto start = std::chrono::steady_clock::now();
  for (const TargetChoice& choice : plan->targets) {
    const std::unique_ptr<Worker> worker = Worker::create(choice, {.seconds_per_case = o.case_seconds, .log_path = {}});
    const Result<std::string> version = worker->version();
    if (!version && o.targets.size() + o.more_targets.size() > 0)
      return Error{"target " + choice.label() + ": not available: " + version.error()};
    report.targets.push_back({choice.label(), version ? *version : "", version ? "" : version.error()});
    if (!version) continue;
    const Result<bool> finished = grade_target(choice, *worker, *plan, o, report.tally);
    if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
    if (!finished) {
      fmt::print(stderr, "normfuzz: internal contradiction: {}\n", finished.error());
      return ExitStatus::kContradiction;
    }
    report.interrupted = !*finished;
    if (report.interrupted) break;
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!o.markdown.empty())
    if (const Status done = write_file_atomically(o.markdown, grades_markdown(report, command_of(o))); !done) return Error{done.error()};
  if (o.json)
    fmt::print("{}\n", run_json(report));
  else
    fmt::print("{}\n{}", table_text(report.tally, report.targets, isatty(STDOUT_FILENO)), laws_text(report.tally));
  return report.interrupted ? ExitStatus::kInterrupted : ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.list("--targets", o->targets, "Targets: NAME, NAME:VARIANT, NAME:* (default: all available)", true);
  options.list("--target", o->more_targets, "One more target, also a .so or .py file", false);
  options.list("--ops", o->ops, "Only these operators", true);
  options.list("--dtypes", o->dtypes, "Only these dtypes", true);
  options.integer("--cases", o->cases, 1, std::int64_t{1} << 32, "Cases per target, operator and dtype");
  options.integer("--max-elements", o->max_elements, 1, std::int64_t{1} << 20, "Largest case");
  options.natural("--seed", o->seed, "Seed");
  options.number("--case-seconds", o->case_seconds, "a call that takes longer is a hang");
  options.text("--markdown", o->markdown, "Write the grades as a page of Markdown");
  options.flag("--json", o->json, "One JSON object as of run, nothing else");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kGrade = {
    "grade",
    "Find the strictest contract each target keeps, and the laws that hold",
    "  normfuzz grade --targets cpu,torch:*\n"
    "  normfuzz grade --cases 100 --markdown grades.md\n"
    "  normfuzz grade --target ./my_kernels.so --ops rms_norm --dtypes f32,bf16 --cases 2000\n"
    "The ladder, strictest first: faithful (below 1 ulp of the output type), f64_accumulate, robust (no spurious\n"
    "overflow or underflow), two_pass, standard (two-pass or Welford), one_pass, native_accumulate, none.",
    declare,
};

}  // namespace normfuzz
