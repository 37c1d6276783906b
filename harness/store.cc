#include "harness/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "harness/finding_json.h"
#include "harness/store_state.h"

namespace normfuzz {
namespace {

std::string sorted_list(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

std::string shard_text(const CampaignSettings& s) {
  return s.shard == CampaignSettings::kMerged ? "several of " + std::to_string(s.shards)
                                              : std::to_string(s.shard) + "/" + std::to_string(s.shards);
}

void tell(std::string& out, std::string_view what, const std::string& stored, const std::string& asked) {
  if (stored == asked) return;
  if (!out.empty()) out += "; ";
  out += std::string(what) + " " + (stored.empty() ? "none" : stored) + ", here " + (asked.empty() ? "none" : asked);
}

}  // namespace

std::string differences(const CampaignSettings& stored, const CampaignSettings& asked) {
  std::string out;
  tell(out, "seed", std::to_string(stored.seed), std::to_string(asked.seed));
  tell(out, "generator version", std::to_string(stored.generator_version), std::to_string(asked.generator_version));
  tell(out, "shard", shard_text(stored), shard_text(asked));
  tell(out, "targets", sorted_list(stored.targets), sorted_list(asked.targets));
  tell(out, "ops", sorted_list(stored.ops), sorted_list(asked.ops));
  tell(out, "dtypes", sorted_list(stored.dtypes), sorted_list(asked.dtypes));
  tell(out, "options", stored.options, asked.options);
  tell(out, "block size", std::to_string(stored.block_size), std::to_string(asked.block_size));
  return out;
}

WriterLock::WriterLock(WriterLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
WriterLock::~WriterLock() {
  if (fd_ >= 0) ::close(fd_);
}

// A file of its own: closing a second descriptor of the database would drop the locks that SQLite holds on it.
Result<WriterLock> WriterLock::take(const std::string& database_path) {
  const std::string path = database_path + ".lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return Error{path + ": cannot be created: " + std::strerror(errno) +
                 "; check the folder's permissions and space, or choose another --out"};
  WriterLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    char owner[32] = {};
    const ssize_t n = ::pread(fd, owner, sizeof owner - 1, 0);
    return Error{database_path + ": locked: another normfuzz run" + (n > 0 ? " (process " + std::string(owner) + ")" : "") +
                 " is writing here; wait until it ends, or choose another --out"};
  }
  // Only a hint for that message: on a full disk it stays empty.
  const std::string self = std::to_string(::getpid());
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, self.data(), self.size(), 0) < 0) return lock;
  return lock;
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& directory, const CampaignSettings& settings) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Error{directory + ": cannot be created: " + error.message() + "; choose another --out"};
  return open_file((std::filesystem::path(directory) / "campaign.db").string(), settings);
}

Result<Store> Store::open_file(const std::string& path, const CampaignSettings& settings) {
  auto lock = WriterLock::take(path);
  if (!lock) return Error{lock.error()};
  auto database = Database::open(path);
  if (!database) return Error{database.error()};
  if (const auto status = create_schema(*database, settings); !status) return Error{status.error()};
  auto state = State::load(std::move(*database));
  if (!state) return Error{state.error()};
  const std::string different = differences((*state)->settings, settings);
  if (!different.empty())
    return Error{path + ": holds a campaign with other settings (" + different +
                 "); repeat it with those settings to continue it, or choose another --out"};
  (*state)->lock.emplace(std::move(*lock));
  return Store(std::move(*state));
}

Result<Store> Store::open_for_reading(const std::string& path) {
  std::error_code ignored;
  const bool directory = std::filesystem::is_directory(path, ignored);
  const std::string file = directory ? (std::filesystem::path(path) / "campaign.db").string() : path;
  if (!std::filesystem::exists(file, ignored)) return Error{file + ": no campaign here; make one with `normfuzz run --out DIR`"};
  auto database = Database::open_for_reading(file);
  if (!database) return Error{database.error()};
  if (const auto status = check_schema(*database); !status) return Error{status.error()};
  auto state = State::load(std::move(*database));
  if (!state) return Error{state.error()};
  return Store(std::move(*state));
}

const CampaignSettings& Store::settings() const { return state_->settings; }
const std::string& Store::path() const { return state_->database.path(); }
const std::set<std::uint64_t>& Store::blocks() const { return state_->done; }

std::uint64_t Store::next_block() const {
  const CampaignSettings& s = state_->settings;
  std::uint64_t block = s.shard < 0 ? 0 : static_cast<std::uint64_t>(s.shard);
  while (state_->done.contains(block)) block += static_cast<std::uint64_t>(s.shards);
  return block;
}

Status Store::commit_block(const BlockResult& result) { return state_->commit(result); }

Result<Tally> Store::tally() const {
  Tally sum;
  for (const auto& [shard, total] : state_->totals) sum.merge(total.sum.tally);
  for (const auto& [block, part] : state_->pending) sum.merge(part.tally);
  return sum;
}

Result<double> Store::seconds() const {
  double sum = 0;
  for (const auto& [shard, total] : state_->totals) sum += total.sum.seconds;
  for (const auto& [block, part] : state_->pending) sum += part.seconds;
  return sum;
}

Result<std::vector<Candidate>> Store::candidates() const {
  std::vector<Candidate> out;
  const auto status = state_->each_candidate([&](const Candidate& c, const std::string&) { out.push_back(c); });
  if (!status) return Error{status.error()};
  return out;
}

Status Store::put_finding(const Finding& f) { return put(state_->database, f); }

Result<std::vector<Finding>> Store::findings() const {
  std::vector<Finding> out;
  std::string failed;
  const auto status = state_->database.query("SELECT data, slug FROM finding ORDER BY slug, signature", {}, [&](const Database::Row& row) {
    auto finding = parse_finding(row.text(0), path() + ": finding " + row.text(1));
    if (finding)
      out.push_back(std::move(*finding));
    else
      failed = finding.error();
  });
  if (!status) return Error{status.error()};
  if (!failed.empty()) return Error{failed};
  return out;
}

Status Store::remove_finding(std::string_view signature) {
  return state_->database.execute("DELETE FROM finding WHERE signature = ?1", {std::string(signature)});
}

Status Store::put_note(const std::string& name, const std::string& text) {
  return state_->database.execute("INSERT OR REPLACE INTO note VALUES (?1, ?2)", {name, text});
}

Result<std::map<std::string, std::string>> Store::notes() const {
  std::map<std::string, std::string> out;
  const auto status =
      state_->database.query("SELECT name, text FROM note", {}, [&](const Database::Row& row) { out[row.text(0)] = row.text(1); });
  if (!status) return Error{status.error()};
  return out;
}

}  // namespace normfuzz
