#include "harness/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "oracles/filter.h"

namespace normfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr mpfr_prec_t kFirstBits = 192, kLastBits = 6144;

// The class of a verdict is that of its worst element: NaN before infinity before a wrong number.
int rank(FailureClass c) { return c == FailureClass::kNan ? 2 : c == FailureClass::kInf ? 1 : 0; }

void raise_to(Judgement& j, Verdict verdict, std::string_view law, FailureClass failure) {
  if (verdict == j.verdict && law == j.law && rank(failure) > rank(j.failure)) j.failure = failure;
  if (verdict >= j.verdict) return;
  j.verdict = verdict;
  j.law = law;
  j.failure = failure;
}

FailureClass class_of(double got) {
  return std::isnan(got) ? FailureClass::kNan : std::isinf(got) ? FailureClass::kInf : FailureClass::kWrong;
}

// Worst first: not finite before finite, then by ratio of error to bound.
double severity(const ElementEvidence& e) {
  return !std::isfinite(e.got) ? kInfinity : std::fabs(e.got - e.exact) / std::max(e.allowed, std::numeric_limits<double>::min());
}

void keep_evidence(Judgement& j, const ElementEvidence& e) {
  const auto at =
      std::find_if(j.evidence.begin(), j.evidence.end(), [&](const ElementEvidence& other) { return severity(other) < severity(e); });
  j.evidence.insert(at, e);
  if (j.evidence.size() > kMaxEvidence) j.evidence.pop_back();
}

ElementEvidence evidence_of(std::int64_t index, double got, const ElementBound& b, ElementVerdict verdict, DType storage) {
  const double exact = b.expect == Expectation::kNan ? std::numeric_limits<double>::quiet_NaN() : b.head;
  return {"y", index, got, exact, b.allowed, error_in_ulps(got, b, storage), verdict};
}

const Tensor* output_named(const Outcome& outcome, std::string_view name) {
  for (const auto& [n, t] : outcome.outputs)
    if (n == name) return &t;
  return nullptr;
}

Judgement not_run(const Outcome& o) {
  Judgement j;
  j.detail = o.message;
  switch (o.kind) {
    case OutcomeKind::kUnsupported:
      j.verdict = Verdict::kUnsupported;
      break;
    case OutcomeKind::kRejected:
      j.verdict = Verdict::kRejected;
      break;
    case OutcomeKind::kCrashed:
      j.verdict = Verdict::kCrashed;
      j.law = "crash";
      j.failure = FailureClass::kSignal;
      if (j.detail.empty())
        j.detail = o.signal ? fmt::format("killed by signal {} ({})", o.signal, strsignal(o.signal))
                            : fmt::format("exited with status {}", o.exit_status);
      break;
    default:
      j.verdict = Verdict::kTimedOut;
      j.law = "hang";
      j.failure = FailureClass::kHang;
  }
  return j;
}

// Contracts under which every allowed kernel returns the bias of a one-feature row (ERROR_MODEL 'Laws beside the bounds').
bool one_feature_law_applies(const Contract& c, double epsilon, double weight) {
  if (c.folded_affine || (c.moments & (kOnePassClamped | kOnePassUnclamped))) return false;
  const double rounded = value_from_bits(c.accumulate, bits_from_value(c.accumulate, epsilon));
  if (!(rounded > 0) || (c.flush_to_zero && rounded < format_of(c.accumulate).smallest_normal)) return false;
  // r and r |g| finite with every rounding of r (4 ulps) and of the product: a factor 1 + 2^-3 covers 16-bit formats too.
  const double r = 1 / std::sqrt(rounded) * 1.125;
  return r * std::max(1.0, std::fabs(weight)) < format_of(c.accumulate).max_finite;
}

}  // namespace

std::string_view name_of(Verdict v) {
  static constexpr std::string_view kNames[] = {"theorem",     "contract",  "bitwise",  "crashed",     "timed_out",
                                                "range_limit", "undecided", "rejected", "unsupported", "certified"};
  return kNames[static_cast<std::size_t>(v)];
}
bool is_violation(Verdict v) { return v <= Verdict::kTimedOut; }
std::string_view name_of(FailureClass c) {
  static constexpr std::string_view kNames[] = {"none", "wrong", "nan", "inf", "memory", "signal", "hang", "nondeterministic"};
  return kNames[static_cast<std::size_t>(c)];
}

CaseJudge::CaseJudge(const Case& c) : case_(c), rows_(CaseRows::borrowing(c)) {}
CaseJudge::~CaseJudge() = default;

