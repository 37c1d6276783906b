#include "harness/store_state.h"

#include "core/case_io.h"
#include "harness/finding_json.h"
#include "harness/record.h"

namespace normfuzz {
namespace {

constexpr std::int64_t kApplicationId = 0x4e46555a;  // "NFUZ" in SQLite's header: whose file it is
constexpr std::int64_t kSchemaVersion = 1;

constexpr std::string_view kTables[] = {
    "CREATE TABLE campaign (id INTEGER PRIMARY KEY CHECK (id = 1), settings TEXT NOT NULL)",
    "CREATE TABLE shard (shard INTEGER PRIMARY KEY, blocks INTEGER NOT NULL, tally TEXT NOT NULL, occurrences TEXT NOT NULL, seconds REAL "
    "NOT "
    "NULL)",
    "CREATE TABLE pending (block INTEGER PRIMARY KEY, tally TEXT NOT NULL, occurrences TEXT NOT NULL, seconds REAL NOT NULL)",
    "CREATE TABLE candidate (signature TEXT PRIMARY KEY, seed INTEGER, idx INTEGER NOT NULL, target TEXT NOT NULL, variant TEXT NOT NULL, "
    "verdict INTEGER NOT NULL, law TEXT NOT NULL, failure INTEGER NOT NULL, example TEXT NOT NULL)",
    "CREATE TABLE finding (signature TEXT PRIMARY KEY, slug TEXT NOT NULL, status TEXT NOT NULL, data TEXT NOT NULL)",
    "CREATE TABLE note (name TEXT PRIMARY KEY, text TEXT NOT NULL)",
};

Result<std::int64_t> single_integer(const Database& database, std::string_view sql) {
  std::int64_t value = 0;
  const auto status = database.query(sql, {}, [&](const Database::Row& row) { value = row.integer(0); });
  if (!status) return Error{status.error()};
  return value;
}

std::string write_occurrences(const std::map<std::string, std::int64_t>& occurrences) {
  RecordWriter out;
  for (const auto& [signature, count] : occurrences) out.integer(signature, count);
  return out.finish();
}

Status read_occurrences(const std::string& json, const std::string& name, std::map<std::string, std::int64_t>& out) {
  const auto document = JsonDocument::parse(json, name);
  if (!document) return Error{document.error()};
  RecordReader in(name);
  JsonValue v = document->root();
  if (v.kind() != JsonKind::kObject) return Error{name + ": " + v.describe() + ", expected an object"};
  const std::int64_t count = v.count();
  for (std::int64_t i = 0; i < count; ++i) {
    v = i == 0 ? v.first() : v.next();
    if (v.kind() != JsonKind::kInteger) return Error{name + ": " + v.describe() + ", expected a count"};
    out[std::string(v.key())] = v.integer();
  }
  return Unit{};
}

// The last three columns of `shard` and `pending`, from `column` on.
Status read_sum(const Database::Row& row, int column, const std::string& name, BlockSum& sum) {
  auto tally = parse_tally(row.text(column), name + ": tally");
  if (!tally) return Error{tally.error()};
  sum.tally = std::move(*tally);
  sum.seconds = row.number(column + 2);
  return read_occurrences(row.text(column + 1), name + ": occurrences", sum.occurrences);
}

ExampleRank rank_of(const Candidate& c) { return {ref_of(c.original).index, c.variant}; }

}  // namespace

void BlockSum::merge(const BlockSum& other) {
  tally.merge(other.tally);
  for (const auto& [signature, count] : other.occurrences) occurrences[signature] += count;
  seconds += other.seconds;
}

Status check_schema(const Database& database) {
  if (const auto status = database.verify(); !status) return status;
  const auto id = single_integer(database, "PRAGMA application_id");
  if (!id) return Error{id.error()};
  if (*id != kApplicationId) return Error{database.path() + ": not a campaign of normfuzz; choose another --out"};
  const auto version = single_integer(database, "PRAGMA user_version");
  if (!version) return Error{version.error()};
  if (*version != kSchemaVersion)
    return Error{database.path() + ": schema version " + std::to_string(*version) + ", this program reads " +
                 std::to_string(kSchemaVersion) + "; use the program that wrote it, or choose another --out"};
  return Unit{};
}

Status create_schema(const Database& database, const CampaignSettings& settings) {
  if (const auto status = database.verify(); !status) return status;
  const auto tables = single_integer(database, "SELECT count(*) FROM sqlite_master");
  if (!tables) return Error{tables.error()};
  if (*tables > 0) return check_schema(database);
  return database.transaction([&]() -> Status {
    for (const std::string_view sql : kTables)
      if (const auto status = database.execute(sql); !status) return status;
    if (const auto status = database.execute("PRAGMA application_id = " + std::to_string(kApplicationId)); !status) return status;
    if (const auto status = database.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion)); !status) return status;
    return database.execute("INSERT INTO campaign VALUES (1, ?1)", {write_settings(settings)});
  });
}

