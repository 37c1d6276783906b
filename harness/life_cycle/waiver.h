// Known findings, waived by name: targets/NAME/known.toml, or known.toml beside a plug-in (docs/life-cycle.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/finding.h"
#include "harness/life_cycle/version_range.h"
#include "harness/run/manifest.h"

namespace normfuzz {

struct Waiver {
  using Names = std::optional<std::vector<std::string>>;  // any of them; nullopt: all
  std::string name;
  Names targets, ops, dtypes, laws, classes;
  // Any of these sets, each sorted; one with "*" allows further needs; nullopt: all.
  std::optional<std::vector<std::vector<std::string>>> needs;
  VersionRange versions;
  std::string reason, source;  // both not empty
  std::int64_t count = 1;      // of signatures that it may cover; what is beyond is news
  std::string entry;           // slug in corpus/bugzoo; empty: none
  std::string where;           // "FILE: line N"

  // True if the signature is one of those meant, whatever the version.
  bool names(const Signature& signature) const;
};

// Where the waivers of a target stand: beside its module.
std::string waiver_path(const Target& target);
// The waivers of a file, in its order; none where there is no file. An error names file, line, field and what was expected.
Result<std::vector<Waiver>> read_waivers(const std::string& path);

// The table that would waive this signature from this version on, for a person to complete.
std::string waiver_draft(const Signature& signature, const std::string& slug, const std::string& version);

}  // namespace normfuzz
