// `normfuzz merge`: several campaigns into one file (harness/store.h).
#include <algorithm>
#include <filesystem>

#include "harness/finding_json.h"
#include "harness/store_state.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

CampaignSettings without_shard(CampaignSettings s) {
  s.shard = 0;
  return s;
}

void remove_database(const std::string& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) fs::remove(path + suffix, ignored);
}

}  // namespace

// Two databases may hold the same shard (one is an older copy of the other): the longer of their folded runs of blocks contains the other,
// and all other blocks are kept singly, so every block is counted once.
class Store::Merge {
 public:
  explicit Merge(State& into) : into_(into) {}

  Status add_candidates(const State& from) {
    std::vector<std::pair<Candidate, std::string>> better;
    const auto status = from.each_candidate([&](const Candidate& c, const std::string& signature) {
      const ExampleRank rank{ref_of(c.original).index, c.variant};
      const auto [it, fresh] = into_.examples.try_emplace(signature, rank);
      if (!fresh && !(rank < it->second)) return;
      it->second = rank;
      better.emplace_back(c, signature);
    });
    if (!status) return status;
    for (const auto& [candidate, signature] : better)
      if (const auto s = into_.write_candidate(candidate, signature); !s) return s;
    return Unit{};
  }

  void add_sums(const State& from) {
    for (const auto& [shard, total] : from.totals)
      if (total.blocks > into_.totals[shard].blocks) into_.totals[shard] = total;
    for (const auto& [block, part] : from.pending) into_.pending.emplace(block, part);
  }

  Status write_sums() {
    for (auto& [shard, total] : into_.totals) into_.absorb_pending(shard, total);
    std::erase_if(into_.pending, [&](const auto& p) {
      return p.first < into_.first_missing(into_.shard_of(p.first), into_.totals[into_.shard_of(p.first)]);
    });
    for (const auto& [shard, total] : into_.totals)
      if (const auto s = into_.write_total(shard, total); !s) return s;
    for (const auto& [block, part] : into_.pending)
      if (const auto s = into_.write_pending(block, part); !s) return s;
    return Unit{};
  }

  // After all candidates and sums: a finding stands if no earlier case has the same rough signature.
  // It is new if it is so to one input, where another version ran or nobody waived it; what an `overridden` one says of that is outdated.
  void add_finding(Finding f, bool overridden) {
    if (f.status == FindingStatus::kNew && !overridden) news_.try_emplace(f.signature(), f.status_note);
    const std::string rough = f.rough_signature();
    const auto best = std::as_const(into_.examples).find(rough);
    if (best != into_.examples.end() && best->second.first < f.first_index) return;
    if (const std::int64_t n = into_.occurrences(rough); n > 0) f.occurrences = n;
    const auto [it, fresh] = findings_.try_emplace(f.signature(), f);
    if (!fresh && f.first_index < it->second.first_index) it->second = std::move(f);
  }

  // An empty text says that there is nothing to say of one input only. `overridden`: any text of an earlier input, an empty one too, is
  // newer.
  void add_notes(const std::map<std::string, std::string>& notes, bool overridden) {
    for (const auto& [name, text] : notes)
      if (const auto [it, fresh] = notes_.try_emplace(name, text); !fresh && it->second.empty() && !overridden) it->second = text;
  }

  Status write_findings_and_notes() {
    for (auto& [signature, finding] : findings_) {
      if (const auto news = news_.find(signature); news != news_.end()) {
        finding.status = FindingStatus::kNew;
        finding.status_note = news->second;
      }
      if (const auto s = put(into_.database, finding); !s) return s;
    }
    for (const auto& [name, text] : notes_)
      if (const auto s = into_.database.execute("INSERT INTO note VALUES (?1, ?2)", {name, text}); !s) return s;
    return Unit{};
  }

 private:
  State& into_;
  std::map<std::string, Finding> findings_;
  std::map<std::string, std::string> news_, notes_;  // by signature: why it is new; by name
};

// Everything of `inputs` into the empty database of `output`; `onto`: the last one is what an earlier merge made.
Status Store::merge_into(Store& output, std::span<const Store> inputs, bool onto) {
  State& into = *output.state_;
  return into.database.transaction([&]() -> Status {
    Merge merge(into);
    for (const Store& input : inputs) {
      if (const auto s = merge.add_candidates(*input.state_); !s) return s;
      merge.add_sums(*input.state_);
    }
    if (const auto s = merge.write_sums(); !s) return s;
    for (const Store& input : inputs) {
      const bool overridden = onto && &input == &inputs.back();
      auto findings = input.findings();
      if (!findings) return Error{findings.error()};
      for (Finding& f : *findings) merge.add_finding(std::move(f), overridden);
      const auto notes = input.notes();
      if (!notes) return Error{notes.error()};
      merge.add_notes(*notes, overridden);
    }
    return merge.write_findings_and_notes();
  });
}

Status Store::merge(std::span<const std::string> inputs, const std::string& output) {
  std::vector<Store> stores;
  std::error_code error;
  const bool onto = fs::exists(output, error);
  std::vector<std::string> paths(inputs.begin(), inputs.end());
  if (onto) paths.push_back(output);
  for (const std::string& path : paths) {
    auto store = open_for_reading(path);
    if (!store) return Error{store.error()};
    stores.push_back(std::move(*store));
  }
  if (stores.empty()) return Error{output + ": nothing to merge; name at least one campaign.db"};
  if (onto && stores.back().settings().shard != CampaignSettings::kMerged)
    return Error{output + ": is a campaign of its own; choose a new file for the merged one"};
  CampaignSettings settings = stores.front().settings();
  for (const Store& store : stores) {
    const std::string different = differences(without_shard(stores.front().settings()), without_shard(store.settings()));
    if (!different.empty())
      return Error{store.path() + ": cannot be merged with " + stores.front().path() + " (" + different +
                   "); merge shards of one campaign only"};
    if (settings.shards > 1) settings.shard = CampaignSettings::kMerged;  // of one shard too: the others may follow
  }

  const std::string partial = output + ".partial";
  remove_database(partial);
  {
    auto target = open_file(partial, settings);
    Status status = target ? merge_into(*target, stores, onto) : Status(Error{target.error()});
    if (!status) {
      remove_database(partial);
      return status;
    }
  }
  stores.clear();
  fs::rename(partial, output, error);
  remove_database(partial);
  if (error) return Error{output + ": cannot be written: " + error.message()};
  return Unit{};
}

}  // namespace normfuzz
