#include "harness/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace normfuzz {
namespace {

// How long a short lock of a reader or of a checkpoint is waited for.
constexpr int kBusyMilliseconds = 10'000;

class Statement {
 public:
  Statement(sqlite3* handle, std::string_view sql) {
    code_ = sqlite3_prepare_v2(handle, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool bind(std::initializer_list<DatabaseValue> arguments) {
    int at = 0;
    for (const DatabaseValue& value : arguments)
      if (code_ == SQLITE_OK) code_ = bind_one(++at, value);
    return code_ == SQLITE_OK;
  }
  bool step() { return (code_ = sqlite3_step(statement_)) == SQLITE_ROW; }
  bool done() const { return code_ == SQLITE_DONE; }
  sqlite3_stmt* get() { return statement_; }

 private:
  int bind_one(int at, const DatabaseValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement_, at, *integer);
    if (const auto* number = std::get_if<double>(&value)) return sqlite3_bind_double(statement_, at, *number);
    const auto& text = std::get<std::string>(value);
    return sqlite3_bind_text64(statement_, at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
};

// What went wrong and what to do, for the codes that a user can do something about.
std::string reason_of(int code, int system_errno, const char* message) {
  const bool full = code == SQLITE_FULL || (code == SQLITE_IOERR && (system_errno == ENOSPC || system_errno == EDQUOT));
  if (full) return "the disk is full; everything committed before is kept: free some space and run the same command again";
  switch (code) {
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return "not writable; give write permission to the file and its folder, or choose another --out";
    case SQLITE_CANTOPEN:
      return std::string("cannot be opened") + (system_errno ? std::string(" (") + std::strerror(system_errno) + ")" : "") +
             "; check that the folder exists and that you may write there, or choose another --out";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return std::string("damaged (") + message +
             "); move it away and start again, or choose another --out; the entries in bugzoo/ are kept";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "locked by another process; wait until it ends, or choose another --out";
    case SQLITE_IOERR:
      return std::string("the disk refused (") + message + (system_errno ? std::string(", ") + std::strerror(system_errno) : "") +
             "); everything committed before is kept";
    default:
      return message;
  }
}

Error error_of(const std::string& path, std::string_view doing, sqlite3* handle) {
  const int code = handle ? sqlite3_errcode(handle) & 0xff : SQLITE_NOMEM;
  const int system_errno = handle ? sqlite3_system_errno(handle) : 0;
  return {path + ": " + std::string(doing) + ": " + reason_of(code, system_errno, handle ? sqlite3_errmsg(handle) : "out of memory")};
}

// file:PATH?immutable=1: SQLite then looks for no log and no lock, which read-only media cannot have.
std::string immutable_uri(const std::string& path) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '?' || c == '#')
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    else
      uri += c;
  }
  return uri + "?immutable=1";
}

bool has_log(const std::string& path) {
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path + "-wal", ignored);
  return !ignored && bytes > 0;
}

}  // namespace

std::int64_t Database::Row::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Database::Row::number(int column) const { return sqlite3_column_double(statement_, column); }
std::string Database::Row::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))) : std::string();
}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Error Database::error(std::string_view doing) const { return error_of(path_, doing, handle_.get()); }

Result<Database> Database::open_with(const std::string& path, const std::string& name, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  Database database(path, handle);
  if (code != SQLITE_OK) return database.error("open");
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  return database;
}

Result<Database> Database::open(const std::string& path) {
  auto database = open_with(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!database) return database;
  if (sqlite3_db_readonly(database->handle_.get(), "main") == 1) return Error{path + ": open: " + reason_of(SQLITE_READONLY, 0, "")};
  // NORMAL: what is committed survives the death of the process, and a power cut costs the last commits but never the file. FULL waits for
  // the disk at every commit, 100 ms on a busy one (measured), half of what a campaign's block takes.
  for (const char* pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL"})
    if (const auto status = database->query(pragma, {}, [](const Row&) {}); !status) return Error{status.error()};
  return database;
}

Result<Database> Database::open_for_reading(const std::string& path) {
  auto database = open_with(path, path, SQLITE_OPEN_READONLY);
  if (!database) return database;
  const auto readable = database->query("SELECT count(*) FROM sqlite_master", {}, [](const Row&) {});
  if (readable) return database;
  const int code = sqlite3_errcode(database->handle_.get()) & 0xff;
  if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || has_log(path)) return Error{readable.error()};
  return open_with(path, immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

Status Database::execute(std::string_view sql, std::initializer_list<DatabaseValue> arguments) const {
  return query(sql, arguments, [](const Row&) {});
}

Status Database::query(std::string_view sql, std::initializer_list<DatabaseValue> arguments,
                       const std::function<void(const Row&)>& visit) const {
  const bool reading = sql.starts_with("SELECT") || sql.starts_with("PRAGMA");
  const std::string_view doing = reading ? "read" : "write";
  Statement statement(handle_.get(), sql);
  if (!statement.bind(arguments)) return error(doing);
  while (statement.step()) visit(Row(statement.get()));
  if (!statement.done()) return error(doing);
  return Unit{};
}

Status Database::transaction(const std::function<Status()>& work) const { return between("BEGIN IMMEDIATE", work); }
Status Database::snapshot(const std::function<Status()>& work) const { return between("BEGIN", work); }

Status Database::between(std::string_view begin, const std::function<Status()>& work) const {
  Status status = execute(begin);
  if (!status) return status;
  status = work();
  if (status) status = execute("COMMIT");
  // Some errors (a full disk) have rolled back already; then there is nothing left to do.
  if (!status && !sqlite3_get_autocommit(handle_.get())) (void)static_cast<bool>(execute("ROLLBACK"));
  return status;
}

Status Database::verify() const {
  std::string complaint;
  const auto status = query("PRAGMA quick_check(1)", {}, [&](const Row& row) { complaint = row.text(0); });
  if (!status) return status;
  // SQLite does not miss the end of a page that is free; we do, because the file is then not as it was written.
  std::int64_t page = 1;
  if (const auto read = query("PRAGMA page_size", {}, [&](const Row& row) { page = row.integer(0); }); !read) return read;
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path_, ignored);
  if (!ignored && bytes % static_cast<std::uintmax_t>(page) != 0 && !has_log(path_)) complaint = "its last page is cut off";
  if (complaint != "ok") return Error{path_ + ": check: " + reason_of(SQLITE_CORRUPT, 0, complaint.c_str())};
  return Unit{};
}

}  // namespace normfuzz
