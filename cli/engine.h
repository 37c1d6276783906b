// normfuzz run --engine ray: the campaign in shards on many cores or machines (harness/scale/ray_engine.py), docs/scale.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "harness/campaign.h"

namespace normfuzz {

struct EngineOptions {
  std::string engine;
  std::int64_t workers = 0, shards = 0;  // 0: chosen here
  std::vector<std::string> resources;    // "TARGET=NAME:AMOUNT"
};

void declare_engine(OptionSet& options, EngineOptions& engine);

// Options of an engine without one.
Status check_engine(const EngineOptions& engine);

// Replaces this process by the driver, whose exit status is that of a plain run; returns only with an error. `run_arguments`: of `normfuzz
// run` for each shard, without --shard, --time and --out.
Error run_on_engine(const EngineOptions& engine, const CampaignOptions& campaign, const std::vector<std::string>& run_arguments, bool json,
                    bool quiet);

}  // namespace normfuzz
