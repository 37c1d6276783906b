#include "cli/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>

#include "cli/command.h"

namespace normfuzz {
namespace {

// Digits and a sign, nothing else, in the range: CLI11 itself lets -3 wrap around to 2^64 - 3.
template <class Integer>
CLI::Validator whole_number(Integer least, Integer most) {
  const auto check = [=](const std::string& text) {
    Integer value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= least && value <= most) return std::string();
    return "'" + text + "', expected a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  };
  return {check, ""};
}

class CliOptions : public OptionSet {
 public:
  explicit CliOptions(CLI::App& app) : app_(app) {}
  void text(std::string_view name, std::string& value, std::string_view help, bool required) override {
    add(name, value, help)->required(required)->type_name("TEXT")->default_str(value);
  }
  void integer(std::string_view name, std::int64_t& value, std::int64_t least, std::int64_t most, std::string_view help) override {
    add(name, value, help)->check(whole_number(least, most))->type_name("N")->default_str(value ? std::to_string(value) : "");
  }
  void natural(std::string_view name, std::uint64_t& value, std::string_view help) override {
    add(name, value, help)
        ->check(whole_number(std::uint64_t{0}, ~std::uint64_t{0}))
        ->type_name("N")
        ->default_str(value ? std::to_string(value) : "");
  }
  void number(std::string_view name, double& value, std::string_view help) override {
    add(name, value, help)->type_name("NUMBER")->capture_default_str();
  }
  void flag(std::string_view name, bool& value, std::string_view help) override {
    app_.add_flag(std::string(name), value, std::string(help));
  }
  void list(std::string_view name, std::vector<std::string>& value, std::string_view help, bool comma, bool required) override {
    CLI::Option* option = add(name, value, help)->required(required)->type_name("");
    if (name.starts_with("-"))
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->type_name(comma ? "A,B,.." : "TEXT");
    if (comma) option->delimiter(',');
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& choices, std::string_view help) override {
    add(name, value, help)->check(CLI::IsMember(choices))->type_name("")->default_str(value);
  }

 private:
  template <class T>
  CLI::Option* add(std::string_view name, T& value, std::string_view help) {
    return app_.add_option(std::string(name), value, std::string(help));
  }
  CLI::App& app_;
};

// Levenshtein's distance, for "did you mean".
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

int fail(std::string_view message) {
  std::fprintf(stderr, "normfuzz: %.*s\n", static_cast<int>(message.size()), message.data());
  return static_cast<int>(ExitStatus::kUsage);
}

int unknown_command(const std::string& name) {
  const auto& commands = all_commands();
  const auto nearest = *std::min_element(commands.begin(), commands.end(),
                                         [&](const Command* a, const Command* b) { return edits(name, a->name) < edits(name, b->name); });
  // A third of the letters wrong, at most: further away the guess would only mislead.
  const bool near = edits(name, nearest->name) <= std::max<std::size_t>(1, nearest->name.size() / 3);
  return fail("unknown command '" + name + "'" + (near ? ", did you mean '" + std::string(nearest->name) + "'?" : ", see normfuzz --help"));
}

// What the standard output could not take is an error, not silence: a full disk, a closed pipe.
int finish(const Result<ExitStatus>& result) {
  const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (!result) return fail(result.error());
  if (!written) return fail("standard output: cannot write");
  return static_cast<int>(*result);
}

void set_up(CLI::App& app, std::vector<std::pair<CLI::App*, Action>>& actions) {
  app.set_version_flag("--version", "normfuzz " NORMFUZZ_VERSION);
  app.set_help_flag("-h,--help", "Show this help");
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(28);
  app.footer(
      "normfuzz COMMAND --help shows the options of a command, with examples.\n"
      "Exit status: 0 clean, 1 divergence, 2 usage or set-up, 3 internal contradiction, 130 interrupted.");
  for (const Command* command : all_commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command->name), std::string(command->summary));
    if (command->hidden) sub->group("");
    sub->set_help_flag("-h,--help", "Show this help");
    sub->footer("Examples:\n" + std::string(command->examples));
    CliOptions options(*sub);
    actions.emplace_back(sub, command->declare(options));
  }
}

int parse_and_run(int argc, const char* const* argv) {
  if (argc > 1 && argv[1][0] != '-' &&
      std::none_of(all_commands().begin(), all_commands().end(), [&](const Command* c) { return c->name == argv[1]; }))
    return unknown_command(argv[1]);
  CLI::App app("Finds, proves and reports numerical bugs in normalization kernels.", "normfuzz");
  std::vector<std::pair<CLI::App*, Action>> actions;
  set_up(app, actions);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // help, version
    app.exit(e);
    return finish(ExitStatus::kClean);
  } catch (const CLI::ParseError& e) {
    std::string what = e.what(), command;
    for (const auto& [sub, action] : actions) {
      if (!sub->parsed()) continue;
      command = sub->get_name() + " ";
      // A missing argument is reported before a misspelled option, which may be why it is missing.
      if (const auto rest = sub->remaining(); !rest.empty()) what = "unknown option '" + rest.front() + "'";
    }
    return fail(what + " (see normfuzz " + command + "--help)");
  }
  for (const auto& [sub, action] : actions)
    if (sub->parsed()) return finish(action());
  std::fputs(app.help().c_str(), stdout);
  return finish(ExitStatus::kClean);
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& e) {  // nothing here throws on bad input; memory may run out
    return fail(e.what());
  }
}

}  // namespace normfuzz
