// A finding: a divergence with its shrunk case, what it proves, and its life cycle (PROTOCOLS.md, 'Signature of a finding').
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case.h"
#include "harness/examine.h"

namespace normfuzz {

// What one campaign saw before shrinking: the smallest index of each rough signature is kept.
struct Candidate {
  std::string target, variant;  // label = target or target:variant
  Case original;                // with provenance
  Verdict verdict;
  std::string law;
  FailureClass failure = FailureClass::kNone;
  std::int64_t occurrences = 1;
  // target op dtype law class: candidates that agree here are shrunk once (per variant set).
  std::string rough_signature() const;
};

enum class FindingStatus { kNew, kKnown, kFixed };
inline constexpr std::size_t kFindingStatuses = static_cast<std::size_t>(FindingStatus::kFixed) + 1;
std::string_view name_of(FindingStatus s);  // "new", "known", "fixed"

// What makes two findings one, on any version and variant of the target and in any run.
struct Signature {
  std::string target, op;
  DType dtype = DType::kF32;
  std::string law;
  FailureClass failure = FailureClass::kNone;
  std::vector<std::string> needs;  // sorted
  // target op dtype law class [needs]
  std::string text() const;
  bool operator==(const Signature&) const = default;
};

struct Finding {
  std::string slug;  // file name: target-op-dtype-law-class-needs
  std::string target, variant, version;
  std::vector<std::string> variants;  // of the target, that show the same signature
  std::string op, law;
  DType dtype = DType::kF32;
  Verdict verdict = Verdict::kContract;
  FailureClass failure = FailureClass::kNone;
  std::vector<std::string> needs;  // sorted: "bias", "columns", "epsilon", "mean offset", ...
  std::string explanation;         // one sentence
  std::string admitted_by;         // weakest contract that would admit the output, "consistent with folded affine"; empty: none
  std::string bug_family;          // "one-pass variance", ...: heading of the BugZoo entry
  Case shrunk;                     // provenance: where it came from
  Judgement judgement;             // of the shrunk case
  Outcome outcome;
  std::int64_t occurrences = 0;
  std::uint64_t first_seed = 0, first_index = 0;
  std::string first_regime;
  FindingStatus status = FindingStatus::kNew;
  std::string status_note;  // why it has this status, where there is something to say: the waiver, or why one does not apply

  Signature parts() const { return {target, op, dtype, law, failure, needs}; }
  std::string signature() const { return parts().text(); }
  // Of the candidates that it can come from.
  std::string rough_signature() const;
};

// The signature as a file name: lower-case letters, digits and hyphens, at most 80 characters; longer ones end in a hash of the rest.
std::string slug_of(const Finding& f);

}  // namespace normfuzz
