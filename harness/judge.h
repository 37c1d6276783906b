// Decides what an outcome proves. The only place where verdicts are made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "harness/run/outcome.h"
#include "oracles/bound.h"

namespace normfuzz {

// In order of severity: the first that applies is the outcome's.
enum class Verdict { kTheorem, kContract, kBitwise, kCrashed, kTimedOut, kRangeLimit, kUndecided, kRejected, kUnsupported, kCertified };
std::string_view name_of(Verdict v);  // "theorem", "contract", ... as PROTOCOLS.md, 'Verdict strings'
// theorem, contract, bitwise, crashed, timed_out: what makes a finding.
bool is_violation(Verdict v);

enum class FailureClass { kNone, kWrong, kNan, kInf, kMemory, kSignal, kHang, kNondeterministic };
inline constexpr std::size_t kFailureClasses = static_cast<std::size_t>(FailureClass::kNondeterministic) + 1;
std::string_view name_of(FailureClass c);  // "wrong", "nan", "inf", "memory", "signal", "hang", "nondeterministic"

struct ElementEvidence {
  std::string output;      // "y"
  std::int64_t index = 0;  // logical row-major index
  double got = 0;
  double exact = 0;    // nearest double to the exact value; NaN where the expectation is NaN
  double allowed = 0;  // +inf: unbounded
  double ulps = 0;     // of the output type
  ElementVerdict verdict = ElementVerdict::kWithin;
};

struct Judgement {
  Verdict verdict = Verdict::kCertified;
  std::string law;  // contract name, or a law's id: "ln.one_feature_forward", "bit.memory.overrun", ".input", ".unwritten",
                    // "bit.determinism", "bit.containment", "crash"
  FailureClass failure = FailureClass::kNone;
  std::string detail;  // one sentence
  std::int64_t rows = 0, elements = 0;
  std::int64_t filtered_rows = 0;          // certified without MPFR
  std::int64_t unbounded = 0;              // elements with an infinite bound
  std::int64_t violations = 0;             // elements beyond their bound
  std::int64_t range_limited = 0;          // unbounded by overflow and beyond the bound of `robust`
  double worst_ratio = 0, worst_ulps = 0;  // over elements with a finite bound
  std::vector<ElementEvidence> evidence;   // offending elements, at most kMaxEvidence; worst ratio first
};
inline constexpr std::size_t kMaxEvidence = 16;

// Laws that are no failure unless claimed; counted for the grade.
struct LawCounts {
  std::int64_t held = 0, broken = 0;
};
struct GradeNotes {
  std::map<std::string, LawCounts> laws;  // "constant_row", "equal_rows"
};

// Judges outcomes of one case; what is exact about the case is computed once and shared by all targets.
class CaseJudge {
 public:
  explicit CaseJudge(const Case& c);  // premise: validate(c)
  ~CaseJudge();

  // `audit`: rows certified by the filter are also put to MPFR; a contradiction is reported by contradiction().
  Judgement judge(const Outcome& outcome, const Contract& contract, bool audit = false);
  // Every output element with its exact value and bound, for repro and check.
  std::vector<ElementEvidence> all_elements(const Outcome& outcome, const Contract& contract);
  // True if no element breaks `rung` (elements without a finite bound break nothing).
  bool keeps(const Outcome& outcome, const Contract& rung);
  void note_laws(const Outcome& outcome, GradeNotes& notes);

  // Empty, or what the filter certified and MPFR refuses: an internal contradiction, exit status 3.
  const std::string& contradiction() const { return contradiction_; }
  const CaseRows& rows() const { return rows_; }

 private:
  const std::vector<ElementBound>& bounds(std::int64_t slice, const Contract& contract);
  void judge_slice(std::int64_t slice, const double* y, const Contract& contract, bool audit, Judgement& out);
  void judge_element(std::int64_t slice, std::int64_t i, double got, const ElementBound& b, ElementVerdict v, const Contract& contract,
                     Judgement& out);
  bool one_feature(std::int64_t slice, std::int64_t i, double got, const Contract& contract, Judgement& out);
  bool complete(const Outcome& outcome) const;

  const Case& case_;
  CaseRows rows_;
  std::map<std::pair<std::string, std::int64_t>, std::vector<ElementBound>> bounds_;
  std::string contradiction_;
};

}  // namespace normfuzz
