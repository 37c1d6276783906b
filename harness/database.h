// SQLite in the few words that the store needs. Every error is one line: the file, what was being done, what went wrong, what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace normfuzz {

using DatabaseValue = std::variant<std::int64_t, double, std::string>;

class Database {
 public:
  // Of one result of a query; columns from 0.
  class Row {
   public:
    explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
    std::int64_t integer(int column) const;
    double number(int column) const;
    std::string text(int column) const;

   private:
    sqlite3_stmt* statement_;
  };

  // For writing: creates the file where there is none; write-ahead log.
  static Result<Database> open(const std::string& path);
  // Never writes; works beside a writer and on read-only media.
  static Result<Database> open_for_reading(const std::string& path);
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  // One statement with its arguments for ?1, ?2, ...
  Status execute(std::string_view sql, std::initializer_list<DatabaseValue> arguments = {}) const;
  Status query(std::string_view sql, std::initializer_list<DatabaseValue> arguments, const std::function<void(const Row&)>& visit) const;
  // All of `work` or nothing of it.
  Status transaction(const std::function<Status()>& work) const;
  // Several queries of one moment, although another process may commit between them.
  Status snapshot(const std::function<Status()>& work) const;
  // Reads every page: finds a truncated or overwritten file.
  Status verify() const;

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  static Result<Database> open_with(const std::string& path, const std::string& name, int flags);
  Status between(std::string_view begin, const std::function<Status()>& work) const;
  Error error(std::string_view doing) const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace normfuzz
