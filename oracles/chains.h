// The rounding-error chains of ERROR_MODEL.md for the moments of a row, its scale 1/sqrt(. + epsilon) and the map over its elements.
// Written once: on `Up` for the verdict (with MPFR centres), on SIMD doubles for the filter.
// All bounds are a priori: functions of the stored inputs and the contract, never of a kernel's output.
#pragma once

#include <cstdint>

#include "oracles/contract.h"
#include "oracles/number/up.h"

namespace normfuzz {

// Why a bound is infinite. kOverflow permits what the range of the accumulation type forces (verdict range_limit); the others are
// undecided.
enum class Limit : std::uint8_t { kNone, kOverflow, kPrecision, kZeroDenominator };

// The constants of a contract's arithmetic.
struct RoundingProfile {
  double u = 0;          // unit roundoff of the accumulation type
  double eta = 0;        // absolute error of a product: half the smallest subnormal, or the smallest normal with flush-to-zero
  double eta_sum = 0;    // of a sum, difference or FMA: 0 without flush-to-zero
  double eta_input = 0;  // of a stored input: 0 without denormals-are-zero
  double max = 0;        // largest finite number of the accumulation type
  double root_ulps = 0;  // k of the row 'sqrt, rsqrt' of the ball table
  double output_u = 0, output_eta = 0, output_limit = 0;  // cast to the storage type; u = 0 when there is none. limit = max + ulp/2
  double output_max = 0;
  bool representable_count = true;  // n is a number of the accumulation type

  RoundingProfile(const Contract& contract, DType storage, std::int64_t n);
};

// What the chains need to know of the exact row. Upper bounds, and an enclosure of the variance.
struct RowStatistics {
  std::int64_t n = 0;
  Up mean;                          // |mean|
  double variance_lower = 0;        // >= 0
  Up variance;                      // >= the exact variance
  Up mean_abs, mean_abs_deviation;  // sum|x|/n, sum|x - mean|/n
  double mean_square_lower = 0;
  Up mean_square;  // sum x^2/n
  Up max_abs;
};

// Radius of a computed statistic, maximum over the algorithms that the contract allows.
struct MomentsRadius {
  Up mean, variance;
  bool clipped_at_zero = true;  // every allowed algorithm computes a variance >= 0
  Limit limit = Limit::kNone;
};
// The given variance + epsilon may reach the largest number of the accumulation type.
inline bool leaves_range(double variance, double epsilon, const RoundingProfile& p) {
  return !((Up(variance) + Up(epsilon)) * (Up(1) + Up(4 * p.u)) < Up(p.max));
}
// How far a stored number is from what a kernel reads: a wider type rounded to the accumulation type, a subnormal read as 0.
Up read_error(double stored, const Contract& contract, const RoundingProfile& profile);
// Radius of `magnitude` / n, computed from a sum of that radius by a division, or a multiplication by a rounded 1/n.
Up divided_by_count(Up magnitude, Up radius, std::int64_t n, const RoundingProfile& p);
// The profile of statistics: without underflow where the contract is robust.
RoundingProfile statistics_profile(const Contract& contract, RoundingProfile p);
MomentsRadius moments_radius(const RowStatistics& row, const Contract& contract, const RoundingProfile& p);
MomentsRadius mean_square_radius(const RowStatistics& row, const Contract& contract, const RoundingProfile& p);

// s = 1/sqrt(w), w = statistic + epsilon: an upper bound of the exact s, the radius of the computed one, and the largest computed one.
struct ScaleRadius {
  Up exact, radius, computed;
  Limit limit = Limit::kNone;
};
ScaleRadius scale_radius(double statistic_lower, Up statistic, const MomentsRadius& r, double epsilon, const Contract& contract,
                         const RoundingProfile& p);

// Radius of one output element as a function of its own magnitudes; the coefficients are those of the row.
// LayerNorm, 'Centred map' (three association orders), with the terms of the folded map when the contract allows it:
//   E1 = |g| (e_d r_hi + |d| e_r),  e_d = E_mu (1 + u) + u |d|
//   E2 = E1 (1+u)^2 + (2u + u^2) |d r g| + eta (1+u) (max(|g|, |d| + e_d, r_hi) + 1)
//   folded: + 2u (1+8u) (|x| + |mu| + E_mu) |g| r_hi + u |b| + eta (2|g| + |d| + 4)
//   cast before the weight: + |g| (u_out c + eta_out), c = (|d| + e_d) r_hi (1+u); and, with a bias, that of a product rounded to that type
//   then + b and the cast.
// RMSNorm: the same with d = x, E_mu = 0 and, with a weight offset, one more product factor.
struct MapRadius {
  Up g, gd, gx, b, y;              // coefficients of |g|, |g||d|, |g||x|, |b|, |y|
  Up eta, eta_g, eta_d, constant;  // eta (1+u): of max(...); of |g| and |d|: folded and flushes; constant
  Up e_d, e_d_slope, computed;     // e_d = e_d + slope |d|; largest computed scale

  Up radius(Up abs_x, Up abs_d, Up abs_g, Up abs_b, Up abs_y) const {
    const Up largest = max(max(abs_g, abs_d + e_d + e_d_slope * abs_d), computed);
    return abs_g * (g + gd * abs_d + gx * abs_x) + b * abs_b + y * abs_y + eta * largest + eta_g * abs_g + eta_d * abs_d + constant;
  }
};

struct MapRow {  // of a row: what MapRadius is made from
  Up mean, mean_radius;
  ScaleRadius scale;
  bool centred_on_mean = true;  // false: rms_norm
  bool weight_offset = false;
  bool biased = false;            // a bias follows the product
  bool given_statistics = false;  // they bound no difference, so nothing is cast before the weight
};
MapRadius map_radius(const MapRow& row, const Contract& contract, const RoundingProfile& p);

// The normalized x passes through the storage type.
inline bool casts_before_weight(const MapRow& row, const Contract& contract, const RoundingProfile& p) {
  return contract.cast_before_weight && p.output_u > 0 && !row.given_statistics;
}

}  // namespace normfuzz
