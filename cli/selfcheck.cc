// normfuzz selfcheck: attacks our own bounds by hill climbing over rows and over the kernels that a contract allows.
#include "harness/selfcheck.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/selection.h"
#include "cli/table.h"
#include "core/case_io.h"

namespace normfuzz {
namespace {

struct Options {
  std::string time = "60s", out;
  std::int64_t climbs = 0, jobs = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> ops, dtypes, contracts;
  bool json = false, quiet = false;
};

Result<SelfcheckOptions> options_of(const Options& o) {
  SelfcheckOptions s;
  const auto seconds = seconds_from("--time", o.time);
  if (!seconds) return Error{seconds.error()};
  s.seconds = *seconds;
  s.climbs = o.climbs;
  s.seed = o.seed;
  s.jobs = o.jobs > 0 ? static_cast<int>(o.jobs) : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (const auto ops = selected_ops("--ops", o.ops); !ops) return Error{ops.error()};
  if (const auto dtypes = selected_dtypes("--dtypes", o.dtypes); !dtypes) return Error{dtypes.error()};
  for (const std::string& name : o.contracts)
    if (const auto c = contract_named(name, DType::kF32); !c && name.find('=') == std::string::npos)
      return Error{"--contracts: " + c.error()};
  s.ops = o.ops;
  s.dtypes = o.dtypes;
  s.contracts = o.contracts;
  s.stop = &interrupt_flag();
  return s;
}

void print_text(const std::vector<SelfcheckRow>& rows) {
  std::vector<std::vector<std::string>> lines = {{"op", "dtype", "contract", "ratio", "tight", "kernels", "bounded"}};
  for (const SelfcheckRow& r : rows) {
    const double finite = r.elements > 0 ? 100 * static_cast<double>(r.finite) / static_cast<double>(r.elements) : 0;
    lines.push_back({r.op, std::string(name_of(r.dtype)), r.contract, fmt::format("{:.4f}", r.worst_ratio),
                     fmt::format("{:.3f}", r.tightness), std::to_string(r.evaluations), fmt::format("{:.1f} %", finite)});
  }
  fmt::print("{}", table(lines, {3, 4, 5, 6}));
}

Result<ExitStatus> run(const Options& o) {
  Result<SelfcheckOptions> options = options_of(o);
  if (!options) return Error{options.error()};
  const bool bar = !o.quiet && !o.json && isatty(STDERR_FILENO);
  if (bar)
    options->progress = [&](const SelfcheckProgress& p) {
      fmt::print(stderr, "\r\033[K{:.0f} s, {} kernels run, worst ratio {:.4f} ({})", p.seconds, p.evaluations, p.worst_ratio, p.worst_row);
      std::fflush(stderr);
    };
  const auto start = std::chrono::steady_clock::now();
  const std::vector<SelfcheckRow> rows = selfcheck(*options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool interrupted = interrupt_flag();
  if (bar) fmt::print(stderr, "\r\033[K");
  if (rows.empty()) return Error{"selfcheck: no op, dtype and contract of those names"};
  const auto worst = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.worst_ratio < b.worst_ratio; });
  if (o.json)
    fmt::print("{}\n", selfcheck_json(rows, o.seed, seconds, interrupted));
  else
    print_text(rows);
  if (!o.json)
    fmt::print("{}\n", wrapped(fmt::format("worst: {:.6f} of the bound ({} {} {}; {}), {:.0f} s, seed {}", worst->worst_ratio, worst->op,
                                           name_of(worst->dtype), worst->contract, worst->kernel, seconds, o.seed),
                               0));
  if (!o.out.empty())
    if (const Status saved = save_case(worst->worst_case, o.out); !saved) return Error{saved.error()};
  if (worst->worst_ratio > 1) return ExitStatus::kDivergence;
  return interrupted ? ExitStatus::kInterrupted : ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.text("--time", o->time, "How long: 60s, 10m, 2h");
  options.integer("--climbs", o->climbs, 1, std::int64_t{1} << 40, "Climbs per op, dtype and contract instead of a time: reproducible");
  options.natural("--seed", o->seed, "Seed");
  options.integer("--jobs", o->jobs, 1, 1024, "Threads (default: one a core)");
  options.list("--ops", o->ops, "Only these operators", true);
  options.list("--dtypes", o->dtypes, "Only these dtypes", true);
  options.list("--contracts", o->contracts, "Only these contracts; modified ones by their whole name", false);
  options.text("--out", o->out, "Write the worst row as a case file");
  options.flag("--quiet", o->quiet, "No progress line");
  options.flag("--json", o->json, "One JSON object, nothing else");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kSelfcheck = {
    "selfcheck",
    "Attack our own bounds: hill climbing over the kernels a contract allows",
    "  normfuzz selfcheck --time 10m\n"
    "  normfuzz selfcheck --climbs 20 --seed 3 --ops layer_norm --dtypes f32 --contracts two_pass",
    declare,
};

}  // namespace normfuzz
