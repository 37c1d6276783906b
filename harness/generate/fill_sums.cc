#include <algorithm>
#include <bit>
#include <functional>

#include "harness/generate/fills.h"
#include "harness/generate/magnitude.h"

namespace normfuzz {
namespace {

// x_i and its negative: neighbours, or mirrored about the middle; an odd row has one small element left over.
void cancelling_pairs(RowDraw& d, Row row, Exponents range) {
  const bool mirrored = d.own.chance(50);
  const std::size_t n = row.size();
  if (n % 2 == 1) row[mirrored ? n / 2 : n - 1] = power_of_two(range.lo);
  for (std::size_t i = 0; i < n / 2; ++i) {
    const double a = d.own.flip(draw_magnitude(d.own, d.dtype, range));
    row[mirrored ? i : 2 * i] = a;
    row[mirrored ? n - 1 - i : 2 * i + 1] = -a;
  }
}

// Magnitudes over many octaves in the order that loses most (falling) or least (rising) in a sequential sum.
void sorted(RowDraw& d, Row row, Exponents range) {
  for (double& x : row) x = draw_magnitude(d.own, d.dtype, range);
  if (d.own.chance(50))
    std::sort(row.begin(), row.end());
  else
    std::sort(row.begin(), row.end(), std::greater<>());
}

// Signs alternate, magnitudes agree to k bits: partial sums swing while the total nearly cancels.
void alternating(RowDraw& d, Row row) {
  const double scale = draw_scale(d.own, d.dtype);
  const double spread = scale * power_of_two(-static_cast<int>(d.own.between(4, d.format().precision)));
  double sign = d.own.flip(1);
  for (double& x : row) {
    x = sign * (scale + spread * d.own.uniform());
    sign = -sign;
  }
}

// A large number, terms that it swallows, then its negative.
void swallowed(RowDraw& d, Row row) {
  const double large = draw_magnitude(d.own, d.dtype, d.dtype == DType::kF16 ? Exponents{0, 12} : Exponents{0, 24});
  const double small = large * power_of_two(-d.format().precision - static_cast<int>(d.own.between(-1, 2)));
  for (double& x : row) x = small * (1 + d.own.uniform());
  row.front() = large;
  if (row.size() > 1) row.back() = -large;
}

}  // namespace

void fill_adversarial_sums(RowDraw& d, Row row) {
  const Exponents range = d.dtype == DType::kF16 ? Exponents{-8, 10} : Exponents{-12, 24};
  switch (d.own.below(4)) {
    case 0:
      return cancelling_pairs(d, row, range);
    case 1:
      return sorted(d, row, range);
    case 2:
      return alternating(d, row);
    default:
      return swallowed(d, row);
  }
}

// Integers m 2^k with n m^2 <= 2^24: sums and sums of squares are exact in float32 in any order. |m| <= 2^8 also fits bf16.
void fill_few_bits(RowDraw& d, Row row) {
  const int log_n = std::bit_width(row.size() - 1);  // 2^log_n >= n
  const int bits = std::clamp((24 - log_n) / 2, 1, 8);
  const std::int64_t largest = std::int64_t{1} << static_cast<int>(d.own.between(1, bits));
  const double scale = power_of_two(static_cast<int>(d.own.chance(50) ? 0 : d.own.between(-6, 6)));
  for (double& x : row) x = scale * static_cast<double>(d.own.between(-largest, largest));
}

void fill_powers_of_two(RowDraw& d, Row row) {
  const int base = static_cast<int>(d.own.between(-6, 6)), octaves = static_cast<int>(d.own.between(0, 6));
  for (double& x : row) x = d.own.flip(power_of_two(base + static_cast<int>(d.own.between(0, octaves))));
}

void fill_equal_magnitudes(RowDraw& d, Row row) {
  const double a = rounded(d.dtype, draw_scale(d.own, d.dtype));
  for (double& x : row) x = d.own.flip(a);
}

// base + i step, as in arange: integers at first, rounded where the dtype runs out of bits. The period keeps long f16 rows finite:
// (2^11 + 2^11 * 4) 4 = 40,960 < 65,504.
void fill_ramp(RowDraw& d, Row row) {
  const std::int64_t reach = std::int64_t{1} << std::min(d.format().precision, 16);
  const std::size_t period = d.dtype == DType::kF16 ? 2048 : row.size();
  const auto base = static_cast<double>(d.own.chance(40) ? d.own.between(0, 1) : d.own.between(-reach, reach));
  const double step = d.own.flip(power_of_two(static_cast<int>(d.own.between(-2, 2))));
  const double scale = power_of_two(static_cast<int>(d.own.chance(50) ? 0 : d.own.between(-4, 2)));
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = scale * (base + step * static_cast<double>(i % period));
}

}  // namespace normfuzz
