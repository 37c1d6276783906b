#include "harness/tally.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/generate/generator.h"
#include "oracles/contract.h"

namespace normfuzz {
namespace {

bool in_special_regime(const Case& c) {
  if (!c.provenance) return false;
  for (const RegimeInfo& regime : all_regimes())
    if (regime.name == c.provenance->regime) return regime.special;
  return false;
}

// Of the finite nonzero `value`'s binade in the format: 2^(e-p+1), not below the smallest subnormal.
double ulp_at(double value, const FloatFormat& format) {
  if (!(std::fabs(value) >= format.smallest_normal)) return format.smallest_subnormal;
  return std::max(std::ldexp(1.0, std::ilogb(value) - format.precision + 1), format.smallest_subnormal);
}

}  // namespace

CaseRef ref_of(const Case& c) { return c.provenance ? CaseRef{c.provenance->seed, c.provenance->index} : CaseRef{}; }

void Worst::note(double v, CaseRef ref) {
  if (!(v > 0) || v < value) return;
  if (v == value && !(ref < where)) return;
  value = v;
  where = ref;
}

void Seen::merge(const Seen& other) {
  if (other.count == 0) return;
  first = count == 0 ? other.first : std::min(first, other.first);
  count += other.count;
}

// Plain ASCII of one line: a target's message may end in half a character, and what is counted must read back as the same text.
void ReasonCounts::add(std::string_view reason, std::int64_t count) {
  std::string text(reason.substr(0, kMaxReasonLength));
  for (char& c : text)
    if (c < ' ' || c > '~') c = c == '\n' || c == '\t' ? ' ' : '?';
  named_[std::move(text)] += count;
  if (named_.size() <= kMaxReasons) return;
  const auto last = std::prev(named_.end());
  other_ += last->second;
  named_.erase(last);
}

void ReasonCounts::merge(const ReasonCounts& other) {
  for (const auto& [reason, count] : other.named_) add(reason, count);
  other_ += other.other_;
}

std::int64_t ReasonCounts::total() const {
  std::int64_t sum = other_;
  for (const auto& [reason, count] : named_) sum += count;
  return sum;
}

std::int64_t OpTally::cases() const {
  std::int64_t sum = 0;
  for (const std::int64_t n : verdicts) sum += n;
  return sum;
}

std::int64_t OpTally::violations() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kVerdicts; ++i)
    if (is_violation(static_cast<Verdict>(i))) sum += verdicts[i];
  return sum;
}

std::string OpTally::grade() const {
  if (ladder_cases == 0) return "-";
  for (const std::string_view rung : contract_ladder())
    if (!broken_rungs.contains(std::string(rung))) return std::string(rung);
  return "none";
}

void OpTally::merge(const OpTally& other) {
  for (std::size_t i = 0; i < kVerdicts; ++i) verdicts[i] += other.verdicts[i];
  rows += other.rows;
  elements += other.elements;
  unbounded += other.unbounded;
  range_limited += other.range_limited;
  filtered_rows += other.filtered_rows;
  mpfr_rows += other.mpfr_rows;
  audited_rows += other.audited_rows;
  unsupported.merge(other.unsupported);
  rejected.merge(other.rejected);
  ratio.merge(other.ratio);
  ulps.merge(other.ulps);
  if (other.first_range_limit)
    first_range_limit = first_range_limit ? std::min(*first_range_limit, *other.first_range_limit) : *other.first_range_limit;
  ladder_cases += other.ladder_cases;
  for (const auto& [rung, seen] : other.broken_rungs) broken_rungs[rung].merge(seen);
  for (const auto& [law, counts] : other.laws) {
    laws[law].held += counts.held;
    laws[law].broken += counts.broken;
  }
  errors.merge(other.errors);
}

bool OpTally::operator==(const OpTally& o) const {
  const auto same_laws = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.held == b.second.held && a.second.broken == b.second.broken;
  };
  return verdicts == o.verdicts && rows == o.rows && elements == o.elements && unbounded == o.unbounded &&
         range_limited == o.range_limited && filtered_rows == o.filtered_rows && mpfr_rows == o.mpfr_rows &&
         audited_rows == o.audited_rows && unsupported == o.unsupported && rejected == o.rejected && ratio == o.ratio && ulps == o.ulps &&
         first_range_limit == o.first_range_limit && ladder_cases == o.ladder_cases && broken_rungs == o.broken_rungs &&
         errors == o.errors && std::equal(laws.begin(), laws.end(), o.laws.begin(), o.laws.end(), same_laws);
}

void BoundShare::note(double bound_in_ulps) {
  if (std::isinf(bound_in_ulps)) ++sampled_unbounded;
  if (bound_in_ulps >= 0 && !std::isinf(bound_in_ulps)) ++histogram[quarter_octave(bound_in_ulps)];
}