Status put(const Database& database, const Finding& f) {
  return database.execute("INSERT OR REPLACE INTO finding VALUES (?1, ?2, ?3, ?4)",
                          {f.signature(), f.slug, std::string(name_of(f.status)), write_finding(f)});
}

Result<std::unique_ptr<Store::State>> Store::State::load(Database database) {
  auto state = std::make_unique<State>(std::move(database));
  // One picture, although another process may commit between the queries.
  const auto status = state->database.snapshot([&]() -> Status {
    if (const auto s = state->load_settings(); !s) return s;
    if (const auto s = state->load_sums(); !s) return s;
    return state->load_examples();
  });
  if (!status) return Error{status.error()};
  state->find_done();
  return state;
}

Status Store::State::load_settings() {
  std::string text;
  const auto status = database.query("SELECT settings FROM campaign", {}, [&](const Database::Row& row) { text = row.text(0); });
  if (!status) return status;
  auto read = parse_settings(text, database.path() + ": settings");
  if (!read) return Error{read.error()};
  settings = std::move(*read);
  if (settings.shards < 1)
    return Error{database.path() + ": settings: shards " + std::to_string(settings.shards) + ", expected at least 1"};
  return Unit{};
}

Status Store::State::load_sums() {
  Status failed = Unit{};
  Status status = database.query("SELECT shard, blocks, tally, occurrences, seconds FROM shard", {}, [&](const Database::Row& row) {
    ShardTotal& total = totals[static_cast<int>(row.integer(0))];
    total.blocks = static_cast<std::uint64_t>(row.integer(1));
    if (const auto s = read_sum(row, 2, database.path() + ": shard " + row.text(0), total.sum); !s) failed = s;
  });
  if (!status || !failed) return status ? failed : status;
  status = database.query("SELECT block, tally, occurrences, seconds FROM pending", {}, [&](const Database::Row& row) {
    const auto s = read_sum(row, 1, database.path() + ": block " + row.text(0), pending[static_cast<std::uint64_t>(row.integer(0))]);
    if (!s) failed = s;
  });
  return status ? failed : status;
}

Status Store::State::load_examples() {
  return database.query("SELECT signature, idx, variant FROM candidate", {}, [&](const Database::Row& row) {
    examples[row.text(0)] = {static_cast<std::uint64_t>(row.integer(1)), row.text(2)};
  });
}

void Store::State::find_done() {
  for (const auto& [shard, total] : totals)
    for (std::uint64_t i = 0; i < total.blocks; ++i) done.insert(static_cast<std::uint64_t>(shard) + i * shards());
  for (const auto& [block, part] : pending) done.insert(block);
}

std::int64_t Store::State::occurrences(const std::string& signature) const {
  std::int64_t sum = 0;
  const auto add = [&](const BlockSum& part) {
    if (const auto it = part.occurrences.find(signature); it != part.occurrences.end()) sum += it->second;
  };
  for (const auto& [shard, total] : totals) add(total.sum);
  for (const auto& [block, part] : pending) add(part);
  return sum;
}

Status Store::State::each_candidate(const std::function<void(const Candidate&, const std::string&)>& visit) const {
  Status failed = Unit{};
  const auto status =
      database.query("SELECT signature, target, variant, verdict, law, failure, example FROM candidate ORDER BY idx, signature", {},
                     [&](const Database::Row& row) {
                       const std::string signature = row.text(0);
                       auto example = parse_case(row.text(6), database.path() + ": candidate " + signature);
                       if (example)
                         visit({row.text(1), row.text(2), std::move(*example), static_cast<Verdict>(row.integer(3)), row.text(4),
                                static_cast<FailureClass>(row.integer(5)), occurrences(signature)},
                               signature);
                       else
                         failed = Error{example.error()};
                     });
  return status ? failed : status;
}

