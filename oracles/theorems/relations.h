// Comparisons that several properties share.
#pragma once

#include <functional>

#include "oracles/theorems/tools.h"

namespace normfuzz::theorems {

inline std::int64_t same_place(std::int64_t i) { return i; }

// Where element i of the first output is in the second one; -1: nowhere.
using PlaceOf = std::function<std::int64_t(std::int64_t)>;

// Two calls whose exact results are equal, element by element: the results differ by at most both bounds. Looks at sampled elements.
PropertyResult equal_within_bounds(const PropertyRun& a, const PropertyRun& b, std::string_view what, const PlaceOf& place = same_place,
                                   std::string_view output = {}, std::string_view other_output = {});
// The enclosures of the exact results meet.
PropertyResult equal_enclosures(const PropertyRun& a, const PropertyRun& b, std::string_view what, const PlaceOf& place = same_place,
                                std::string_view output = {});

// One comparison of numbers within a bound, noted in r: |got - expected| <= allowed. A void result becomes one that holds.
void compare(PropertyResult& r, std::string_view output, std::int64_t index, const Interval& got, const Interval& expected,
             const Interval& allowed, DType storage, std::string_view what);
// got <= limit + allowed.
void compare_at_most(PropertyResult& r, std::string_view output, std::int64_t index, const Interval& got, const Interval& limit,
                     const Interval& allowed, DType storage, std::string_view what);

// Element i of `base` and element place(i) of `other` (-1: none) have the same bits; with `sign` -1 the opposite number, with `zeros` +0
// and -0 are equal. All elements.
struct BitRule {
  double sign = 1;
  bool zeros_equal = false;
};
PropertyResult equal_bits(const PropertyRun& base, const PropertyRun& other, const PlaceOf& place, BitRule rule, std::string_view what);

// Of element `col` of a row: weight_offset + weight, and bias; 1 and 0 where absent.
double weight_at(const Case& c, std::int64_t col);       // rounded to double: for magnitudes
Interval exact_weight(const Case& c, std::int64_t col);  // 1 + 2^-60 is no double
double bias_at(const Case& c, std::int64_t col);

// Mean and population variance, mean square of a row of the first input.
struct RowMoments {
  Interval mean, variance, mean_square;
  bool constant = true;
};
RowMoments moments_of(const Case& c, const RowView& view, std::int64_t row);

}  // namespace normfuzz::theorems
