// What a campaign counts: plain values whose merge is associative and commutative, so that blocks, threads and shards may be joined in any
// order and give equal results. Nothing here depends on time or on the order in which cases ran.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/case.h"
#include "core/result.h"
#include "harness/error_map.h"
#include "harness/examine.h"

namespace normfuzz {

inline constexpr std::size_t kVerdicts = static_cast<std::size_t>(Verdict::kCertified) + 1;

// Which generated case; the smaller one is the earlier one.
struct CaseRef {
  std::uint64_t seed = 0, index = 0;
  auto operator<=>(const CaseRef&) const = default;
};
// Of a case without provenance: {0, 0}.
CaseRef ref_of(const Case& c);

// The largest value and the first case that showed it.
struct Worst {
  double value = 0;
  CaseRef where;
  bool operator==(const Worst&) const = default;
  void note(double v, CaseRef ref);  // a NaN or a value <= 0 is nothing to remember
  void merge(const Worst& other) { note(other.value, other.where); }
};

// How often, and the first case.
struct Seen {
  std::int64_t count = 0;
  CaseRef first;
  bool operator==(const Seen&) const = default;
  void merge(const Seen& other);
};

// Texts with counts. Of more than kMaxReasons different ones the alphabetically first are kept by name and the rest count as `other`: a
// text among the first of all is among the first of every part, so no order of merging can lose some of its counts.
class ReasonCounts {
 public:
  static constexpr std::size_t kMaxReasons = 8;
  static constexpr std::size_t kMaxReasonLength = 240;  // two lines and a half of a report
  void add(std::string_view reason, std::int64_t count = 1);
  void merge(const ReasonCounts& other);
  void add_other(std::int64_t count) { other_ += count; }
  const std::map<std::string, std::int64_t>& named() const { return named_; }
  std::int64_t other() const { return other_; }
  std::int64_t total() const;
  bool operator==(const ReasonCounts&) const = default;

 private:
  std::map<std::string, std::int64_t> named_;
  std::int64_t other_ = 0;
};

// One target (with variant) on one op and dtype.
struct OpTally {
  std::array<std::int64_t, kVerdicts> verdicts{};  // cases by verdict
  std::int64_t rows = 0, elements = 0;             // judged
  std::int64_t unbounded = 0;                      // elements with an infinite bound
  std::int64_t range_limited = 0;                  // elements
  std::int64_t filtered_rows = 0, mpfr_rows = 0;   // certified by the filter; put to MPFR without being certified first
  std::int64_t audited_rows = 0;                   // filter-certified and put to MPFR as well
  ReasonCounts unsupported, rejected;
  Worst ratio, ulps;                         // over elements with a finite bound that kept it
  std::optional<CaseRef> first_range_limit;  // the note is made once
  std::int64_t ladder_cases = 0;             // put to the ladder of contracts
  std::map<std::string, Seen> broken_rungs;  // rung -> cases that broke it
  std::map<std::string, LawCounts> laws;     // GradeNotes, summed
  ErrorMap errors;

  std::int64_t cases() const;
  std::int64_t count(Verdict v) const { return verdicts[static_cast<std::size_t>(v)]; }
  std::int64_t certified() const { return count(Verdict::kCertified); }
  std::int64_t violations() const;
  // First rung of contract_ladder() that no case broke; "none" where all are broken; "-" where no case was put to the ladder.
  std::string grade() const;
  void merge(const OpTally& other);
  bool operator==(const OpTally&) const;
};

struct TallyKey {
  std::string target;  // label: name or name:variant
  std::string op;
  DType dtype = DType::kF32;
  auto operator<=>(const TallyKey&) const = default;
};

// How much a contract's bounds say, over ordinary or over special regimes.
struct BoundShare {
  std::int64_t elements = 0, unbounded = 0;  // judged by this contract; a case counts once per target
  std::int64_t sampled_unbounded = 0;        // of the sampled bounds, which are taken once per case; the finite ones are in the histogram
  // Sampled finite bounds in units of the last place of the output type, by quarters of octaves.
  static constexpr int kExact = kBucketOfZero;
  std::map<int, std::int64_t> histogram;

  void note(double bound_in_ulps);             // an infinite one is counted as such
  std::optional<double> finite_share() const;  // of the judged elements, else of the sample; absent: there are none
  std::optional<double> median_ulps() const;   // the middle of the median's bucket: right to 1/8 octave; absent: nothing sampled
  void merge(const BoundShare& other);
  bool operator==(const BoundShare&) const = default;
};

struct BoundKey {
  std::string op;
  DType dtype = DType::kF32;
  std::string contract;
  bool special = false;  // regime class, RegimeInfo::special
  auto operator<=>(const BoundKey&) const = default;
};

// How often a property (oracles/theorems/property.h) was asked of a target; label "oracle": of our own oracle or index maps.
struct PropertyTally {
  std::int64_t tried = 0, met = 0;  // cases that it was drawn for and that ran; of these, with its premises met
  std::int64_t violations = 0;      // broken
  std::int64_t unclaimed = 0;       // broken, by a target that does not claim it: no finding
  Seen first;                       // violation or unclaimed

  void merge(const PropertyTally& other);
  bool operator==(const PropertyTally&) const = default;
};

struct PropertyKey {
  std::string id, target;
  auto operator<=>(const PropertyKey&) const = default;
};

// What the generator made: the cases of a regime by the octave of their width.
struct CoverageKey {
  std::string regime;
  int octave = 0;  // floor(log2 columns)
  bool several_rows = false;
  auto operator<=>(const CoverageKey&) const = default;
};

class Tally {
 public:
  // One outcome of one target. `audited`: judged with audit = true.
  void add(const std::string& label, const Case& c, std::string_view contract, const Judgement& j, bool audited = false);
  // Bounds of a sampled case under `contract`, from CaseJudge::all_elements.
  void note_bounds(const Case& c, std::string_view contract, std::span<const ElementEvidence> elements);
  // The case was put to every rung of the ladder; `broken` are those that CaseJudge::keeps refused.
  void note_ladder(const std::string& label, const Case& c, std::span<const std::string_view> broken);
  // Pass the notes of this case only, not a running sum.
  void note_laws(const std::string& label, const Case& c, const GradeNotes& notes);
  void note_errors(const std::string& label, const Case& c, const CaseClass& where, const Judgement& j) {
    entries[{label, c.op, c.dtype()}].errors.note(c, where, j);
  }
  // Once per case, whatever targets it is put to.
  void note_coverage(const Case& c, const CaseClass& where) {
    ++coverage[{c.provenance ? c.provenance->regime : "", where.width / 2, where.several_rows}];
  }
  void note_property(const std::string& label, const Case& c, const PropertyNote& note);
  // A target, op and dtype shall have a line even where nothing ran.
  void mention(const std::string& label, std::string_view op, DType dtype) { entries[{label, std::string(op), dtype}]; }

  void merge(const Tally& other);
  std::int64_t cases() const;  // outcomes: a case on three targets counts three times
  std::int64_t certified() const;
  std::int64_t violations() const;
  bool operator==(const Tally&) const = default;

  std::map<TallyKey, OpTally> entries;
  std::map<BoundKey, BoundShare> bounds;
  std::map<PropertyKey, PropertyTally> properties;
  std::map<CoverageKey, std::int64_t> coverage;
};

// Exact round trip; doubles as hexadecimal strings.
std::string write_tally(const Tally& tally);
Result<Tally> parse_tally(std::string_view json, std::string_view name);

}  // namespace normfuzz