std::optional<double> BoundShare::finite_share() const {
  std::int64_t all = elements, infinite = unbounded;
  if (all == 0) {
    all = infinite = sampled_unbounded;
    for (const auto& [bucket, count] : histogram) all += count;
  }
  if (all == 0) return std::nullopt;
  return static_cast<double>(all - infinite) / static_cast<double>(all);
}

std::optional<double> BoundShare::median_ulps() const {
  std::int64_t total = 0, passed = 0;
  for (const auto& [bucket, count] : histogram) total += count;
  for (const auto& [bucket, count] : histogram) {
    passed += count;
    if (2 * passed < total) continue;
    return middle_of_quarter_octave(bucket);
  }
  return std::nullopt;
}

void BoundShare::merge(const BoundShare& other) {
  elements += other.elements;
  unbounded += other.unbounded;
  sampled_unbounded += other.sampled_unbounded;
  for (const auto& [bucket, count] : other.histogram) histogram[bucket] += count;
}

void Tally::add(const std::string& label, const Case& c, std::string_view contract, const Judgement& j, bool audited) {
  const DType dtype = c.dtype();
  const CaseRef where = ref_of(c);
  OpTally& t = entries[{label, c.op, dtype}];
  ++t.verdicts[static_cast<std::size_t>(j.verdict)];
  t.rows += j.rows;
  t.elements += j.elements;
  t.unbounded += j.unbounded;
  t.range_limited += j.range_limited;
  t.filtered_rows += j.filtered_rows;
  t.mpfr_rows += j.rows - j.filtered_rows;
  if (audited) t.audited_rows += j.filtered_rows;
  if (j.verdict == Verdict::kUnsupported) t.unsupported.add(j.detail);
  if (j.verdict == Verdict::kRejected) t.rejected.add(j.detail);
  t.ratio.note(j.worst_ratio, where);
  t.ulps.note(j.worst_ulps, where);
  if (j.range_limited > 0) t.first_range_limit = t.first_range_limit ? std::min(*t.first_range_limit, where) : where;
  if (j.elements == 0) return;
  BoundShare& share = bounds[{c.op, dtype, std::string(contract), in_special_regime(c)}];
  share.elements += j.elements;
  share.unbounded += j.unbounded;
}

void Tally::note_bounds(const Case& c, std::string_view contract, std::span<const ElementEvidence> elements) {
  const DType dtype = c.dtype();
  BoundShare& share = bounds[{c.op, dtype, std::string(contract), in_special_regime(c)}];
  for (const ElementEvidence& e : elements)
    if (std::isfinite(e.exact)) share.note(e.allowed / ulp_at(e.exact, format_of(dtype)));
}

void Tally::note_ladder(const std::string& label, const Case& c, std::span<const std::string_view> broken) {
  OpTally& t = entries[{label, c.op, c.dtype()}];
  ++t.ladder_cases;
  for (const std::string_view rung : broken) t.broken_rungs[std::string(rung)].merge({1, ref_of(c)});
}

void Tally::note_laws(const std::string& label, const Case& c, const GradeNotes& notes) {
  OpTally& t = entries[{label, c.op, c.dtype()}];
  for (const auto& [law, counts] : notes.laws) {
    t.laws[law].held += counts.held;
    t.laws[law].broken += counts.broken;
  }
}

void PropertyTally::merge(const PropertyTally& other) {
  tried += other.tried;
  met += other.met;
  violations += other.violations;
  unclaimed += other.unclaimed;
  first.merge(other.first);
}

void Tally::note_property(const std::string& label, const Case& c, const PropertyNote& note) {
  PropertyTally t{1, note.met, note.broken && note.judged, note.broken && !note.judged, {}};
  if (note.broken) t.first = {1, ref_of(c)};
  properties[{std::string(note.id), label}].merge(t);
}

void Tally::merge(const Tally& other) {
  for (const auto& [key, entry] : other.entries) entries[key].merge(entry);
  for (const auto& [key, share] : other.bounds) bounds[key].merge(share);
  for (const auto& [key, property] : other.properties) properties[key].merge(property);
  for (const auto& [key, count] : other.coverage) coverage[key] += count;
}

std::int64_t Tally::cases() const {
  std::int64_t sum = 0;
  for (const auto& [key, entry] : entries) sum += entry.cases();
  return sum;
}
std::int64_t Tally::certified() const {
  std::int64_t sum = 0;
  for (const auto& [key, entry] : entries) sum += entry.certified();
  return sum;
}
std::int64_t Tally::violations() const {
  std::int64_t sum = 0;
  for (const auto& [key, entry] : entries) sum += entry.violations();
  return sum;
}

}  // namespace normfuzz