const std::vector<ElementBound>& CaseJudge::bounds(std::int64_t row, const Contract& contract) {
  auto [it, fresh] = bounds_.try_emplace({fingerprint(contract), row});
  if (fresh) it->second = row_bounds(rows_, row, contract, kFirstBits);
  return it->second;
}

bool CaseJudge::one_feature(std::int64_t row, double got, const Contract& contract, Judgement& out) {
  if (case_.op != "layer_norm" || rows_.cols() != 1 || !rows_.finite(row) || !rows_.parameters_finite()) return false;
  const RowInputs in = rows_.row(row);
  if (!one_feature_law_applies(contract, in.epsilon, in.weight[0])) return false;
  const DType storage = rows_.storage();
  double bias = value_from_bits(storage, bits_from_value(storage, in.bias[0]));
  if (std::isinf(bias)) return false;  // a bias of a wider type beyond the output's range: the cast decides
  const bool flushed =
      (contract.flush_to_zero || contract.denormals_are_zero) && std::fabs(bias) < format_of(storage).smallest_normal && got == 0;
  if (got == bias || flushed) return true;
  ++out.violations;
  keep_evidence(
      out, {"y", rows_.view().index(row, 0), got, bias, 0,
            std::fabs(got - bias) / (2 * format_of(storage).unit_roundoff * std::max(std::fabs(bias), format_of(storage).smallest_normal)),
            ElementVerdict::kViolation});
  raise_to(out, Verdict::kTheorem, "ln.one_feature_forward", class_of(got));
  return true;
}

