// What the files of one BugZoo entry are made from, and their writers; of bugzoo*.cc and of reports that show findings at full length.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/finding.h"
#include "harness/run/manifest.h"

namespace normfuzz {

enum class Shows {
  kNothing,
  kValues,  // elements beyond what is allowed
  kRepeat,  // the same call gives other bits
  kReturn,  // that it does not return: it crashes or hangs
};

struct Entry {
  const Finding& finding;
  Contract contract;                      // that the target declares for this op and dtype
  std::vector<ElementEvidence> elements;  // of the outputs, all of a small case, the offending ones of a large one; in order
  bool all_elements = false;
  std::string label;                               // target or target:variant
  std::map<std::string, std::string> environment;  // of the variant
  std::string requires_cpu;
  std::string folder;         // of the target: repro.cc.in
  std::string python_source;  // that has the target's functions; empty: none
  std::string python;         // interpreter

  // What a program with this one call can show.
  Shows shows() const;
};

struct Programs {
  std::vector<std::pair<std::string, std::string>> files;  // name and content
  std::string why_not;                                     // there is no repro.py
};

// `targets`: the manifests in `targets_directory`. The entry points at the finding.
Entry entry_of(const Finding& f, const std::vector<Target>& targets, const std::string& targets_directory);

struct Law {
  std::string theorem;  // as a sentence
  std::string lean;     // name of the theorem in its source; empty: the project's own
  std::string proves, does_not_prove;
};
Law law_of(const Finding& f);

// "0.992" with its hexadecimal form; specials by name.
std::string number_text(double v);

std::string readme_text(const Entry& e, const Programs& programs);
std::string status_text(const Entry& e);
std::string lean_text(const Entry& e);

// What the reader should know first, and the version that it was seen with: one line each; both as lines of comment.
std::string title_of(const Entry& e);
std::string seen_with(const Entry& e);
std::string title_lines(const Entry& e, std::string_view comment);
// `directory` is the entry's own, for files on the way.
Programs repro_programs(const Entry& e, const std::string& directory);
std::optional<std::string> cpp_program(const Entry& e);
Result<std::string> python_program(const Entry& e, const std::string& directory);

}  // namespace normfuzz
