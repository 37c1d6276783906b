// normfuzz theorems: the theorems as executable properties, with what a campaign counted or what checks of small cases show.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "cli/target_choice.h"
#include "core/case_io.h"
#include "harness/property_check.h"
#include "harness/store.h"
#include "reports/json.h"

namespace normfuzz {
namespace {

struct Options {
  std::string out = "out", save;
  std::vector<std::string> properties, targets;
  std::int64_t check = 0, jobs = 0;
  std::uint64_t seed = 1;
  bool json = false, verbose = false;
};

TheoremListing listing_of(const Property& p) {
  const auto text = [](std::string_view s) { return std::string(s); };
  return {text(p.id),        text(p.lean), kinds_of(p), text(p.claim), text(p.premises), text(p.statement), text(p.does_not_prove),
          text(p.elsewhere), {},           {}};
}

void count(TheoremListing& t, const PropertyKey& key, const PropertyTally& tally) {
  t.by_target.emplace_back(key, tally);
  t.sum.merge(tally);
}

// Nothing where there is no campaign in that folder.
Result<Tally> stored_tally(const std::string& out) {
  if (!std::filesystem::exists(out)) return Tally{};
  if (std::filesystem::is_directory(out) && !std::filesystem::exists(out + "/campaign.db")) return Tally{};
  const Result<Store> store = Store::open_for_reading(out);
  if (!store) return Error{store.error()};
  return store->tally();
}

Result<std::vector<const Property*>> chosen(const std::vector<std::string>& ids) {
  std::vector<const Property*> list;
  for (const std::string& id : ids) {
    const Property* p = find_property(id);
    if (!p) return Error{"--property: '" + id + "' is not a property; `normfuzz theorems` lists them"};
    list.push_back(p);
  }
  return ids.empty() ? all_properties() : list;
}

std::string violations_text(const TheoremListing& t) {
  std::string out;
  for (const auto& [key, tally] : t.by_target) {
    if (tally.violations > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", key.target, tally.violations);
    if (tally.unclaimed > 0) out += fmt::format("{}{} {} (not claimed)", out.empty() ? "" : ", ", key.target, tally.unclaimed);
  }
  if (t.vacuous()) out += out.empty() ? "vacuous" : ", vacuous";
  return out.empty() ? "-" : out;
}

void print_text(const std::vector<TheoremListing>& theorems, bool verbose) {
  std::vector<std::vector<std::string>> rows = {{"property", "kind", "tried", "met %", "violations"}};
  for (const TheoremListing& t : theorems) {
    const std::string met =
        t.sum.tried > 0 ? fmt::format("{:.1f}", 100 * static_cast<double>(t.sum.met) / static_cast<double>(t.sum.tried)) : "-";
    rows.push_back({t.id, t.kind, std::to_string(t.sum.tried), met, violations_text(t)});
  }
  fmt::print("{}", table(rows, {2, 3}));
  for (const TheoremListing& t : theorems) {
    if (!verbose && theorems.size() > 1) {
      fmt::print("{}{}: {}\n", &t == &theorems.front() ? "\n" : "", t.id, wrapped(t.lean, t.id.size() + 2));
      continue;
    }
    fmt::print("\n{} ({})\n", t.id, wrapped(t.lean, t.id.size() + 2));
    const auto line = [](std::string_view name, const std::string& text) {
      if (!text.empty()) fmt::print("  {}: {}\n", name, wrapped(text, name.size() + 4));
    };
    line("premises", t.premises);
    line("statement", t.statement);
    line("does not prove", t.does_not_prove);
    line("claim", t.claim);
    line("decided in", t.elsewhere);
  }
}

void add_checks(const std::vector<PropertyCheckRow>& rows, std::vector<TheoremListing>& theorems) {
  for (const PropertyCheckRow& r : rows)
    for (TheoremListing& t : theorems)
      if (t.id == r.id) count(t, {r.id, r.target}, r.tally);
}

Result<ExitStatus> check(const Options& o, const std::vector<const Property*>& properties, std::vector<TheoremListing>& theorems) {
  PropertyCheckOptions c;
  c.properties = properties;
  c.checks = o.check;
  c.seed = o.seed;
  c.jobs = o.jobs > 0 ? static_cast<int>(o.jobs) : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  c.stop = &interrupt_flag();
  auto targets = choose_from(o.targets.empty() ? std::vector<std::string>{"cpu"} : o.targets);
  if (!targets) return Error{targets.error()};
  c.targets = std::move(*targets);
  const bool bar = !o.json && isatty(STDERR_FILENO);
  if (bar)
    c.progress = [](const std::string& id) {
      fmt::print(stderr, "\r\033[Kchecking {}", id);
      std::fflush(stderr);
    };
  const std::vector<PropertyCheckRow> rows = check_properties(c);
  if (bar) fmt::print(stderr, "\r\033[K");
  add_checks(rows, theorems);
  ExitStatus status = ExitStatus::kClean;
  for (const PropertyCheckRow& r : rows) {
    if (r.tally.violations == 0) continue;
    status = ExitStatus::kDivergence;
    fmt::print(stderr, "{} on {}: {}\n", r.id, r.target, r.detail);
    if (!o.save.empty() && r.example)
      if (const Status saved = save_case(*r.example, fmt::format("{}/{}-{}.json", o.save, r.id, r.target)); !saved)
        return Error{saved.error()};
  }
  return interrupt_flag() ? ExitStatus::kInterrupted : status;
}

Result<ExitStatus> run(const Options& o) {
  const auto properties = chosen(o.properties);
  if (!properties) return Error{properties.error()};
  std::vector<TheoremListing> theorems;
  for (const Property* p : *properties) theorems.push_back(listing_of(*p));
  ExitStatus status = ExitStatus::kClean;
  if (o.check > 0) {
    const auto checked = check(o, *properties, theorems);
    if (!checked) return Error{checked.error()};
    status = *checked;
  } else {
    const auto tally = stored_tally(o.out);
    if (!tally) return Error{tally.error()};
    for (const auto& [key, t] : tally->properties)
      for (TheoremListing& listing : theorems)
        if (listing.id == key.id) count(listing, key, t);
  }
  if (o.json)
    fmt::print("{}\n", theorems_json(theorems));
  else
    print_text(theorems, o.verbose);
  return status;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.text("--out", o->out, "The campaign whose counts are shown: a directory or a .db file; none is fine");
  options.list("--property", o->properties, "Only these", true);
  options.integer("--check", o->check, 1, std::int64_t{1} << 40, "Check every property on so many small cases instead: no campaign");
  options.list("--target", o->targets, "With --check: on these targets (default cpu)", true);
  options.natural("--seed", o->seed, "Of the checks");
  options.integer("--jobs", o->jobs, 1, 1024, "Of the checks: threads (default: one a core)");
  options.text("--save", o->save, "With --check: a folder for the first violating case of each property");
  options.flag("--verbose", o->verbose, "Premises, statement and what is not proved");
  options.flag("--json", o->json, "One JSON object, nothing else");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kTheorems = {
    "theorems",
    "List the theorems that cases are put to: tries, premises met, violations",
    "  normfuzz theorems\n"
    "  normfuzz theorems --out nightly --json\n"
    "  normfuzz theorems --property ln.constant_row,rms.scale_drift --verbose\n"
    "  normfuzz theorems --check 100000 --seed 3",
    declare,
};

}  // namespace normfuzz
