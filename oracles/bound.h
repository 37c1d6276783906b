// The exact value of every output element of a case, and what a contract allows around it.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <string>
#include <vector>

#include "oracles/case_rows.h"
#include "oracles/chains.h"

namespace normfuzz {

// What an element must be. Where inputs are NaN or infinite there is no enclosure; there are these.
enum class Expectation : std::uint8_t {
  kValue,      // within `allowed` of the exact value
  kNan,        // every contract propagates the NaN of the row, weight or bias
  kNotFinite,  // an infinity in the row: NaN or an infinity, depending on the order of operations
  kAnything,   // infinite weight or bias, or an infinity whose effect depends on the order of operations
};

struct ElementBound {
  // The exact value is within `error` of head + tail (an unevaluated sum of two doubles).
  double head = 0, tail = 0, error = 0;
  double allowed = 0;    // largest |computed - exact| that keeps the contract; +inf where `limit` says why
  double magnitude = 0;  // |exact| + allowed before the final cast: reaching max + ulp/2 permits the infinity of that sign
  Limit limit = Limit::kNone;
  Expectation expect = Expectation::kValue;
};

// One bound per element of a slice, in slice order, with MPFR enclosures of `bits` bits (raised further while an enclosure is not finite).
std::vector<ElementBound> slice_bounds(const CaseRows& rows, std::int64_t slice, const Contract& contract, mpfr_prec_t bits = 192);

enum class ElementVerdict : std::uint8_t { kWithin, kViolation, kLimit, kUndecided };

// |computed - exact| as an interval, in double, rounded outward; NaN or infinite `got` gives {inf, inf}.
struct ErrorInterval {
  double lower, upper;
};
ErrorInterval error_of(double got, const ElementBound& b);

// kUndecided: the enclosure straddles the bound; ask again with more bits.
ElementVerdict certify(double got, const ElementBound& b, const Contract& contract, DType storage);

// Error in units of the last place of `storage` at the exact value (upper end); +inf for a got that is not finite where a value was due; 0
// where the exact value is 0.
double error_in_ulps(double got, const ElementBound& b, DType storage);

// A key that is equal for equal contracts: bounds are shared between targets by it.
std::string fingerprint(const Contract& contract);

}  // namespace normfuzz
