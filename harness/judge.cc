#include "harness/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

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

// Worst first: what is beyond its bound before what has none, not finite before finite, then by ratio of error to bound.
std::pair<bool, double> severity(const ElementEvidence& e) {
  const double ratio =
      !std::isfinite(e.got) ? kInfinity : std::fabs(e.got - e.exact) / std::max(e.allowed, std::numeric_limits<double>::min());
  return {e.verdict == ElementVerdict::kViolation, ratio};
}

void keep_evidence(Judgement& j, const ElementEvidence& e) {
  const auto at =
      std::find_if(j.evidence.begin(), j.evidence.end(), [&](const ElementEvidence& other) { return severity(other) < severity(e); });
  j.evidence.insert(at, e);
  if (j.evidence.size() > kMaxEvidence) j.evidence.pop_back();
}

ElementEvidence evidence_of(const std::string& output, std::int64_t index, double got, const ElementBound& b, ElementVerdict verdict,
                            DType storage) {
  const double exact = b.expect == Expectation::kNan ? std::numeric_limits<double>::quiet_NaN() : b.head;
  return {output, index, got, exact, b.allowed, error_in_ulps(got, b, storage), verdict};
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

// dx = r (g - g - 0 c): also g = dy weight must be finite, and neither xhat nor dx folded.
bool gradient_law_applies(const Contract& c, const CaseRows& rows, std::int64_t first, std::int64_t end) {
  if (c.folded_xhat || c.folded_backward) return false;
  for (std::int64_t r = first; r < end; ++r) {
    const RowInputs in = rows.row(r);
    if (rows.finite(r) && !(std::fabs(in.other[0]) * std::max(1.0, std::fabs(in.weight[0])) * 1.125 < format_of(c.accumulate).max_finite))
      return false;
  }
  return true;
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

const std::vector<ElementBound>& CaseJudge::bounds(std::int64_t slice, const Contract& contract) {
  auto [it, fresh] = bounds_.try_emplace({fingerprint(contract), slice});
  if (fresh) it->second = slice_bounds(rows_, slice, contract, kFirstBits);
  return it->second;
}

// Every output of the op is there, with its number of elements.
bool CaseJudge::complete(const Outcome& outcome) const {
  if (outcome.kind != OutcomeKind::kOk || outcome.outputs.size() < rows_.outputs().size()) return false;
  for (std::size_t k = 0; k < rows_.outputs().size(); ++k)
    if (outcome.outputs[k].first != rows_.outputs()[k] || outcome.outputs[k].second.size() != rows_.output_size(static_cast<int>(k)))
      return false;
  return true;
}

// layer_norm over one feature: y is the bias, dx and dweight are 0.
bool CaseJudge::one_feature(std::int64_t slice, std::int64_t i, double got, const Contract& contract, Judgement& out) {
  const OpInfo& op = rows_.info();
  if (!op.centred() || rows_.cols() != 1 || op.shape == OutputShape::kUpdate || !rows_.parameters_finite()) return false;
  const bool sums = rows_.is_sums(slice);
  if (rows_.given_moments() || (sums && op.shape == OutputShape::kStatistics)) return false;
  if (sums ? i >= rows_.parameters() || !rows_.all_finite() : !rows_.finite(slice)) return false;
  const RowInputs in = rows_.row(sums ? 0 : slice);
  if (!one_feature_law_applies(contract, in.epsilon, in.weight[0])) return false;
  if (op.shape == OutputShape::kGradients && !gradient_law_applies(contract, rows_, sums ? 0 : slice, sums ? rows_.rows() : slice + 1))
    return false;
  const DType storage = rows_.slice_storage(slice);
  const double due = op.shape == OutputShape::kGradients ? 0 : in.bias[0];
  const double expected = value_from_bits(storage, bits_from_value(storage, due));
  if (std::isinf(expected)) return false;  // a bias of a wider type beyond the output's range: the cast decides
  const bool flushed =
      (contract.flush_to_zero || contract.denormals_are_zero) && std::fabs(expected) < format_of(storage).smallest_normal && got == 0;
  if (got == expected || flushed) return true;
  ++out.violations;
  const OutputElement e = rows_.element(slice, i);
  const double ulp = 2 * format_of(storage).unit_roundoff * std::max(std::fabs(expected), format_of(storage).smallest_normal);
  keep_evidence(out, {rows_.outputs()[static_cast<std::size_t>(e.output)], e.index, got, expected, 0, std::fabs(got - expected) / ulp,
                      ElementVerdict::kViolation});
  const char* law = op.shape != OutputShape::kGradients ? "ln.one_feature_forward" : sums ? "ln.one_feature_dweight" : "ln.one_feature_dx";
  raise_to(out, Verdict::kTheorem, law, class_of(got));
  return true;
}

void CaseJudge::judge_element(std::int64_t slice, std::int64_t i, double got, const ElementBound& b, ElementVerdict v,
                              const Contract& contract, Judgement& out) {
  const DType storage = rows_.slice_storage(slice);
  const OutputElement e = rows_.element(slice, i);
  const auto& output = rows_.outputs()[static_cast<std::size_t>(e.output)];
  if (v == ElementVerdict::kWithin) {
    if (b.expect == Expectation::kValue && std::isfinite(got) && b.allowed > 0) {
      out.worst_ratio = std::max(out.worst_ratio, error_of(got, b).upper / b.allowed);
      out.worst_ulps = std::max(out.worst_ulps, error_in_ulps(got, b, storage));
    }
  } else if (v == ElementVerdict::kViolation) {
    ++out.violations;
    keep_evidence(out, evidence_of(output, e.index, got, b, v, storage));
    raise_to(out, Verdict::kContract, contract.name, b.expect == Expectation::kValue ? class_of(got) : FailureClass::kNan);
  } else if (v == ElementVerdict::kUndecided) {
    raise_to(out, Verdict::kUndecided, contract.name, FailureClass::kNone);
  } else {
    ++out.unbounded;
    if (b.limit != Limit::kOverflow) return;
    Contract robust = contract;
    robust.robust_range = true;
    robust.name += " robust";
    const ElementBound& r = bounds(slice, robust)[static_cast<std::size_t>(i)];
    if (certify(got, r, robust, storage) != ElementVerdict::kViolation) return;
    ++out.range_limited;
    if (out.verdict >= Verdict::kRangeLimit) keep_evidence(out, evidence_of(output, e.index, got, r, ElementVerdict::kLimit, storage));
    raise_to(out, Verdict::kRangeLimit, "range", FailureClass::kWrong);  // one note whatever the wrong value
  }
}

void CaseJudge::judge_slice(std::int64_t slice, const double* y, const Contract& contract, bool audit, Judgement& out) {
  const DType storage = rows_.slice_storage(slice);
  bool certified = false;
  if (!rows_.is_sums(slice) && filter_applies(rows_, contract) && rows_.finite(slice)) {
    if (one_feature(slice, 0, y[0], contract, out)) return;
    const FilterRow f = filter_row(rows_, slice, y, contract);
    certified = f.certified;
    if (certified) {
      ++out.filtered_rows;
      out.worst_ratio = std::max(out.worst_ratio, f.worst_ratio);
      out.worst_ulps = std::max(out.worst_ulps, f.worst_ulps);
      if (!audit) return;
    }
  }
  const std::vector<ElementBound>* table = &bounds(slice, contract);
  std::vector<ElementBound> sharper;
  mpfr_prec_t bits = kFirstBits;
  for (std::int64_t i = 0, n = rows_.slice_size(slice); i < n; ++i) {
    if (one_feature(slice, i, y[i], contract, out)) continue;
    const auto at = static_cast<std::size_t>(i);
    ElementVerdict v = certify(y[i], (*table)[at], contract, storage);
    while (v == ElementVerdict::kUndecided && bits < kLastBits) {  // Ziv: the enclosure straddles the bound
      sharper = slice_bounds(rows_, slice, contract, bits *= 2);
      table = &sharper;
      v = certify(y[i], (*table)[at], contract, storage);
    }
    const ElementBound& b = (*table)[at];
    if (!certified)
      judge_element(slice, i, y[i], b, v, contract, out);
    else if (v != ElementVerdict::kWithin && contradiction_.empty())
      contradiction_ = fmt::format("{} {} row {} column {}: the filter certified {:a} under {}, MPFR has exact {:a} and allows {:a}",
                                   case_.op, name_of(storage), slice, i, y[i], contract.name, b.head, b.allowed);
  }
}

Judgement CaseJudge::judge(const Outcome& outcome, const Contract& contract, bool audit) {
  if (outcome.kind != OutcomeKind::kOk) return not_run(outcome);
  Judgement j;
  if (!complete(outcome)) {
    raise_to(j, Verdict::kContract, contract.name, FailureClass::kWrong);
    j.detail = fmt::format("an output of {} is missing or has another size", fmt::join(rows_.outputs(), ", "));
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
  std::vector<double> values;
  j.rows = rows_.rows();
  j.elements = rows_.elements();
  for (std::int64_t s = 0; s < rows_.slices(); ++s) {
    values.resize(static_cast<std::size_t>(rows_.slice_size(s)));
    decode_slice(outcome.outputs, rows_, s, values.data());
    judge_slice(s, values.data(), contract, audit, j);
  }
  if (j.verdict == Verdict::kCertified && j.unbounded == j.elements && j.elements > 0) j.verdict = Verdict::kUndecided;
  return j;
}

std::vector<ElementEvidence> CaseJudge::all_elements(const Outcome& outcome, const Contract& contract) {
  std::vector<ElementEvidence> all;
  if (!complete(outcome)) return all;
  std::vector<double> values;
  for (std::int64_t s = 0; s < rows_.slices(); ++s) {
    const DType storage = rows_.slice_storage(s);
    const auto& table = bounds(s, contract);
    values.resize(static_cast<std::size_t>(rows_.slice_size(s)));
    decode_slice(outcome.outputs, rows_, s, values.data());
    for (std::int64_t i = 0; i < rows_.slice_size(s); ++i) {
      const double got = values[static_cast<std::size_t>(i)];
      const OutputElement e = rows_.element(s, i);
      const auto& output = rows_.outputs()[static_cast<std::size_t>(e.output)];
      const ElementBound& b = table[static_cast<std::size_t>(i)];
      Judgement law;
      if (one_feature(s, i, got, contract, law))
        all.push_back(law.evidence.empty() ? ElementEvidence{output, e.index, got, got, 0, 0, ElementVerdict::kWithin} : law.evidence[0]);
      else
        all.push_back(evidence_of(output, e.index, got, b, certify(got, b, contract, storage), storage));
    }
  }
  const auto& names = rows_.outputs();
  const auto place = [&](const ElementEvidence& e) {
    return std::pair(std::find(names.begin(), names.end(), e.output) - names.begin(), e.index);
  };
  std::sort(all.begin(), all.end(), [&](const ElementEvidence& a, const ElementEvidence& b) { return place(a) < place(b); });
  return all;
}

bool CaseJudge::keeps(const Outcome& outcome, const Contract& rung) {
  Outcome numbers_only = outcome;
  numbers_only.memory = {};
  const Judgement j = judge(numbers_only, rung);
  return j.verdict != Verdict::kTheorem && j.verdict != Verdict::kContract;
}

void CaseJudge::note_laws(const Outcome& outcome, GradeNotes& notes) {
  if (rows_.info().shape != OutputShape::kElements || !complete(outcome)) return;
  const DType storage = rows_.storage();
  const auto bits_of = [&](std::int64_t r, std::int64_t i) {
    const OutputElement e = rows_.element(r, i);
    return outcome.outputs[static_cast<std::size_t>(e.output)].second.bits(e.index);
  };
  const auto count = [&](const char* law, bool held) { ++(held ? notes.laws[law].held : notes.laws[law].broken); };
  std::vector<double> previous, own;  // row, weights and biases
  for (std::int64_t r = 0; r < rows_.rows(); ++r) {
    if (!rows_.finite(r) || !rows_.parameters_finite()) {
      previous.clear();
      continue;
    }
    const RowInputs in = rows_.row(r);
    const bool constant = std::all_of(in.x, in.x + in.n, [&](double v) { return v == in.x[0]; });
    if (rows_.info().centred() && constant && in.n > 1 && in.epsilon > 0) {
      bool exact = true;
      for (std::int64_t i = 0; i < in.n; ++i)
        exact = exact && value_from_bits(storage, bits_of(r, i)) == value_from_bits(storage, bits_from_value(storage, in.bias[i]));
      count("constant_row", exact);
    }
    const auto same = [](double a, double b) { return a == b && std::signbit(a) == std::signbit(b); };
    own.assign(in.x, in.x + in.n);
    if (in.other) own.insert(own.end(), in.other, in.other + in.n);
    if (rows_.info().second_rows) own.push_back(static_cast<double>(rows_.element(r, 0).output));  // rows of two outputs differ
    own.insert(own.end(), in.weight, in.weight + in.n);
    own.insert(own.end(), in.bias, in.bias + in.n);
    if (std::equal(previous.begin(), previous.end(), own.begin(), own.end(), same)) {
      bool equal = true;
      for (std::int64_t i = 0; i < in.n; ++i) equal = equal && bits_of(r, i) == bits_of(r - 1, i);
      count("equal_rows", equal);
    }
    previous.swap(own);
  }
}

}  // namespace normfuzz
