// normfuzz run: the main job.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/campaign_report.h"
#include "cli/command.h"
#include "cli/engine.h"
#include "cli/guided_files.h"
#include "cli/selection.h"
#include "cli/target_choice.h"
#include "harness/campaign.h"
#include "harness/life_cycle/settle.h"
#include "reports/bugzoo.h"
#include "reports/json.h"
#include "reports/text.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

std::atomic<bool> stop_requested{false};

// The first Ctrl-C lets the blocks in flight finish; the second one ends the program, which loses those blocks only.
void on_signal(int) {
  if (stop_requested.exchange(true)) _exit(static_cast<int>(ExitStatus::kInterrupted));
}

struct Options {
  std::vector<std::string> targets, more_targets, ops, dtypes;
  std::string time, shard = "0/1", out = "out", regime, corpus = NORMFUZZ_CORPUS_DIR;
  std::uint64_t seed = 1, properties = 4;
  std::int64_t cases = 0, jobs = 2;  // cases 0: not given
  double case_seconds = 10;
  bool guided = false, json = false, quiet = false;
  std::string worst;
  ReportFiles files;
  EngineOptions engine;
};

Status set_shard(CampaignOptions& c, const std::string& text) {
  int i = 0, n = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%d/%d%c", &i, &n, &rest) != 2 || n < 1 || i < 0 || i >= n)
    return Error{"--shard: '" + text + "', expected I/N with 0 <= I < N, such as 0/4"};
  c.shard = i;
  c.shards = n;
  return Unit{};
}

Result<CampaignOptions> campaign_options(const Options& o) {
  CampaignOptions c;
  c.seed = o.seed;
  c.cases = static_cast<std::uint64_t>(o.cases);
  c.properties = o.properties;
  c.jobs = static_cast<int>(o.jobs);
  c.out = o.out;
  c.case_seconds = o.case_seconds;
  c.stop = &stop_requested;
  if (!o.time.empty()) {
    const auto seconds = seconds_from("--time", o.time);
    if (!seconds) return Error{seconds.error()};
    c.seconds = *seconds;
  }
  if (auto status = set_shard(c, o.shard); !status) return Error{status.error()};
  auto ops = selected_ops("--ops", o.ops);
  if (!ops) return Error{ops.error()};
  c.ops = std::move(*ops);
  auto dtypes = selected_dtypes("--dtypes", o.dtypes);
  if (!dtypes) return Error{dtypes.error()};
  c.dtypes = std::move(*dtypes);
  if (auto status = check_regime("--regime", o.regime); !status) return Error{status.error()};
  c.generator.regime = o.regime;
  auto targets = choose_from(o.targets);
  if (!targets) return Error{targets.error()};
  c.targets = std::move(*targets);
  for (std::size_t i = 0; i < c.targets.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (c.targets[i].label() == c.targets[k].label())
        return Error{"--targets: two targets are called '" + c.targets[i].label() + "' (" + c.targets[k].target.module_path + ", " +
                     c.targets[i].target.module_path + "): rename one file"};
  return c;
}

// One line on stderr, redrawn at most five times a second; nothing where stderr is not a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO)) {}
  ~ProgressBar() { clear(); }
  void show(const Progress& p) {
    const auto now = std::chrono::steady_clock::now();
    if (!enabled_ || (p.phase == "fuzzing" && now - last_ < std::chrono::milliseconds(200))) return;
    last_ = now;
    const double share = p.budget_seconds > 0 ? p.seconds / p.budget_seconds
                         : p.budget_cases > 0 ? static_cast<double>(p.generated) / static_cast<double>(p.budget_cases)
                                              : 0;
    std::string line = p.phase;
    if (p.phase == "fuzzing") {
      constexpr int kWidth = 24;
      const int filled = static_cast<int>(std::min(1.0, share) * kWidth);
      line = fmt::format("[{}{}] {:.0f} s, {} runs, {:.0f}/s, {} kinds of divergence", std::string(static_cast<std::size_t>(filled), '#'),
                         std::string(static_cast<std::size_t>(kWidth - filled), '.'), p.seconds, p.cases,
                         p.seconds > 0 ? static_cast<double>(p.cases) / p.seconds : 0, p.candidates);
    }
    fmt::print(stderr, "\r\033[K{}", line.substr(0, 99));
    std::fflush(stderr);
    drawn_ = true;
  }
  void clear() {
    if (drawn_) fmt::print(stderr, "\r\033[K");
    drawn_ = false;
  }

 private:
  bool enabled_, drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// The same campaign again, for a shard of it: without --shard, --time and --out.
std::vector<std::string> arguments_of(const Options& o) {
  std::vector<std::string> out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.insert(out.end(), {name, value});
  };
  for (const std::string& target : o.targets) add("--target", target);
  for (const std::string& op : o.ops) add("--ops", op);
  for (const std::string& dtype : o.dtypes) add("--dtypes", dtype);
  add("--regime", o.regime);
  if (o.cases > 0) add("--cases", std::to_string(o.cases));
  add("--seed", std::to_string(o.seed));
  add("--properties", std::to_string(o.properties));
  add("--jobs", std::to_string(o.jobs));
  add("--case-seconds", fmt::format("{}", o.case_seconds));
  add("--corpus", o.corpus);
  add("--previous", o.files.previous);
  return out;
}

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// What a guided run has no use for.
Status check_guided(const Options& o) {
  if (!o.guided) return o.worst.empty() ? Status(Unit{}) : Error{"--worst: needs --guided"};
  if (o.shard != "0/1")
    return Error{"--shard: not with --guided, where a round needs those before it; share out --targets or --ops instead"};
  if (!o.regime.empty()) return Error{"--regime: not with --guided, which draws from all of them"};
  if (!o.engine.engine.empty()) return Error{"--engine: not with --guided, where a round needs those before it"};
  return Unit{};
}

