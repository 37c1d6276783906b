// Random numbers by counting: draw k of a stream is a fixed integer function of (key, k). No state is shared, so cases, tensors and rows
// can be generated in any order, and every sub-stream can be reached without drawing what comes before it (PROTOCOLS.md, 'Determinism').
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/mix_bits.h"

namespace normfuzz {

// 2^e exactly, -1074 <= e <= 1023 (subnormal below -1022).
constexpr double power_of_two(int e) {
  return std::bit_cast<double>(e >= -1022 ? static_cast<std::uint64_t>(e + 1023) << 52 : std::uint64_t{1} << (e + 1074));
}

// std::popcount, which without -mpopcnt is a call per number.
constexpr int count_bits(std::uint64_t v) {
  v -= (v >> 1) & 0x5555555555555555u;
  v = (v & 0x3333333333333333u) + ((v >> 2) & 0x3333333333333333u);
  return static_cast<int>((((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u) >> 56);
}

class Stream {
 public:
  constexpr explicit Stream(std::uint64_t key) : key_(key) {}

  // An independent stream named `purpose`; does not depend on how much was drawn here.
  constexpr Stream sub(std::uint64_t purpose) const { return Stream(mix_bits(key_ ^ mix_bits(purpose + kSubStream))); }
  constexpr Stream sub(std::string_view purpose) const {
    std::uint64_t h = key_;
    for (const char ch : purpose) h = mix_bits(h ^ static_cast<unsigned char>(ch)) + kGolden;
    return Stream(mix_bits(h ^ purpose.size()));
  }

  constexpr std::uint64_t next() { return mix_bits(key_ + kGolden * ++drawn_); }

  // Uniform on 0..n-1 (n >= 1) by multiplication: the high half of next() * n. Each value's probability is off 1/n by less than 2^-64.
  constexpr std::uint64_t below(std::uint64_t n) { return static_cast<std::uint64_t>((static_cast<Wide>(next()) * n) >> 64); }
  // Uniform on lo..hi, both included.
  constexpr std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(hi - lo) + 1));
  }
  constexpr bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  // v or -v. A function, not a factor: C++ leaves open which operand of a product draws first, and compilers differ. For the same reason no
  // expression here draws twice, except in arguments that a draw's own name encloses.
  constexpr double flip(double v) { return next() >> 63 ? -v : v; }
  template <class T>
  constexpr T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

  // Uniform on the multiples of 2^-53 in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // About standard normal, |g| < kGaussianBound: 64 uniform bits summed (a binomial count) plus one uniform number, all exact on the grid
  // 2^-47 (6 + 47 bits), then one multiplication by 1/sqrt(64/4 + 1/12), the inverse of its standard deviation.
  static constexpr double kGaussianBound = 8.11;  // (32 + 1/2) / sqrt(16 + 1/12) = 8.104...
  constexpr double gaussian() {
    const int count = count_bits(next()) - 32;
    const double fraction = static_cast<double>(next() >> 17) * 0x1p-47 - 0.5;
    return (count + fraction) * 0x1.feabfe867608ep-3;
  }

  // Log-uniform in the octaves 2^lo .. 2^(hi+1), each octave equally likely, `precision` significant bits; -1074 <= lo <= hi <= 1023. Exact
  // unless it falls among double's subnormals, where the last multiplication rounds once.
  constexpr double log_uniform(int lo, int hi, int precision) {
    const int e = static_cast<int>(between(lo, hi));
    const std::uint64_t hidden = std::uint64_t{1} << (precision - 1);
    return static_cast<double>(hidden + below(hidden)) * power_of_two(1 - precision) * power_of_two(e);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;     // 2^64 / golden ratio, odd: splitmix64's increment
  static constexpr std::uint64_t kSubStream = 0xd1b54a32d192ed03u;  // another odd constant, so that sub(k) is no draw of the stream itself
  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
};

}  // namespace normfuzz