void CaseJudge::judge_row(std::int64_t row, const double* y, const Contract& contract, bool audit, Judgement& out) {
  const DType storage = rows_.storage();
  if (one_feature(row, y[0], contract, out)) return;
  bool certified = false;
  if (rows_.finite(row) && filter_applies(contract, storage)) {
    const FilterRow f = filter_row(rows_, row, y, contract);
    certified = f.certified;
    if (certified) {
      ++out.filtered_rows;
      out.worst_ratio = std::max(out.worst_ratio, f.worst_ratio);
      out.worst_ulps = std::max(out.worst_ulps, f.worst_ulps);
      if (!audit) return;
    }
  }
  const std::vector<ElementBound>* table = &bounds(row, contract);
  std::vector<ElementBound> sharper;
  mpfr_prec_t bits = kFirstBits;
  for (std::int64_t i = 0; i < rows_.cols(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    ElementVerdict v = certify(y[i], (*table)[at], contract, storage);
    while (v == ElementVerdict::kUndecided && bits < kLastBits) {  // Ziv: the enclosure straddles the bound
      sharper = row_bounds(rows_, row, contract, bits *= 2);
      table = &sharper;
      v = certify(y[i], (*table)[at], contract, storage);
    }
    const ElementBound& b = (*table)[at];
    if (certified) {
      if (v != ElementVerdict::kWithin && contradiction_.empty())
        contradiction_ = fmt::format("{} {} row {} column {}: the filter certified {:a} under {}, MPFR has exact {:a} and allows {:a}",
                                     case_.op, name_of(storage), row, i, y[i], contract.name, b.head, b.allowed);
      continue;
    }
    const std::int64_t index = rows_.view().index(row, i);
    if (v == ElementVerdict::kWithin) {
      if (b.expect == Expectation::kValue && std::isfinite(y[i]) && b.allowed > 0) {
        out.worst_ratio = std::max(out.worst_ratio, error_of(y[i], b).upper / b.allowed);
        out.worst_ulps = std::max(out.worst_ulps, error_in_ulps(y[i], b, storage));
      }
    } else if (v == ElementVerdict::kViolation) {
      ++out.violations;
      keep_evidence(out, evidence_of(index, y[i], b, v, storage));
      raise_to(out, Verdict::kContract, contract.name, b.expect == Expectation::kValue ? class_of(y[i]) : FailureClass::kNan);
    } else if (v == ElementVerdict::kUndecided) {
      raise_to(out, Verdict::kUndecided, contract.name, FailureClass::kNone);
    } else {
      ++out.unbounded;
      if (b.limit != Limit::kOverflow) continue;
      Contract robust = contract;
      robust.robust_range = true;
      robust.name += " robust";
      const ElementBound& r = bounds(row, robust)[at];
      if (certify(y[i], r, robust, storage) != ElementVerdict::kViolation) continue;
      ++out.range_limited;
      if (out.verdict >= Verdict::kRangeLimit) keep_evidence(out, evidence_of(index, y[i], r, ElementVerdict::kLimit, storage));
      raise_to(out, Verdict::kRangeLimit, "range", FailureClass::kWrong);  // one note whatever the wrong value
    }
  }
}

Judgement CaseJudge::judge(const Outcome& outcome, const Contract& contract, bool audit) {
  if (outcome.kind != OutcomeKind::kOk) return not_run(outcome);
  Judgement j;
  const Tensor* y = output_named(outcome, "y");
  if (!y || y->size() != rows_.rows() * rows_.cols()) {
    raise_to(j, Verdict::kContract, contract.name, FailureClass::kWrong);
    j.detail = "output y is missing or has another size";
    return j;
  }
  if (!outcome.memory.clean()) {
    // The law bit.memory, by the half of it that is broken: each is a bug of its own.
    const char* half = !outcome.memory.changed_input.empty() ? "bit.memory.input"
                       : !outcome.memory.overrun.empty()     ? "bit.memory.overrun"
                                                             : "bit.memory.unwritten";
    raise_to(j, Verdict::kTheorem, half, FailureClass::kMemory);
    j.detail = outcome.memory.detail;
  }
  std::vector<double> row(static_cast<std::size_t>(rows_.cols()));
  j.rows = rows_.rows();
  j.elements = rows_.rows() * rows_.cols();
  for (std::int64_t r = 0; r < rows_.rows(); ++r) {
    decode_row(*y, rows_.view(), r, row.data());
    judge_row(r, row.data(), contract, audit, j);
  }
  if (j.verdict == Verdict::kCertified && j.unbounded == j.elements && j.elements > 0) j.verdict = Verdict::kUndecided;
  return j;
}

std::vector<ElementEvidence> CaseJudge::all_elements(const Outcome& outcome, const Contract& contract) {
  std::vector<ElementEvidence> all;
  const Tensor* y = output_named(outcome, "y");
  if (outcome.kind != OutcomeKind::kOk || !y || y->size() != rows_.rows() * rows_.cols()) return all;
  for (std::int64_t r = 0; r < rows_.rows(); ++r) {
    const auto& table = bounds(r, contract);
    for (std::int64_t i = 0; i < rows_.cols(); ++i) {
      const std::int64_t index = rows_.view().index(r, i);
      const ElementBound& b = table[static_cast<std::size_t>(i)];
      Judgement law;
      if (one_feature(r, y->value(index), contract, law)) {
        all.push_back(law.evidence.empty() ? ElementEvidence{"y", index, y->value(index), y->value(index), 0, 0, ElementVerdict::kWithin}
                                           : law.evidence[0]);
        continue;
      }
      all.push_back(evidence_of(index, y->value(index), b, certify(y->value(index), b, contract, rows_.storage()), rows_.storage()));
    }
  }
  std::sort(all.begin(), all.end(), [](const ElementEvidence& a, const ElementEvidence& b) { return a.index < b.index; });
  return all;
}

bool CaseJudge::keeps(const Outcome& outcome, const Contract& rung) {
  Outcome numbers_only = outcome;
  numbers_only.memory = {};
  const Judgement j = judge(numbers_only, rung);
  return j.verdict != Verdict::kTheorem && j.verdict != Verdict::kContract;
}

void CaseJudge::note_laws(const Outcome& outcome, GradeNotes& notes) {
  const Tensor* y = output_named(outcome, "y");
  if (outcome.kind != OutcomeKind::kOk || !y || y->size() != rows_.rows() * rows_.cols()) return;
  const DType storage = rows_.storage();
  const auto count = [&](const char* law, bool held) { ++(held ? notes.laws[law].held : notes.laws[law].broken); };
  std::vector<double> previous;
  for (std::int64_t r = 0; r < rows_.rows(); ++r) {
    if (!rows_.finite(r) || !rows_.parameters_finite()) {
      previous.clear();
      continue;
    }
    const RowInputs in = rows_.row(r);
    const bool constant = std::all_of(in.x, in.x + in.n, [&](double v) { return v == in.x[0]; });
    if (case_.op == "layer_norm" && constant && in.n > 1 && in.epsilon > 0) {
      bool exact = true;
      for (std::int64_t i = 0; i < in.n; ++i)
        exact = exact && y->value(rows_.view().index(r, i)) == value_from_bits(storage, bits_from_value(storage, in.bias[i]));
      count("constant_row", exact);
    }
    if (static_cast<std::int64_t>(previous.size()) == in.n && std::equal(previous.begin(), previous.end(), in.x)) {
      bool equal = true;
      for (std::int64_t i = 0; i < in.n; ++i) equal = equal && y->bits(rows_.view().index(r, i)) == y->bits(rows_.view().index(r - 1, i));
      count("equal_rows", equal);
    }
    previous.assign(in.x, in.x + in.n);
  }
}

}  // namespace normfuzz
