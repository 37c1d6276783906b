// Changes to a driver's bytes that are changes to the case behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace normfuzz::fuzzing {

// One to four of: a dimension to 2^k +- 1 or a width in use, all by a power of two, the mean moved, a special value planted, another
// regime, epsilon beside the mean square, a weight dropped, another draw, ... A pure function of its arguments; the result has at most
// kMaxRecipeBytes.
std::vector<std::uint8_t> mutate(std::span<const std::uint8_t> bytes, std::uint64_t seed);

// One number of the recipe by a power of two up or down: the amount of an edit, or epsilon. How a search closes in on a case that it knows
// to be bad: by halving, as a bisection does.
std::vector<std::uint8_t> refine(std::span<const std::uint8_t> bytes, std::uint64_t seed);

// Every field from one of two parents, and some of the edits of both.
std::vector<std::uint8_t> cross(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::uint64_t seed);

// Bytes that know of no other input: what guidance is compared with.
std::vector<std::uint8_t> random_bytes(std::uint64_t seed);

}  // namespace normfuzz::fuzzing
