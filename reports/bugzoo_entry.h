// What the files of one BugZoo entry are made from, and their writers; of bugzoo*.cc and of reports that show findings at full length.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/finding.h"
#include "harness/run/manifest.h"

namespace normfuzz {

struct Entry {
  const Finding& finding;
  Contract contract;                      // that the target declares for this op and dtype
  std::vector<ElementEvidence> elements;  // of the outputs, all of a small case, the offending ones of a large one; in order
  bool all_elements = false;
  std::string label;                               // target or target:variant
  std::map<std::string, std::string> environment;  // of the variant
  std::string requires_cpu;
  std::string templates;  // folder with repro.cc.in, repro.py.in
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

std::string readme_text(const Entry& e);
std::string status_text(const Entry& e);
std::string lean_text(const Entry& e);
// True if the templates of targets know the op: the forward maps of trailing rows. The others are reproduced by normfuzz itself.
bool template_covers(const Case& c);
// File name and content of each program.
std::vector<std::pair<std::string, std::string>> repro_programs(const Entry& e);

}  // namespace normfuzz
