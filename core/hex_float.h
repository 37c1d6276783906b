// Floats as text without loss: C hexadecimal, and the rare decimal that is exact.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace normfuzz {

// The shortest normalized form that reads back to the same bits: "0x1.8p+1", "-0x0p+0", "0x1p-1074", "inf", "-inf"; any NaN is "nan".
std::string hex_from_value(double value);
void append_hex(std::string& out, double value);

// Any C hexadecimal float ([+-]0xH.HpD, the exponent may be missing), "inf", "-inf" or "nan" (the canonical NaN), if a double holds it
// exactly; otherwise an error that names what was read.
Result<double> value_from_hex(std::string_view text);

// A decimal number in JSON's grammar, if a double holds it exactly ("0.5", "1e22"; not "0.1").
Result<double> value_from_decimal(std::string_view text);

// `text` in double quotes for a one-line message: shortened, everything but printable ASCII replaced by '?'.
std::string in_quotes(std::string_view text);

}  // namespace normfuzz
