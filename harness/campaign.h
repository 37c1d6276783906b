// The main job: generate -> run -> judge over a budget, block by block into the store; then shrink, explain and write what was found.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/finding.h"
#include "harness/generate/generator.h"
#include "harness/run/worker.h"
#include "harness/store.h"

namespace normfuzz {

// Indices per block: a block holds this many cases of every op and dtype, and is what a crash of the campaign itself can lose.
inline constexpr std::uint64_t kBlockIndices = 16;

struct Progress {
  double seconds = 0, budget_seconds = 0;    // 0: no time budget
  std::int64_t cases = 0, budget_cases = 0;  // outcomes over all targets; generated cases
  std::int64_t generated = 0;
  std::size_t candidates = 0;  // rough signatures so far
  std::string phase;           // "fuzzing", "shrinking torch layer_norm f16 ..."
};

struct CampaignOptions {
  std::uint64_t seed = 1;
  std::vector<std::string> ops;  // empty: all
  std::vector<DType> dtypes;     // empty: all
  std::vector<TargetChoice> targets;
  GeneratorOptions generator;
  double seconds = 0;       // fuzzing time; 0 with cases = 0: until stopped
  std::uint64_t cases = 0;  // generated cases, rounded up to whole blocks
  int jobs = 2;             // threads, each with workers of its own
  int shard = 0, shards = 1;
  std::string out = "out";
  double case_seconds = 10;
  std::uint64_t properties = 4;                   // every so many-th index is put to a property; 0: none
  std::function<void(const Progress&)> progress;  // called from one thread at a time
  const std::atomic<bool>* stop = nullptr;        // set: finish the blocks in flight, save, return
};

struct CampaignOutcome {
  bool interrupted = false;
  std::string contradiction;                                  // of filter and MPFR: exit status 3
  double seconds = 0;                                         // this run's fuzzing time
  std::vector<std::pair<std::string, std::string>> versions;  // label, version of the targets that ran
  std::vector<std::pair<std::string, std::string>> failed;    // label, why its worker could not start
};

// Fuzzes within the budget and commits every block. An error is about the store or the options, never about a target.
Result<CampaignOutcome> fuzz(Store& store, const CampaignOptions& options);

// Shrinks and explains the stored candidates that have no finding yet and stores the findings; `written` is called with each new one (the
// caller writes its BugZoo entry). A finding of an earlier run gets the occurrences of all blocks, or makes room for one of a smaller case
// of its rough signature. Shrinks no more when options.stop is set: the rest is done by the next run on the same directory.
Status conclude(Store& store, const CampaignOptions& options, const CampaignOutcome& outcome,
                const std::function<Status(const Finding&)>& written);

// Starts every target once, in sequence, so that a target that cannot start is named before the campaign and not in each block. The
// options with those that did; an error if there are none.
Result<CampaignOptions> start_targets(const CampaignOptions& options, CampaignOutcome& outcome);
WorkerLimits worker_limits_of(const CampaignOptions& options);

// What an examination that found something leaves for later.
Candidate candidate_of(const TargetChoice& choice, const Case& c, const Examination& e);
// One per rough signature, the first one; the others are counted.
void keep_candidate(Candidate candidate, std::vector<Candidate>& kept);

CampaignSettings settings_of(const CampaignOptions& options);

}  // namespace normfuzz
