#include "harness/recipe/mutate.h"

#include "harness/generate/stream.h"
#include "harness/recipe/recipe.h"

namespace normfuzz::fuzzing {
namespace {

std::uint16_t code(std::int64_t form, Stream& s) { return static_cast<std::uint16_t>(form << 8 | s.between(0, 255)); }

// A form of recipe.h, each as likely as any other.
std::uint16_t cols_code(Stream& s) { return code(s.pick<std::int64_t>({0, 160, 220, 220, 244, 250 + s.between(0, 3), 254, 255}), s); }
std::uint16_t rows_code(Stream& s) { return code(s.pick<std::int64_t>({0, 0, 192, 232, 232, 248, 255}), s); }

std::uint8_t any_place(Stream& s) { return s.chance(60) ? kAllRows : static_cast<std::uint8_t>(s.between(0, 254)); }

// Mostly small exponents, sometimes as far as any type goes.
std::int16_t exponent(Stream& s) {
  const std::int64_t reach = s.pick<std::int64_t>({4, 16, 64, 300});
  return static_cast<std::int16_t>(s.between(-reach, reach));
}

Edit draw_edit(Stream& s) {
  Edit e;
  const EditKind any = static_cast<EditKind>(s.between(1, kEditKinds - 1));
  e.kind = s.pick({EditKind::kMean, EditKind::kScale, EditKind::kPlant, any, any, any});
  e.place = any_place(s);
  switch (e.kind) {
    case EditKind::kMean: {
      const std::int64_t reach = s.between(0, 26);
      e.amount = static_cast<std::int16_t>(s.chance(50) ? reach : -reach);
      break;
    }
    case EditKind::kScale:
    case EditKind::kScaleWeight:
    case EditKind::kScaleBias:
    case EditKind::kScaleSecond:
    case EditKind::kSecondAlong:
      e.amount = exponent(s);
      break;
    default:
      e.amount = static_cast<std::int16_t>(s.between(-32768, 32767));
  }
  return e;
}

void change_edits(Stream& s, Recipe& r) {
  const std::uint64_t kind = s.below(10);
  if (r.edits.empty() || (kind < 6 && r.edits.size() < kMaxEdits)) {
    r.edits.push_back(draw_edit(s));
    return;
  }
  Edit& e = r.edits[s.below(r.edits.size())];
  if (kind < 7)
    e = draw_edit(s);
  else if (kind < 9)
    e.amount = static_cast<std::int16_t>(e.amount + s.pick<std::int64_t>({-16, -1, 1, 16}));
  else
    r.edits.erase(r.edits.begin() + (&e - r.edits.data()));
}

void change_epsilon(Stream& s, Recipe& r) {
  r.epsilon_form = s.pick<std::uint8_t>({0, 200, 224, 240, 248});
  r.epsilon = static_cast<std::uint8_t>(s.between(0, 255));
}

void change_one(Stream& s, Recipe& r) {
  switch (s.below(16)) {
    case 0:
      r.cols = cols_code(s);
      break;
    case 1:
      r.rows = rows_code(s);
      break;
    case 2:  // a neighbour of the same form
      (s.chance(70) ? r.cols : r.rows) ^= static_cast<std::uint16_t>(s.between(1, 255));
      break;
    case 3:
      r.regime = static_cast<std::uint8_t>(s.between(0, 255));
      break;
    case 4:
      r.dtype = static_cast<std::uint8_t>(s.between(0, 3));
      break;
    case 5:
      r.op = static_cast<std::uint8_t>(s.between(0, 255));
      break;
    case 6:
      change_epsilon(s, r);
      break;
    case 7:
      r.absent = static_cast<std::uint8_t>(s.pick<int>({0, kNoWeight, kNoBias, kNoWeight | kNoBias}));
      break;
    case 8:
      r.call = static_cast<std::uint16_t>(s.next());
      break;
    case 9:
      r.geometry = static_cast<std::uint16_t>(s.next());
      break;
    case 10:
      r.draw = static_cast<std::uint32_t>(s.next());
      break;
    case 11:
      (s.chance(50) ? r.property : r.epsilon) ^= static_cast<std::uint8_t>(s.between(1, 255));
      r.property_draw = static_cast<std::uint16_t>(s.next());
      break;
    default:
      change_edits(s, r);
  }
}

template <class T>
T either(Stream& s, T a, T b) {
  return s.chance(50) ? a : b;
}

}  // namespace

std::vector<std::uint8_t> mutate(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  Stream s = Stream(seed).sub("mutate");
  Recipe r = decode(bytes);
  for (std::uint64_t left = 1 + s.below(4); left > 0; --left) change_one(s, r);
  return encode(r);
}

std::vector<std::uint8_t> refine(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  Stream s = Stream(seed).sub("refine");
  Recipe r = decode(bytes);
  const std::int64_t size = std::int64_t{1} << s.below(7), step = s.chance(50) ? size : -size;
  const std::uint64_t place = s.below(r.edits.size() + 1);
  if (place < r.edits.size())
    r.edits[place].amount = static_cast<std::int16_t>(r.edits[place].amount + step);
  else if (r.epsilon_form >= 200)
    r.epsilon = static_cast<std::uint8_t>(r.epsilon + step);
  else
    r.edits.size() < kMaxEdits ? r.edits.push_back(draw_edit(s)) : change_epsilon(s, r);
  return encode(r);
}

std::vector<std::uint8_t> cross(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::uint64_t seed) {
  Stream s = Stream(seed).sub("cross");
  const Recipe p = decode(a), q = decode(b);
  Recipe r;
  r.op = either(s, p.op, q.op);
  r.dtype = either(s, p.dtype, q.dtype);
  r.regime = either(s, p.regime, q.regime);
  r.cols = either(s, p.cols, q.cols);
  r.rows = either(s, p.rows, q.rows);
  r.geometry = either(s, p.geometry, q.geometry);
  r.call = either(s, p.call, q.call);
  const Recipe& epsilon = s.chance(50) ? p : q;
  r.epsilon_form = epsilon.epsilon_form;
  r.epsilon = epsilon.epsilon;
  r.absent = either(s, p.absent, q.absent);
  r.draw = either(s, p.draw, q.draw);
  r.property = either(s, p.property, q.property);
  r.property_draw = either(s, p.property_draw, q.property_draw);
  for (const Recipe* parent : {&p, &q})
    for (const Edit& e : parent->edits)
      if (r.edits.size() < kMaxEdits && s.chance(60)) r.edits.push_back(e);
  return encode(r);
}

std::vector<std::uint8_t> random_bytes(std::uint64_t seed) {
  Stream s = Stream(seed).sub("random");
  std::vector<std::uint8_t> bytes(kHeaderBytes + 4 * s.below(4));  // up to three edits
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(s.next());
  return bytes;
}

}  // namespace normfuzz::fuzzing
