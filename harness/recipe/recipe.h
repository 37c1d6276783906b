// What a driver's bytes mean. The mapping is total: every byte string is a recipe, and every recipe a valid case (build_case.h).
//
// byte   field        meaning (all numbers little-endian; bytes behind the end read as 0)
// 0      op           of the family's ops, modulo their number; of a property family, of the property's ops
// 1      dtype        f64, f32, f16, bf16, modulo 4
// 2      regime       harness/generate/regimes.cc, modulo their number; a regime that fixes the width or asks for rows gets them
// 3-4    cols         form in the high byte, value v in the low one: 0-159 1 + v % 32; 160-219 1 + v; 220-243 2^5..2^12 (v % 8), plus
//                     v / 8 % 3 - 1; 244-249 a width of a published model; 250-253 1 + 16 v + 4 (form - 250); 254 1536 + v % 16; 255 1
// 5-6    rows         form and v as above: 0-191 1 + v % 8; 192-231 1 + v % 64; 232-247 2^4..2^12 (v % 9), plus v / 9 % 3 - 1;
//                     248-254 1 + 16 v; 255 65535 + v % 3 rows of one column, of ops that the filter certifies
// 7-8    geometry     a draw: rank, axes, layout parameter, groups
// 9-10   call         a draw: scalar parameters, weight, bias, running statistics
// 11-12  epsilon      form, value v: 0-199 as drawn; 200-223 a usual one; 224-239 2^(v - 149); 240-247 the mean square of the first
//                     row times 1 + 2^-(v % 24), or 1 - .. from v = 128 on; 248-255 its variance likewise
// 13     absent       bit 1 set and bit 0 clear: no weight; bit 3 set and bit 2 clear: no bias
// 14-17  rows' draw   the numbers of the regime, and the layout of their tensors
// 18-20  property     which (modulo), and the draw of its arguments; of property families
// 21-    edits        at most 8 of 4 bytes each: kind, place, amount (signed); see EditKind
//
// Small shapes have most of the codes because they cost least: random bytes give a mean of some 100 elements. A case has at most 4096
// elements (1024 where each costs an enclosure), except 65537 rows of one column and the regimes of fixed width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace normfuzz::fuzzing {

// What is done to the numbers once they are drawn. `rows`: row `place` modulo their number, or all for place 255. Powers of two are taken
// modulo 2^512, indices modulo what there is, results into the finite range of the type.
enum class EditKind : std::uint8_t {
  kNothing,
  kScale,        // rows times 2^amount
  kMean,         // rows plus 2^(|amount| % 64) times their spread, with the sign of amount
  kPlant,        // element amount / 16 of the rows := special value amount % 16
  kCopy,         // rows := row `amount`
  kNegate,       // rows
  kConstant,     // rows := their element `amount`
  kSpike,        // element amount / 32 of the rows times 2^(amount % 32)
  kTail,         // the last 1..4 elements (amount % 4) of the rows times 2^(amount / 4)
  kScaleWeight,  // times 2^amount
  kScaleBias,
  kScaleSecond,  // dy, b, residual or k
  kSecondAlong,  // dy, b or residual := x times 2^amount
  kPlantWeight,  // element `place` := special value `amount`
};
inline constexpr int kEditKinds = 14;
inline constexpr std::uint8_t kAllRows = 255;

struct Edit {
  EditKind kind = EditKind::kNothing;
  std::uint8_t place = 0;
  std::int16_t amount = 0;
  bool operator==(const Edit&) const = default;
};

struct Recipe {
  std::uint8_t op = 0, dtype = 0, regime = 0;
  std::uint16_t cols = 0, rows = 0;
  std::uint16_t geometry = 0, call = 0;
  std::uint8_t epsilon_form = 0, epsilon = 0, absent = 0;
  std::uint32_t draw = 0;
  std::uint8_t property = 0;
  std::uint16_t property_draw = 0;
  std::vector<Edit> edits;  // the last one is not kNothing
  bool operator==(const Recipe&) const = default;
};
inline constexpr std::size_t kMaxEdits = 8, kHeaderBytes = 21, kMaxRecipeBytes = kHeaderBytes + 4 * kMaxEdits;

inline constexpr std::uint8_t kNoWeight = 2, kNoBias = 8;  // of Recipe::absent

Recipe decode(std::span<const std::uint8_t> bytes);
// The shortest bytes that decode to this: decode(encode(r)) == r.
std::vector<std::uint8_t> encode(const Recipe& r);

// "0a1b..", for messages.
std::string hex_of(std::span<const std::uint8_t> bytes);

}  // namespace normfuzz::fuzzing
