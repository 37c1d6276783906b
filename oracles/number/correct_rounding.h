// From an MPFR number to a storage format: one rounding to nearest, ties to even, subnormals and overflow included.
#pragma once

#include <mpfr.h>

#include <cstdint>

#include "core/dtype.h"

namespace normfuzz {

// The bits of `value` (a number of any precision, an infinity or NaN) rounded to nearest even into `d`. There is no step through double,
// which would round twice. A number of magnitude >= max + ulp/2 gives an infinity, as IEEE 754 section 4.3.1 says. Keeps the sign of a
// zero.
std::uint64_t correctly_rounded(DType d, mpfr_srcptr value);

}  // namespace normfuzz
