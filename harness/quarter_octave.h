// Positive numbers in quarters of octaves: bucket 4 e + q holds [1 + q/4, 1 + (q+1)/4) 2^e. Exact, so that machines agree.
#pragma once

#include <cmath>

namespace normfuzz {

inline constexpr int kBucketOfZero = -100000;     // 0 itself
inline constexpr int kBucketOfInfinity = 100000;  // +inf, and what has no number

// frexp gives a fraction in [1/2, 1): the octave below. Premise: v >= 0.
inline int quarter_octave(double v) {
  if (v == 0) return kBucketOfZero;
  if (!(v < HUGE_VAL)) return kBucketOfInfinity;
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);
  return 4 * (exponent - 1) + static_cast<int>(std::floor(8 * fraction)) - 4;
}

// The octave that a bucket lies in: floor(log2). Premise: not that of zero or infinity.
inline int octave_of(int bucket) { return bucket >= 0 ? bucket / 4 : -((3 - bucket) / 4); }

// The middle of a bucket: right to 1/8 octave.
inline double middle_of_quarter_octave(int bucket) {
  if (bucket == kBucketOfZero) return 0;
  if (bucket == kBucketOfInfinity) return HUGE_VAL;
  const int octave = octave_of(bucket);
  return std::ldexp(1 + (bucket - 4 * octave + 0.5) / 4, octave);
}

}  // namespace normfuzz
