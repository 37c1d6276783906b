#include "cli/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "core/hex_float.h"
#include "harness/run/paths.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

// A lost worker costs a quarter of a worker's share, and the last ones to finish do not leave the others idle for long.
constexpr std::int64_t kShardsPerWorker = 4;

using Resources = std::map<std::string, std::map<std::string, double>>;  // target -> name -> amount

// "cuda=GPU:1"
Status add_resource(const std::string& text, const CampaignOptions& campaign, Resources& resources) {
  const std::size_t equals = text.find('='), colon = text.rfind(':');
  double amount = 0;
  bool whole = equals != std::string::npos && colon != std::string::npos && equals + 1 < colon;
  if (whole) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, amount);
    whole = error == std::errc{} && stop == end && amount > 0;
  }
  if (!whole) return Error{"--resources: " + in_quotes(text) + ", expected TARGET=NAME:AMOUNT such as cuda=GPU:1"};
  const std::string target = text.substr(0, equals);
  if (std::none_of(campaign.targets.begin(), campaign.targets.end(), [&](const TargetChoice& t) { return t.target.name == target; }))
    return Error{"--resources: " + in_quotes(target) + " is none of the targets of this campaign"};
  resources[target][text.substr(equals + 1, colon - equals - 1)] = amount;
  return Unit{};
}

// What the manifests say, and what the command line says otherwise.
Result<Resources> resources_of(const EngineOptions& engine, const CampaignOptions& campaign) {
  Resources resources;
  for (const TargetChoice& t : campaign.targets)
    for (const auto& [name, amount] : t.target.resources) resources[t.target.name][name] = amount;
  for (const std::string& text : engine.resources)
    if (const auto status = add_resource(text, campaign, resources); !status) return Error{status.error()};
  return resources;
}

struct Parts {
  std::int64_t workers = 0, shards = 0;
};

Result<Parts> parts_of(const EngineOptions& engine, const CampaignOptions& campaign) {
  const char* address = std::getenv("RAY_ADDRESS");
  Parts parts{engine.workers, engine.shards};
  if (address == nullptr || *address == '\0') {
    const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
    if (parts.workers == 0) parts.workers = std::max<std::int64_t>(1, cores / campaign.jobs);
    if (parts.shards == 0) parts.shards = kShardsPerWorker * parts.workers;
  } else if (parts.shards == 0) {
    return Error{"--shards: needed with the cluster of RAY_ADDRESS; a few per core, the same number whenever the campaign is continued"};
  }
  if (parts.shards < 2) return Error{"--shards: 1, expected at least 2; one part is a plain run, without --engine"};
  return parts;
}

// The merged campaign goes where a run's goes: nothing else may be there. The shards themselves are checked by their runs.
Status check_output(const CampaignOptions& campaign, std::int64_t shards) {
  if (!fs::exists(campaign.out + "/campaign.db")) return Unit{};
  const auto store = Store::open_for_reading(campaign.out);
  if (!store) return Error{store.error()};
  CampaignSettings asked = settings_of(campaign);
  asked.shard = CampaignSettings::kMerged;
  asked.shards = static_cast<int>(shards);
  const std::string different = differences(store->settings(), asked);
  if (different.empty()) return Unit{};
  return Error{store->path() + ": holds a campaign with other settings (" + different +
               "); repeat it with those settings to continue it, or choose another --out"};
}

Result<std::string> python_of_ray(const std::string& folder) {
  std::ifstream file(folder + "/ray_python.txt");
  std::string python;
  std::getline(file, python);
  std::error_code error;
  if (python.empty() || !fs::exists(python, error)) return Error{"--engine ray: Ray is not set up; run ./normfuzz setup ray"};
  return python;
}

Error execute(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return Error{arguments[0] + ": cannot be started: " + std::strerror(errno)};
}

}  // namespace

void declare_engine(OptionSet& options, EngineOptions& engine) {
  options.choice("--engine", engine.engine, {"ray"}, "run the campaign as shards on Ray: here, or on the cluster of RAY_ADDRESS");
  options.integer("--workers", engine.workers, 1, 100000, "with --engine: shards at a time (default: cores over --jobs)");
  options.integer("--shards", engine.shards, 1, 1000000, "with --engine: parts of the campaign (default: 4 for each worker)");
  options.list("--resources", engine.resources, "with --engine: what a shard with this target needs, as cuda=GPU:1", true);
}

Status check_engine(const EngineOptions& engine) {
  const char* option = engine.workers > 0          ? "--workers"
                       : engine.shards > 0         ? "--shards"
                       : !engine.resources.empty() ? "--resources"
                                                   : nullptr;
  if (engine.engine.empty() && option != nullptr) return Error{std::string(option) + ": needs --engine ray"};
  return Unit{};
}

Error run_on_engine(const EngineOptions& engine, const CampaignOptions& campaign, const std::vector<std::string>& run_arguments, bool json,
                    bool quiet) {
  if (campaign.shards > 1) return Error{"--shard: --engine ray makes the shards itself; say how many with --shards"};
  const auto parts = parts_of(engine, campaign);
  if (!parts) return Error{parts.error()};
  const auto resources = resources_of(engine, campaign);
  if (!resources) return Error{resources.error()};
  const std::string folder = worker_directory() + "/engine";
  const auto python = python_of_ray(folder);
  if (!python) return Error{python.error()};
  if (const auto status = check_output(campaign, parts->shards); !status) return Error{status.error()};
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  std::vector<std::string> arguments = {*python,
                                        "-I",
                                        folder + "/ray_engine.py",
                                        "--program",
                                        program,
                                        "--out",
                                        fs::absolute(campaign.out).string(),
                                        "--shards",
                                        std::to_string(parts->shards),
                                        "--workers",
                                        std::to_string(parts->workers),
                                        "--jobs",
                                        std::to_string(campaign.jobs)};
  if (campaign.seconds > 0) arguments.insert(arguments.end(), {"--seconds", fmt::format("{}", campaign.seconds)});
  for (const auto& [target, amounts] : *resources)
    for (const auto& [name, amount] : amounts) arguments.insert(arguments.end(), {"--resource", fmt::format("{}:{}", name, amount)});
  if (json) arguments.emplace_back("--json");
  if (quiet || json) arguments.emplace_back("--quiet");
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), run_arguments.begin(), run_arguments.end());
  return execute(arguments);
}

}  // namespace normfuzz
