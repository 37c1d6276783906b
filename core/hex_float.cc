#include "core/hex_float.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace normfuzz {
namespace {

// Far beyond any double, far from overflowing int64 when the position of the point (at most 4 times a file's length) is added.
constexpr std::int64_t kExponentCap = std::int64_t{1} << 50;
// The longest exact decimal expansion of a double has 767 significant digits (2^-1074 times an odd 53-bit integer); one more is harmless.
constexpr int kMaxDecimalDigits = 768;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Consumes [+-]digits; false if there is no digit. Saturates at +-kExponentCap.
bool read_exponent(std::string_view& text, std::int64_t& exponent) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  std::int64_t value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    if (value < kExponentCap) value = value * 10 + (text[0] - '0');
    text.remove_prefix(1);
  }
  exponent = negative ? -value : value;
  return text.empty();
}

struct Significand {
  std::uint64_t bits = 0;     // leading 64 bits, as an integer
  std::int64_t exponent = 0;  // value = bits * 2^exponent
  bool digits = false;        // at least one was read
  bool exact = true;          // no nonzero digit was dropped
};

// Consumes H.H; leading zeros cost nothing, digits beyond 64 bits must be zero to stay exact.
Significand read_significand(std::string_view& text) {
  Significand s;
  bool fraction = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !fraction) {
      fraction = true;
      continue;
    }
    const int digit = hex_digit(text[i]);
    if (digit < 0) break;
    s.digits = true;
    if (s.bits >> 60 == 0) {
      s.bits = s.bits << 4 | static_cast<std::uint64_t>(digit);
      if (fraction) s.exponent -= 4;
    } else {
      if (digit != 0) s.exact = false;
      if (!fraction) s.exponent += 4;
    }
  }
  text.remove_prefix(i);
  return s;
}

// bits * 2^exponent if a double holds it.
bool assemble(std::uint64_t bits, std::int64_t exponent, double& value) {
  value = 0;
  if (bits == 0) return true;
  const int zeros = std::countr_zero(bits);
  bits >>= zeros;
  exponent += zeros;
  const std::int64_t top = exponent + std::bit_width(bits) - 1;
  if (std::bit_width(bits) > 53 || top > 1023 || exponent < -1074) return false;
  value = std::ldexp(static_cast<double>(bits), static_cast<int>(exponent));
  return true;
}

// The significant digits of a decimal, without leading and trailing zeros, and the power of ten of the first: equal for equal numbers.
struct DecimalDigits {
  std::string digits;
  std::int64_t power = 0;
  bool operator==(const DecimalDigits&) const = default;
};

DecimalDigits decimal_digits(std::string_view text) {
  DecimalDigits d;
  std::int64_t point = 0, position = 0;
  bool fraction = false;
  std::size_t i = text.starts_with('-') ? 1 : 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    ++position;
    if (!fraction) ++point;
    if (text[i] == '0' && d.digits.empty()) continue;
    if (d.digits.empty()) d.power = position;
    d.digits += text[i];
  }
  while (d.digits.ends_with('0')) d.digits.pop_back();
  if (d.digits.empty()) return {};
  std::int64_t exponent = 0;
  if (i < text.size()) {
    std::string_view rest = text.substr(i + 1);
    read_exponent(rest, exponent);
  }
  d.power = point - d.power + exponent;
  return d;
}

}  // namespace

void append_hex(std::string& out, double value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  if (bits >> 63) out += '-';
  if (std::isinf(value)) {
    out += "inf";
    return;
  }
  std::uint64_t mantissa = bits & 0xfffffffffffffu;
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent == -1023) {
    if (mantissa == 0) {
      out += "0x0p+0";
      return;
    }
    const int shift = std::countl_zero(mantissa) - 11;  // a subnormal is normalized: its leading one becomes the digit before the point
    mantissa = mantissa << shift & 0xfffffffffffffu;
    exponent = -1022 - shift;
  }
  out += "0x1";
  if (mantissa) out += '.';
  for (int shift = 48; mantissa; shift -= 4) {
    out += kDigits[mantissa >> shift & 15];
    mantissa &= (std::uint64_t{1} << shift) - 1;
  }
  out += exponent < 0 ? "p-" : "p+";
  char digits[8];
  const auto end = std::to_chars(digits, digits + sizeof digits, exponent < 0 ? -exponent : exponent);
  out.append(digits, end.ptr);
}

std::string hex_from_value(double value) {
  std::string out;
  append_hex(out, value);
  return out;
}

Result<double> value_from_hex(std::string_view text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  const auto malformed = [&] { return Error{in_quotes(text) + ", expected a C hexadecimal float, \"inf\", \"-inf\" or \"nan\""}; };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (!rest.starts_with("0x") && !rest.starts_with("0X")) return malformed();
  rest.remove_prefix(2);
  const Significand s = read_significand(rest);
  if (!s.digits) return malformed();
  std::int64_t exponent = 0;
  if (!rest.empty()) {
    if (rest[0] != 'p' && rest[0] != 'P') return malformed();
    rest.remove_prefix(1);
    if (!read_exponent(rest, exponent)) return malformed();
  }
  double value;
  if (!assemble(s.bits, s.exponent + exponent, value) || !s.exact)
    return Error{in_quotes(text) + ", expected a number that f64 holds exactly"};
  return negative ? -value : value;
}

Result<double> value_from_decimal(std::string_view text) {
  const auto inexact = [&] {
    return Error{std::string(text.substr(0, 40)) + ", expected a number that f64 holds exactly (write it in hexadecimal)"};
  };
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return inexact();
  char exact[kMaxDecimalDigits + 16];
  const int n = std::snprintf(exact, sizeof exact, "%.*e", kMaxDecimalDigits - 1, value);
  for (int i = 0; i < n; ++i)
    if (exact[i] == ',') exact[i] = '.';  // a locale's decimal point
  if (decimal_digits(text) != decimal_digits({exact, static_cast<std::size_t>(n)})) return inexact();
  return value;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kShown ? "...\"" : "\"");
}

}  // namespace normfuzz
