// The exact result of a case, correctly rounded: what a perfect kernel would return.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "core/result.h"

namespace normfuzz {

// What x/0 is, where epsilon is 0 and the row has no spread (layer_norm) or no length (rms_norm).
enum class Reading {
  kTotalized,  // 0, as in a proof assistant: such a row gives the bias
  kIeee,       // 0/0 = NaN
};
std::optional<Reading> reading_from_name(std::string_view name);  // "totalized", "ieee"
std::string_view name_of(Reading r);

// Every output by name, in the dtype of the case, dense: the exact real result rounded once to nearest, ties to even. An exact zero is +0;
// a result that is not zero and rounds to zero keeps its sign. NaN and infinite inputs follow the formula over the extended reals: a row of
// layer_norm that holds one is NaN; an infinity in a row of rms_norm gives inf/inf = NaN where it stands and x/inf = 0 elsewhere; 0 * inf
// and inf - inf are NaN; an infinite weight or bias otherwise gives the infinity of that sign. In a backward, a number that is not finite
// makes NaN of the dx of its row and of the sums over rows that it enters.
// An error names the field of the case at fault.
Result<std::map<std::string, Tensor>> exact_outputs(const Case& c, Reading reading = Reading::kTotalized);

inline constexpr int kMaxDigits = 1000;
// The same in decimal, correctly rounded to `digits` significant digits (1 to kMaxDigits), as "-1.3416407864998738e+0", "0", "nan", "inf";
// before any rounding to the dtype.
Result<std::map<std::string, std::vector<std::string>>> exact_decimal(const Case& c, int digits, Reading reading = Reading::kTotalized);

}  // namespace normfuzz
