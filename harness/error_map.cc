#include "harness/error_map.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace normfuzz {
namespace {

void raise(ErrorMap::Point& worst, const ErrorMap::Point& p) { worst = std::max(worst, p); }

void add(ErrorMap::Spread& sum, const ErrorMap::Spread& other) {
  for (const auto& [at, octaves] : other)
    for (const auto& [octave, cases] : octaves) sum[at][octave] += cases;
}

// Where the exact value or the output is no number, or nothing is allowed, the error is beyond every bound.
ErrorMap::Point point_of(const ElementEvidence& e) {
  const double error = std::fabs(e.got - e.exact);
  const double ratio = e.allowed > 0 && std::isfinite(error) ? error / e.allowed : HUGE_VAL;
  return {quarter_octave(ratio), std::isfinite(error) ? quarter_octave(std::fabs(e.ulps)) : kBucketOfInfinity};
}

int width_class(std::int64_t cols) {
  const auto n = static_cast<std::uint64_t>(std::max<std::int64_t>(cols, 1));
  return 2 * (static_cast<int>(std::bit_width(n)) - 1) + (std::has_single_bit(n) ? 0 : 1);
}

int scale_class(const Tensor& x) {
  double largest = 0, values[256];
  constexpr auto kChunk = static_cast<std::int64_t>(std::size(values));
  for (std::int64_t i = 0, n = x.size(); i < n; i += kChunk) {
    const std::int64_t count = std::min(kChunk, n - i);
    x.values(i, count, values);
    for (std::int64_t k = 0; k < count; ++k) {
      if (!std::isfinite(values[k])) return kBucketOfInfinity;
      largest = std::max(largest, std::fabs(values[k]));
    }
  }
  if (largest == 0) return kBucketOfZero;
  const int exponent = std::ilogb(largest), step = scale_step(x.dtype);
  return exponent >= 0 ? exponent / step : -((step - 1 - exponent) / step);
}

}  // namespace

int scale_step(DType dtype) {
  static constexpr int kSteps[] = {32, 8, 2, 8};  // f64, f32, f16, bf16
  return kSteps[static_cast<std::size_t>(dtype)];
}

CaseClass class_of(const Case& c, const CaseRows& rows) {
  return {width_class(rows.cols()), rows.rows() > 1,
          c.inputs.empty() || !c.inputs.front().second ? 0 : scale_class(*c.inputs.front().second)};
}

void ErrorMap::note(const Case& c, const CaseClass& where, const Judgement& j) {
  const std::string regime = c.provenance ? c.provenance->regime : "";
  if (j.worst_ratio > 0) raise(kept[regime], {quarter_octave(j.worst_ratio), quarter_octave(std::fabs(j.worst_ulps))});
  if (j.worst_ulps > 0 && std::isfinite(j.worst_ulps)) {
    const int octave = octave_of(quarter_octave(j.worst_ulps));
    ++by_width[where.width][octave];
    ++by_scale[where.scale][octave];
  }
  if (is_violation(j.verdict) && !j.evidence.empty()) raise(broken[regime], point_of(j.evidence.front()));
}

void ErrorMap::merge(const ErrorMap& other) {
  for (const auto& [regime, p] : other.kept) raise(kept[regime], p);
  for (const auto& [regime, p] : other.broken) raise(broken[regime], p);
  add(by_width, other.by_width);
  add(by_scale, other.by_scale);
}

}  // namespace normfuzz
