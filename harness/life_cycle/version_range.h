// Versions of frameworks, and ranges of them as known.toml and status.json write them: ">=2.15,<2.17".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace normfuzz {

// The numbers of a version: 2.15.0 is {2, 15, 0}. What follows them ("+cpu", "rc1") does not count.
using Version = std::vector<int>;

// The version in what a framework calls itself ("oneDNN 3.13.1 (avx512)", "2.15.0+cpu"): the first word of numbers with dots between them,
// else the first number on its own; nothing where there is none.
std::optional<Version> version_in(std::string_view text);
std::string text_of(const Version& version);  // "2.15.0"

class VersionRange {
 public:
  VersionRange() = default;  // every version
  // "*", or comparisons (>=, >, <=, <, ==) with commas between them, all of which must hold.
  static Result<VersionRange> parse(std::string_view text);
  // Missing numbers are zeros: 2.15 is 2.15.0.
  bool contains(const Version& version) const;
  // Of what a framework calls itself. A text without a version is in no range but "*".
  bool contains(std::string_view text) const;
  const std::string& text() const { return text_; }

 private:
  enum class Comparison { kAtLeast, kAbove, kAtMost, kBelow, kEqual };
  struct Limit {
    Comparison comparison;
    Version version;
  };
  std::string text_ = "*";
  std::vector<Limit> limits_;
};

}  // namespace normfuzz
