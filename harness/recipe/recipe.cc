#include "harness/recipe/recipe.h"

#include <algorithm>

namespace normfuzz::fuzzing {
namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  void operator()(T& field) {
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i, ++at_)
      if (at_ < bytes_.size()) v |= std::uint64_t{bytes_[at_]} << (8 * i);
    field = static_cast<T>(v);
  }
  bool at_end() const { return at_ >= bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

class Writer {
 public:
  template <class T>
  void operator()(T field) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(field) >> (8 * i)));
  }
  std::vector<std::uint8_t> bytes;
};

// The header's fields in the order of recipe.h.
template <class R, class Visit>
void each_field(R& r, Visit& visit) {
  visit(r.op);
  visit(r.dtype);
  visit(r.regime);
  visit(r.cols);
  visit(r.rows);
  visit(r.geometry);
  visit(r.call);
  visit(r.epsilon_form);
  visit(r.epsilon);
  visit(r.absent);
  visit(r.draw);
  visit(r.property);
  visit(r.property_draw);
}

}  // namespace

Recipe decode(std::span<const std::uint8_t> bytes) {
  Recipe r;
  Reader in(bytes);
  each_field(r, in);
  while (!in.at_end() && r.edits.size() < kMaxEdits) {
    std::uint8_t kind = 0;
    Edit e;
    in(kind);
    in(e.place);
    in(e.amount);
    e.kind = static_cast<EditKind>(kind % kEditKinds);
    r.edits.push_back(e.kind == EditKind::kNothing ? Edit{} : e);
  }
  while (!r.edits.empty() && r.edits.back().kind == EditKind::kNothing) r.edits.pop_back();
  return r;
}

std::vector<std::uint8_t> encode(const Recipe& r) {
  Writer out;
  each_field(r, out);
  for (const Edit& e : r.edits) {
    out(static_cast<std::uint8_t>(e.kind));
    out(e.place);
    out(static_cast<std::uint16_t>(e.amount));
  }
  while (!out.bytes.empty() && out.bytes.back() == 0) out.bytes.pop_back();
  return std::move(out.bytes);
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t b : bytes) {
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

}  // namespace normfuzz::fuzzing
