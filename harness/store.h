// A campaign on disk: DIR/campaign.db (SQLite). Work is committed block by block, each in one transaction, so that whatever kills the
// process or fills the disk costs at most the block in flight, and a run with the same settings continues exactly where this one stopped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "harness/finding.h"
#include "harness/tally.h"

namespace normfuzz {

// What decides the result of a block. A directory that holds a campaign with other settings is refused, naming what differs.
struct CampaignSettings {
  std::uint64_t seed = 0;
  int generator_version = 0;
  std::uint64_t block_size = 0;                   // block b covers the indices [b B, (b+1) B) of every op and dtype
  int shard = 0, shards = 1;                      // this run does the blocks with b mod shards == shard; kMerged: joined from several
  std::vector<std::string> ops, dtypes, targets;  // compared as sets
  std::string options;                            // everything else that matters, as "name=value ..." text
  static constexpr int kMerged = -1;
  bool operator==(const CampaignSettings&) const = default;
};

struct BlockResult {
  std::uint64_t block = 0;
  Tally tally;
  std::vector<Candidate> candidates;  // any number per rough signature; each with its original's provenance
  double seconds = 0;                 // fuzzing time this block cost
};

class Store {
 public:
  // Creates DIR and DIR/campaign.db, or continues the campaign there. One writer at a time: a second one is refused at once.
  static Result<Store> open(const std::string& directory, const CampaignSettings& settings);
  // An existing campaign, for reports: a directory or the path of a .db file. Works beside a running campaign and on read-only media.
  static Result<Store> open_for_reading(const std::string& path);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const CampaignSettings& settings() const;
  const std::string& path() const;  // of the .db file

  // What is done. A run continues with the smallest block of its shard that is not in here.
  const std::set<std::uint64_t>& blocks() const;
  std::uint64_t next_block() const;
  // All or nothing. A block that is stored already is left alone: nothing is counted twice. After an error (disk full, ...) the block is
  // not stored and the same call may be tried again.
  Status commit_block(const BlockResult& block);

  Result<Tally> tally() const;
  Result<double> seconds() const;
  // One per rough signature: the one with the smallest index (then variant), with the occurrences of all blocks. By index.
  Result<std::vector<Candidate>> candidates() const;

  // Replaces a finding with the same signature.
  Status put_finding(const Finding& finding);
  // By slug.
  Result<std::vector<Finding>> findings() const;
  Status remove_finding(std::string_view signature);

  // Texts that belong to the campaign but decide nothing: "version of cpu", "skipped torch".
  Status put_note(const std::string& name, const std::string& text);
  Result<std::map<std::string, std::string>> notes() const;

  // Joins campaigns of equal settings but for the shard into a new file, or onto one that merge made. The sum equals the
  // unsharded run over the same blocks; blocks that two of them share are counted once; findings whose candidate lost to an earlier one are
  // dropped. Of a note, the first text that is not empty stands; that of a merge made onto where no other campaign has the note.
  static Status merge(std::span<const std::string> inputs, const std::string& output);

 private:
  struct State;
  class Merge;
  static Status merge_into(Store& output, std::span<const Store> inputs, bool onto);
  static Result<Store> open_file(const std::string& path, const CampaignSettings& settings);
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "seed 1, here 2; shard 0/2, here 1/2": empty where equal.
std::string differences(const CampaignSettings& stored, const CampaignSettings& asked);

}  // namespace normfuzz
