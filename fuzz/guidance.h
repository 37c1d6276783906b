// What libFuzzer is told beside its coverage, by way of the extra counters: how near a case came to its bounds, which kinds of case have
// been seen, and what the oracle's arithmetic had to cope with. Coverage alone sees none of that where a target is not instrumented.
#pragma once

#include "harness/examine.h"

namespace normfuzz::fuzzing {

// A case as guidance sees it. Logarithms are floors of base 2, taken in double over the first rows: they steer and judge nothing.
struct CaseTraits {
  int rows_class = 0, cols_class = 0;  // octave, and whether a power of two, one beside it, or another number
  int cols_modulo = 0;                 // 8: what is left for the tail of a vector loop
  int cancelled_bits = 0;              // lost by x - mean: log of |mean| over the standard deviation; 0 below, 64 for a constant row
  int exponent_range = 0;              // octaves between the largest and the smallest number that is not 0
  int largest_exponent = 0;
  int epsilon_beside = 0;  // how near epsilon is to the mean square: bits that agree, or 0 and minus the octaves between
  int parameters = 0;      // which of weight and bias there are
  int specials = 0;        // NaN, infinity, -0
  int layout = 0;          // of the rows: dense, offset or misaligned, strided, broadcast
};
CaseTraits traits_of(const Case& c);

// Sets the features of a case, and after it has been judged those of the result.
void note_case(const Case& c, const CaseTraits& traits);
void note_result(const Case& c, const CaseTraits& traits, const Examination& e);

}  // namespace normfuzz::fuzzing
