// A command of the program: its options, bound to variables, and what it does. The parser behind it stays in command_line.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace normfuzz {

// DESIGN.md, 'Command line'. An Error is kUsage.
enum class ExitStatus : std::uint8_t { kClean = 0, kDivergence = 1, kUsage = 2, kContradiction = 3, kInterrupted = 130 };

// Options of one command. What is bound must live as long as the command's action; defaults are what the variables hold now.
// `name` is "--long"; a positional one has no dashes: "FILE".
class OptionSet {
 public:
  virtual ~OptionSet() = default;
  virtual void text(std::string_view name, std::string& value, std::string_view help, bool required = false) = 0;
  virtual void integer(std::string_view name, std::int64_t& value, std::int64_t least, std::int64_t most, std::string_view help) = 0;
  virtual void natural(std::string_view name, std::uint64_t& value, std::string_view help) = 0;
  virtual void number(std::string_view name, double& value, std::string_view help) = 0;
  virtual void flag(std::string_view name, bool& value, std::string_view help) = 0;
  // May be repeated; `comma`: also "a,b".
  virtual void list(std::string_view name, std::vector<std::string>& value, std::string_view help, bool comma, bool required = false) = 0;
  virtual void choice(std::string_view name, std::string& value, const std::vector<std::string>& choices, std::string_view help) = 0;
};

using Action = std::function<Result<ExitStatus>()>;

struct Command {
  std::string_view name, summary;
  std::string_view examples;              // shown by --help, one a line
  Action (*declare)(OptionSet& options);  // declares the options and returns what runs with their values
  bool hidden = false;                    // not listed by --help
};

// Every command, in the order of the help. Adding one: a file in cli/ and a line in commands.cc.
const std::vector<const Command*>& all_commands();

}  // namespace normfuzz
