#include "fuzz/guidance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/mix_bits.h"
#include "fuzz/extra_counters.h"
#include "oracles/ops/geometry.h"

namespace normfuzz::fuzzing {
namespace {

constexpr std::int64_t kRowsLookedAt = 8;

// The kinds of features: no two share their numbers.
enum class Kind : std::uint8_t { kRatio = 1, kVerdict, kProperty, kRegime, kPair };

template <class... Parts>
void note(Kind kind, Parts... parts) {
  std::uint64_t h = static_cast<std::uint64_t>(kind);
  ((h = mix_bits(h ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(parts)))), ...);
  note_feature(h);
}

// A number that is the name's own, in every process and build.
std::int64_t key_of(std::string_view name) {
  std::uint64_t h = name.size();
  for (const char ch : name) h = mix_bits(h ^ static_cast<unsigned char>(ch));
  return static_cast<std::int64_t>(h);
}

int log2_of(double v) { return v > 0 && std::isfinite(v) ? std::ilogb(v) : v > 0 ? 2000 : -2000; }

int size_class(std::int64_t n) {
  const auto u = static_cast<std::uint64_t>(n);
  const bool beside = std::has_single_bit(u - 1) || std::has_single_bit(u + 1);
  return 3 * static_cast<int>(std::bit_width(u)) + (std::has_single_bit(u) ? 0 : beside ? 1 : 2);
}

int epsilon_beside(double epsilon, double mean_square) {
  if (!(epsilon > 0) || !(mean_square > 0) || !std::isfinite(mean_square)) return -32;
  const double off = std::fabs(epsilon / mean_square - 1);
  if (off < 0.5) return std::min(23, -log2_of(off + 0x1p-23));
  return -std::clamp(std::abs(log2_of(epsilon / mean_square)), 0, 31);
}

void look_at_row(const std::vector<double>& row, double epsilon, CaseTraits& t) {
  const auto n = static_cast<double>(row.size());
  double mean = 0, largest = 0, smallest = HUGE_VAL, square = 0, spread = 0;
  for (const double v : row) {
    t.specials |= (std::isnan(v) ? 1 : 0) | (std::isinf(v) ? 2 : 0) | (v == 0 && std::signbit(v) ? 4 : 0);
    mean += v / n;
    square += v * v / n;
    largest = std::max(largest, std::fabs(v));
    if (v != 0) smallest = std::min(smallest, std::fabs(v));
  }
  for (const double v : row) spread += (v - mean) * (v - mean) / n;
  if (!std::isfinite(square) || largest == 0) return;
  const int cancelled = spread > 0 ? std::clamp(log2_of(std::fabs(mean) / std::sqrt(spread)), 0, 63) : 64;
  t.cancelled_bits = std::max(t.cancelled_bits, cancelled);
  t.exponent_range = std::max(t.exponent_range, log2_of(largest) - log2_of(smallest));
  t.largest_exponent = std::max(t.largest_exponent, log2_of(largest));
  t.epsilon_beside = std::max({t.epsilon_beside, epsilon_beside(epsilon, square), epsilon_beside(epsilon, spread)});
}

int layout_of(const Tensor& t) {
  if (t.dense()) return 0;
  for (std::size_t i = 0; i < t.shape.size(); ++i)
    if (t.strides[i] == 0 && t.shape[i] > 1) return 3;
  return t.strides == dense_strides(t.shape) ? 1 : 2;
}

}  // namespace

CaseTraits traits_of(const Case& c) {
  const Tensor& x = geometry::first_input(c);
  const RowView rows = find_op(c.op)->rows(c);
  CaseTraits t;
  t.rows_class = size_class(rows.rows());
  t.cols_class = size_class(rows.cols());
  t.cols_modulo = static_cast<int>(rows.cols() % 8);
  t.largest_exponent = t.epsilon_beside = -2000;
  t.parameters = (c.input("weight") || c.input("q_weight") ? 1 : 0) + (c.input("bias") ? 2 : 0);
  t.layout = layout_of(x);
  std::vector<double> row(static_cast<std::size_t>(rows.cols()));
  for (std::int64_t r = 0; r < std::min(rows.rows(), kRowsLookedAt); ++r) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = x.value(rows.index(r, static_cast<std::int64_t>(i)));
    look_at_row(row, c.epsilon(), t);
  }
  return t;
}

void note_case(const Case& c, const CaseTraits& t) {
  const std::string_view regime = c.provenance ? std::string_view(c.provenance->regime) : "";
  note(Kind::kRegime, key_of(regime), t.cols_class, std::min(t.rows_class / 3, 12) / 4);
  // Every two traits together: what needs both is reached from what has one.
  const std::array<std::int64_t, 12> traits = {key_of(c.op),
                                               static_cast<std::int64_t>(c.dtype()),
                                               t.rows_class,
                                               t.cols_class,
                                               t.cols_modulo,
                                               t.cancelled_bits / 4,
                                               std::min(t.exponent_range / 8, 8),
                                               t.parameters,
                                               std::clamp(t.largest_exponent / 32, -5, 5),
                                               std::max(t.epsilon_beside, -33) / 3,
                                               t.specials,
                                               t.layout};
  for (std::size_t i = 0; i < traits.size(); ++i)
    for (std::size_t j = i + 1; j < traits.size(); ++j) note(Kind::kPair, 16 * i + j, traits[i], traits[j]);
}

void note_result(const Case& c, const CaseTraits& t, const Examination& e) {
  const auto op = key_of(c.op), dtype = static_cast<std::int64_t>(c.dtype());
  const Judgement& j = e.judgement;
  note(Kind::kVerdict, op, dtype, static_cast<int>(j.verdict), j.filtered_rows > 0, j.filtered_rows<j.rows, j.unbounded> 0);
  // Quarters of an octave: the worst ratio of this op and type so far is always worth keeping.
  if (j.worst_ratio > 0) {
    note(Kind::kRatio, op, dtype, static_cast<int>(std::floor(4 * std::log2(j.worst_ratio))));
    note(Kind::kRatio, op, dtype, log2_of(j.worst_ratio), t.cols_class);
  }
  for (const PropertyNote& p : e.properties) note(Kind::kProperty, op, dtype, key_of(p.id), p.met, p.broken);
}

}  // namespace normfuzz::fuzzing
