// What store.cc and store_merge.cc share: the tables and their picture in memory. Private to the store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/database.h"
#include "harness/store.h"

namespace normfuzz {

// Held while a campaign writes; the system lets go of it however the process ends.
class WriterLock {
 public:
  static Result<WriterLock> take(const std::string& database_path);
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

 private:
  explicit WriterLock(int fd) : fd_(fd) {}
  int fd_;
};

// What one block or many together contribute.
struct BlockSum {
  Tally tally;
  std::map<std::string, std::int64_t> occurrences;  // rough signature -> count
  double seconds = 0;
  void merge(const BlockSum& other);
};

// So many blocks of a shard that follow without a gap are folded into its sum at once. Rewriting a sum of 90 kB (3 targets, 2 ops, 4
// dtypes, 7 rungs) with every block cost 20 ms of processor time, a good part of what a block takes.
inline constexpr std::uint64_t kFoldedBlocks = 64;

// A shard's blocks shard, shard + shards, ... without a gap, as one sum: the file stays small however long the campaign runs.
struct ShardTotal {
  std::uint64_t blocks = 0;
  BlockSum sum;
};

// Which example a rough signature keeps: the smallest index, then the smallest variant.
using ExampleRank = std::pair<std::uint64_t, std::string>;

// Blocks that are not folded yet, for instance behind a gap that another thread is still working on, are kept singly.
struct Store::State {
  Database database;
  std::optional<WriterLock> lock;
  CampaignSettings settings;
  std::map<int, ShardTotal> totals;
  std::map<std::uint64_t, BlockSum> pending;
  std::map<std::string, ExampleRank> examples;  // of the candidate table
  std::set<std::uint64_t> done;

  explicit State(Database d) : database(std::move(d)) {}
  static Result<std::unique_ptr<State>> load(Database database);
  Status load_settings();
  Status load_sums();
  Status load_examples();
  void find_done();

  std::uint64_t shards() const { return static_cast<std::uint64_t>(settings.shards); }
  int shard_of(std::uint64_t block) const { return static_cast<int>(block % shards()); }
  std::uint64_t first_missing(int shard, const ShardTotal& total) const {
    return static_cast<std::uint64_t>(shard) + total.blocks * shards();
  }
  bool contains(std::uint64_t block) const { return done.contains(block); }
  std::int64_t occurrences(const std::string& signature) const;
  // In order of the index; with the occurrences of all blocks.
  Status each_candidate(const std::function<void(const Candidate&, const std::string& signature)>& visit) const;
  // Adds the waiting blocks that now follow without a gap; they stay in `pending` until the caller drops them.
  void absorb_pending(int shard, ShardTotal& total) const;

  Status commit(const BlockResult& result);
  void fold(int shard);
  Status write_total(int shard, const ShardTotal& total);
  Status write_pending(std::uint64_t block, const BlockSum& part);
  Status write_candidate(const Candidate& candidate, const std::string& signature);
};

Status create_schema(const Database& database, const CampaignSettings& settings);
Status check_schema(const Database& database);
Status put(const Database& database, const Finding& finding);

}  // namespace normfuzz
