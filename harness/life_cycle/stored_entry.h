// BugZoo entries on disk, as their status.json and case.json say (DESIGN.md, 'BugZoo entry').
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "harness/finding.h"

namespace normfuzz {

// status.json.
struct EntryStatus {
  FindingStatus status = FindingStatus::kNew;
  Verdict verdict = Verdict::kContract;
  Signature signature;
  std::vector<std::string> versions;  // that it was seen on
  std::vector<std::string> variants;  // of the target; "default" is the one without a name
  std::string isa;                    // flag of /proc/cpuinfo without which it cannot show; empty: none
  std::string version_range;          // of versions that have what it is about; empty: all
  std::string first_version, first_regime;
  std::uint64_t first_seed = 0, first_index = 0;
};

std::string write_entry_status(const EntryStatus& status);
// An error names the file, the field and what was expected.
Result<EntryStatus> parse_entry_status(std::string_view json, std::string_view name);

struct StoredEntry {
  std::string slug, directory;  // <..>/bugzoo/<slug>
  EntryStatus status;
  Case content;
  bool adopted = false;  // it lies in the corpus
};

Result<StoredEntry> read_entry(const std::string& directory);
// All entries of a folder, by slug; none where there is no such folder.
Result<std::vector<StoredEntry>> read_entries(const std::string& bugzoo);

// Moves OUT/bugzoo/SLUG to BUGZOO/SLUG, with the status known: complete or not at all. Refused where there is one already.
Result<StoredEntry> adopt_entry(const std::string& from, const std::string& bugzoo);

}  // namespace normfuzz