Status Store::State::write_total(int shard, const ShardTotal& total) {
  return database.execute("INSERT OR REPLACE INTO shard VALUES (?1, ?2, ?3, ?4, ?5)",
                          {std::int64_t{shard}, static_cast<std::int64_t>(total.blocks), write_tally(total.sum.tally),
                           write_occurrences(total.sum.occurrences), total.sum.seconds});
}

Status Store::State::write_pending(std::uint64_t block, const BlockSum& part) {
  return database.execute("INSERT INTO pending VALUES (?1, ?2, ?3, ?4)",
                          {static_cast<std::int64_t>(block), write_tally(part.tally), write_occurrences(part.occurrences), part.seconds});
}

Status Store::State::write_candidate(const Candidate& c, const std::string& signature) {
  const CaseRef ref = ref_of(c.original);
  return database.execute("INSERT OR REPLACE INTO candidate VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                          {signature, static_cast<std::int64_t>(ref.seed), static_cast<std::int64_t>(ref.index), c.target, c.variant,
                           static_cast<std::int64_t>(c.verdict), c.law, static_cast<std::int64_t>(c.failure), write_case(c.original)});
}

void Store::State::absorb_pending(int shard, ShardTotal& total) const {
  for (auto it = pending.find(first_missing(shard, total)); it != pending.end(); it = pending.find(first_missing(shard, total))) {
    total.sum.merge(it->second);
    ++total.blocks;
  }
}

// Failing (a full disk) loses nothing: the blocks are stored singly, and the next commit tries again.
void Store::State::fold(int shard) {
  ShardTotal total = totals[shard];
  absorb_pending(shard, total);
  if (total.blocks < totals[shard].blocks + kFoldedBlocks) return;
  const std::uint64_t missing = first_missing(shard, total);
  const auto status = database.transaction([&]() -> Status {
    const auto s = database.execute("DELETE FROM pending WHERE block < ?1 AND block % ?2 = ?3",
                                    {static_cast<std::int64_t>(missing), std::int64_t{settings.shards}, std::int64_t{shard}});
    return s ? write_total(shard, total) : s;
  });
  if (!status) return;
  totals[shard] = std::move(total);
  std::erase_if(pending, [&](const auto& entry) { return shard_of(entry.first) == shard && entry.first < missing; });
}

Status Store::State::commit(const BlockResult& result) {
  if (contains(result.block)) return Unit{};
  const int shard = shard_of(result.block);
  if (settings.shard >= 0 && shard != settings.shard)
    return Error{database.path() + ": block " + std::to_string(result.block) + " belongs to shard " + std::to_string(shard) +
                 ", this campaign is shard " + std::to_string(settings.shard) + "/" + std::to_string(settings.shards)};
  BlockSum part{result.tally, {}, result.seconds};
  std::map<std::string, const Candidate*> best;
  for (const Candidate& c : result.candidates) {
    const std::string signature = c.rough_signature();
    part.occurrences[signature] += c.occurrences;
    const Candidate*& kept = best[signature];
    if (!kept || rank_of(c) < rank_of(*kept)) kept = &c;
  }
  std::erase_if(best, [&](const auto& entry) {
    const auto it = examples.find(entry.first);
    return it != examples.end() && !(rank_of(*entry.second) < it->second);
  });

  const auto status = database.transaction([&]() -> Status {
    for (const auto& [signature, candidate] : best)
      if (const auto s = write_candidate(*candidate, signature); !s) return s;
    return write_pending(result.block, part);
  });
  if (!status) return status;
  // Only now, when it is on the disk, does the picture in memory follow.
  pending.emplace(result.block, std::move(part));
  for (const auto& [signature, candidate] : best) examples[signature] = rank_of(*candidate);
  done.insert(result.block);
  if (pending.size() >= kFoldedBlocks) fold(shard);
  return Unit{};
}

}  // namespace normfuzz
