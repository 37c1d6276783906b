// normfuzz merge: the shards of a campaign as one.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/campaign_report.h"
#include "cli/command.h"
#include "cli/table.h"
#include "reports/bugzoo.h"
#include "reports/json.h"
#include "reports/text.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> inputs;
  std::string out;
  bool json = false, quiet = false;
};

void warn(const std::string& text) { fmt::print(stderr, "normfuzz: {}\n", text); }

// What an earlier merge left in `out`; none if there is nothing.
std::vector<Finding> earlier_findings(const std::string& out) {
  const auto store = Store::open_for_reading(out);
  const auto findings = store ? store->findings() : Error{""};
  return findings ? *findings : std::vector<Finding>{};
}

Status write_entries(const std::vector<Finding>& findings, const std::string& out) {
  for (const Finding& f : findings)
    if (const auto status = write_entry(f, out + "/bugzoo"); !status) return status;
  return Unit{};
}

// Shards of which there is no block although there are later blocks of others.
std::vector<std::string> missing_shards(const Store& store) {
  std::vector<std::string> missing;
  const auto& blocks = store.blocks();
  const auto shards = static_cast<std::uint64_t>(store.settings().shards);
  std::vector<bool> present(shards);
  for (const std::uint64_t block : blocks) present[block % shards] = true;
  for (std::uint64_t shard = 0; shard < shards; ++shard)
    if (!present[shard] && !blocks.empty() && *blocks.rbegin() > shard) missing.push_back(std::to_string(shard));
  return missing;
}

// Machines with different versions of a target make one campaign that says the version of one of them.
Status warn_of_versions(const std::vector<std::string>& inputs, const Store& merged) {
  const auto of_all = merged.notes();
  if (!of_all) return Error{of_all.error()};
  for (const std::string& input : inputs) {
    const auto store = Store::open_for_reading(input);
    const auto notes = store ? store->notes() : Error{store.error()};
    if (!notes) return Error{notes.error()};
    for (const auto& [name, text] : *notes)
      if (const auto it = of_all->find(name); is_version_note(name) && it != of_all->end() && it->second != text)
        warn(fmt::format("{}: {} is {}, in another shard {}", input, name, text, it->second));
  }
  return Unit{};
}

Result<ExitStatus> merge(const Options& o) {
  std::error_code error;
  const bool made = fs::create_directories(o.out, error);
  if (error) return Error{"--out: cannot create " + o.out + ": " + error.message()};
  const std::vector<Finding> earlier = earlier_findings(o.out);
  if (const auto status = Store::merge(o.inputs, o.out + "/campaign.db"); !status) {
    if (made) fs::remove(o.out, error);  // nothing is in it
    return Error{status.error()};
  }
  const auto store = Store::open_for_reading(o.out);
  if (!store) return Error{store.error()};
  const auto report = report_of(*store, o.out);
  if (!report) return Error{report.error()};
  if (const auto status = write_entries(report->findings, o.out); !status) return Error{status.error()};
  remove_lost_entries(earlier, report->findings, o.out);
  const auto open = open_candidates(*store);
  if (!open) return Error{open.error()};
  if (o.json)
    fmt::print("{}\n", run_json(*report));
  else
    fmt::print("{}", campaign_text(*report, isatty(STDOUT_FILENO)));
  if (!o.quiet) {
    if (const auto status = warn_of_versions(o.inputs, *store); !status) return Error{status.error()};
    if (const auto missing = missing_shards(*store); !missing.empty())
      warn(fmt::format("nothing of {} {} of {} is here", missing.size() == 1 ? "shard" : "shards", joined(missing), report->shards));
  }
  if (!open->empty())
    warn(fmt::format("{} divergences are not shrunk yet: a shard was stopped early; repeat its run to the end, then merge again",
                     open->size()));
  return !open->empty() || has_news(*report) ? ExitStatus::kDivergence : ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  const auto o = std::make_shared<Options>();
  options.list("INPUT", o->inputs, "campaigns: directories or their campaign.db", false, true);
  options.text("--out", o->out, "directory of the merged campaign; more shards may be merged onto it later", true);
  options.flag("--json", o->json, "print one JSON object, as `run` does");
  options.flag("--quiet", o->quiet, "no warning of shards that are missing or that ran other versions");
  return [o] { return merge(*o); };
}

}  // namespace

extern const Command kMerge;
const Command kMerge = {
    "merge",
    "Join the shards of a campaign; report and exit status as of `run`",
    "  normfuzz merge shard-0 shard-1 shard-2 --out merged\n"
    "  normfuzz merge a/campaign.db b/campaign.db --out merged --json",
    declare,
};

}  // namespace normfuzz
