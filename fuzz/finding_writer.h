// A driver's finding: told to the person who watches, and left as a BugZoo entry.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/examine.h"
#include "harness/run/manifest.h"

namespace normfuzz::fuzzing {

class FindingWriter {
 public:
  // Entries go to <out>/bugzoo/<slug>/; <out>/seen/ remembers which divergences have one, also for other processes. <out> "none":
  // no entries.
  FindingWriter(std::string out, std::string family, TargetChoice choice, std::string version);

  // Shrinks and explains what has no entry yet, in processes of its own, within seconds; prints it in any case.
  void report(const Case& c, const Examination& e, std::span<const std::uint8_t> bytes, std::int64_t number);

 private:
  std::string entry_of(const Case& c, const Examination& e, std::span<const std::uint8_t> bytes) const;

  const std::string out_, family_;
  const TargetChoice choice_;
  const std::string version_;
};

}  // namespace normfuzz::fuzzing