Result<ExitStatus> run(const Options& o) {
  if (const auto status = check_guided(o); !status) return Error{status.error()};
  if (const auto status = check_engine(o.engine); !status) return Error{status.error()};
  auto options = campaign_options(o);
  if (!options) return Error{options.error()};
  if (o.time.empty() && o.cases == 0) options->seconds = 60;
  if (!o.engine.engine.empty() && o.files.any())
    return Error{"--engine: reports are written afterwards, by `normfuzz report " + o.out + " --html FILE` and its kin"};
  if (!o.engine.engine.empty()) return run_on_engine(o.engine, *options, arguments_of(o), o.json, o.quiet);
  std::error_code error;
  std::filesystem::create_directories(o.out, error);
  if (error) return Error{"--out: cannot create " + o.out + ": " + error.message()};
  WorstByTarget parents, worst;
  if (!o.worst.empty()) {
    auto known = read_worst(o.worst, *options);
    if (!known) return Error{known.error()};
    parents = std::move(*known);
  }
  const auto life_cycle = load_life_cycle(options->targets, o.corpus + "/bugzoo", o.files.previous);
  if (!life_cycle) return Error{life_cycle.error()};
  auto store = Store::open(o.out, o.guided ? guided_settings_of(*options, parents) : settings_of(*options));
  if (!store) return Error{store.error()};
  install_signal_handlers();
  ProgressBar bar(!o.quiet && !o.json);
  options->progress = [&](const Progress& p) { bar.show(p); };
  const auto outcome = o.guided ? fuzz_guided(*store, *options, parents, worst) : fuzz(*store, *options);
  if (!outcome) return Error{outcome.error()};
  if (!outcome->failed.empty() && !o.targets.empty()) return Error{"target " + outcome->failed[0].first + ": " + outcome->failed[0].second};
  if (o.guided)
    if (const auto status = write_worst_files(worst, o.out + "/worst"); !status) return Error{status.error()};
  const auto before = store->findings();
  if (!before) return Error{before.error()};
  const auto written = [&](const Finding& f) { return write_entry(f, o.out + "/bugzoo", options->targets); };
  if (const auto status = conclude(*store, *options, *outcome, written); !status) return Error{status.error()};
  const auto announcements = settle(*store, *options, *life_cycle, written);
  if (!announcements) return Error{announcements.error()};
  bar.clear();
  if (const auto status = remember_run(*store, *outcome, *announcements); !status) return Error{status.error()};
  auto report = report_of(*store, o.out);
  if (!report) return Error{report.error()};
  remove_lost_entries(*before, report->findings, o.out);
  report->seconds = outcome->seconds;  // of this run
  if (const auto status = write_report_files(o.files, *report); !status) return Error{status.error()};
  if (o.json)
    fmt::print("{}\n", run_json(*report));
  else
    fmt::print("{}{}", campaign_text(*report, isatty(STDOUT_FILENO)), o.guided ? "\n" + worst_text(worst, o.out + "/worst") : "");
  if (!outcome->contradiction.empty()) {
    fmt::print(stderr, "normfuzz: internal contradiction: {}\n", outcome->contradiction);
    return ExitStatus::kContradiction;
  }
  if (outcome->interrupted) return ExitStatus::kInterrupted;
  return has_news(*report) ? ExitStatus::kDivergence : ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  const auto o = std::make_shared<Options>();
  options.list("--targets", o->targets, "targets: names, name:variant, name:*, or paths of a .so or .py (default: all available)", true);
  options.list("--target", o->more_targets, "the same, one at a time", false);
  options.list("--ops", o->ops, "ops (default: all)", true);
  options.list("--dtypes", o->dtypes, "f64, f32, f16, bf16 (default: all)", true);
  options.text("--regime", o->regime, "only this regime of the generator");
  options.text("--time", o->time, "fuzz for this long: 60s, 10m, 2h (default 60s without --cases)");
  options.integer("--cases", o->cases, 1, std::int64_t{1} << 60, "fuzz this many generated cases, rounded up to whole blocks");
  options.natural("--seed", o->seed, "the same seed gives the same cases on every machine");
  options.natural("--properties", o->properties, "put every so many-th case to a theorem, see `normfuzz theorems`; 0: none");
  options.text("--shard", o->shard, "this run's part of the campaign, I/N");
  options.integer("--jobs", o->jobs, 1, 256, "threads, each with a worker per target");
  options.number("--case-seconds", o->case_seconds, "a call that takes longer is a hang");
  options.text("--out", o->out, "directory of the campaign; an existing one is continued");
  declare_report_files(options, o->files);
  declare_engine(options, o->engine);
  options.flag("--guided", o->guided, "climb on error/bound instead: each target, op and dtype from the worst inputs it has shown");
  options.text("--worst", o->worst, "with --guided: directory of inputs to climb from first (an earlier OUT/worst, corpus/worst)");
  options.text("--corpus", o->corpus, "directory of adopted findings (bugzoo/), which are run again at the end");
  options.flag("--json", o->json, "print one JSON object");
  options.flag("--quiet", o->quiet, "no progress bar");
  return [o] {
    o->targets.insert(o->targets.end(), o->more_targets.begin(), o->more_targets.end());
    return run(*o);
  };
}

}  // namespace

extern const Command kRun;
const Command kRun = {
    "run",
    "Fuzz targets, judge every result, shrink and report what diverges",
    "  normfuzz run --time 60s\n"
    "  normfuzz run --targets torch,onednn:avx2 --ops layer_norm --dtypes f32,f16 --cases 100000 --seed 7\n"
    "  normfuzz run --target ./my_kernels.so --target my_kernels.py --time 5m\n"
    "  normfuzz run --guided --targets onednn,torch --time 10m --worst corpus/worst\n"
    "  normfuzz run --out nightly --shard 0/4 --time 1h\n"
    "  normfuzz run --out nightly --time 10m --html report.html --junit junit.xml --sarif normfuzz.sarif\n"
    "  normfuzz run --engine ray --workers 16 --shards 64 --cases 10000000",
    declare,
};

}  // namespace normfuzz
