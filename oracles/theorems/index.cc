// chan.* and graph.* on indices: exhaustive for small extents, sampled near 2^40, with overflow refused.
#include <fmt/format.h>

#include <algorithm>

#include "core/row_view.h"
#include "oracles/theorems/index_maps.h"
#include "oracles/theorems/tools.h"

namespace normfuzz {
namespace theorems {

std::optional<std::int64_t> volume(const Extents& e) {
  if (e.c < 1 || e.h < 1 || e.w < 1) return std::nullopt;
  std::int64_t area = 0, all = 0;
  if (__builtin_mul_overflow(e.h, e.w, &area) || __builtin_mul_overflow(e.c, area, &all)) return std::nullopt;
  return all;
}

namespace {

constexpr std::int64_t kExhaustive = 12;  // extents up to which all sizes are tried
constexpr int kSample = 64;

struct Place {
  std::int64_t c, h, w;
};
// Of an offset in [c, h w] read as (ci, (hi, wi)), and in [c h, w] read as ((ci, hi), wi).
Place split_forward(const Extents& e, std::int64_t k) { return {k / (e.h * e.w), k % (e.h * e.w) / e.w, k % (e.h * e.w) % e.w}; }
Place split_backward(const Extents& e, std::int64_t k) { return {k / e.w / e.h, k / e.w % e.h, k % e.w}; }

std::int64_t reassoc_forward(const Extents& e, std::int64_t k) {
  const Place p = split_forward(e, k);
  return (p.c * e.h + p.h) * e.w + p.w;
}
std::int64_t reassoc_backward(const Extents& e, std::int64_t k) {
  const Place p = split_backward(e, k);
  return p.c * (e.h * e.w) + (p.h * e.w + p.w);
}
std::int64_t transpose(std::int64_t m, std::int64_t n, std::int64_t k) { return k % n * m + k / n; }
std::int64_t rows(const Extents& e, std::int64_t j) { return transpose(e.c, e.h * e.w, reassoc_backward(e, j)); }
std::int64_t rows_inverse(const Extents& e, std::int64_t o) { return reassoc_forward(e, transpose(e.h * e.w, e.c, o)); }

std::optional<Extents> extents_of(const PropertyArgs& args) {
  const auto c = integer_arg(args, "c"), h = integer_arg(args, "h"), w = integer_arg(args, "w");
  if (!c || !h || !w || *c < 1 || *h < 1 || *w < 1) return std::nullopt;
  return Extents{*c, *h, *w};
}

// One index of one law: what it is and what it should be.
struct Mismatch {
  std::int64_t index, got, expected;
};
using Law = std::optional<Mismatch> (*)(const IndexMaps&, const Extents&, std::int64_t);

std::optional<Mismatch> unless_equal(std::int64_t index, std::int64_t got, std::int64_t expected) {
  return got == expected ? std::nullopt : std::optional<Mismatch>({index, got, expected});
}
std::optional<Mismatch> forward_law(const IndexMaps& m, const Extents& e, std::int64_t k) {
  return unless_equal(k, m.reassoc_forward(e, k), k);
}
std::optional<Mismatch> backward_law(const IndexMaps& m, const Extents& e, std::int64_t k) {
  return unless_equal(k, m.reassoc_backward(e, k), k);
}
std::optional<Mismatch> inverse_law(const IndexMaps& m, const Extents& e, std::int64_t k) {
  if (auto wrong = unless_equal(k, m.rows_inverse(e, m.rows(e, k)), k)) return wrong;
  return unless_equal(k, m.rows(e, m.rows_inverse(e, k)), k);
}
// Row s = (hi, wi) and channel ci of the activation, by strides, is the reindexed element.
std::optional<Mismatch> reindex_law(const IndexMaps& m, const Extents& e, std::int64_t o) {
  const RowView view({{e.h, e.w}, {e.w, 1}}, {{e.c, e.h * e.w}});
  return unless_equal(o, m.rows_inverse(e, o), view.index(o / e.c, o % e.c));
}
std::optional<Mismatch> transpose_law(const IndexMaps& m, const Extents& e, std::int64_t k) {
  const std::int64_t area = e.h * e.w;
  return unless_equal(k, m.transpose(area, e.c, m.transpose(e.c, area, k)), k);
}
std::int64_t offset(const IndexMaps& m, const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& at) {
  const auto strides = m.strides(shape);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) sum += strides[i] * at[i];
  return sum;
}
std::optional<Mismatch> cast_law(const IndexMaps& m, const Extents& e, std::int64_t k) {
  const Place p = split_backward(e, k);
  return unless_equal(k, offset(m, {e.c, e.h, e.w}, {p.c, p.h, p.w}), offset(m, {e.c * e.h * e.w}, {k}));
}
std::optional<Mismatch> reassoc_law(const IndexMaps& m, const Extents& e, std::int64_t k) {
  const Place p = split_backward(e, k);
  return unless_equal(k, offset(m, {e.c, e.h * e.w}, {p.c, p.h * e.w + p.w}), offset(m, {e.c * e.h * e.w}, {k}));
}
std::optional<Mismatch> unassoc_law(const IndexMaps& m, const Extents& e, std::int64_t k) {
  const Place p = split_forward(e, k);
  return unless_equal(k, offset(m, {e.c * e.h, e.w}, {p.c * e.h + p.h, p.w}), offset(m, {e.c, e.h * e.w}, {p.c, p.h * e.w + p.w}));
}

// Every offset of a small size is hit exactly once; of a large one, images of different offsets differ and stay inside.
std::optional<Mismatch> permutation_broken(const IndexMaps& m, const Extents& e, std::int64_t size, const std::vector<std::int64_t>& at) {
  std::vector<std::pair<std::int64_t, std::int64_t>> images;
  for (const std::int64_t k : at) {
    images.emplace_back(m.rows(e, k), k);
    if (images.back().first < 0 || images.back().first >= size) return Mismatch{k, images.back().first, size};
  }
  std::sort(images.begin(), images.end());
  for (std::size_t i = 1; i < images.size(); ++i)
    if (images[i].first == images[i - 1].first && images[i].second != images[i - 1].second)
      return Mismatch{images[i].second, images[i].first, images[i - 1].second};
  return std::nullopt;
}

Law law_named(std::string_view id) {
  static constexpr std::pair<std::string_view, Law> kLaws[] = {
      {"chan.reassoc_fwd_index", forward_law},
      {"chan.reassoc_back_index", backward_law},
      {"chan.rows_index_inverse", inverse_law},
      {"chan.rows_reindex", reindex_law},
      {"chan.transpose_involution", transpose_law},
      {"graph.cast_index", cast_law},
      {"graph.reassoc", reassoc_law},
      {"graph.unassoc", unassoc_law},
  };
  for (const auto& [name, law] : kLaws)
    if (name == id) return law;
  return nullptr;
}

std::vector<std::int64_t> indices(const Extents& e, std::int64_t size, std::uint64_t seed) {
  std::vector<std::int64_t> at;
  if (e.c <= kExhaustive && e.h <= kExhaustive && e.w <= kExhaustive) {
    for (std::int64_t k = 0; k < size; ++k) at.push_back(k);
    return at;
  }
  Draw draw(seed);
  at = {0, size - 1};
  while (at.size() < kSample) at.push_back(static_cast<std::int64_t>(draw.next() % static_cast<std::uint64_t>(size)));
  return at;
}

// Half of the draws are one of the 12^3 small sizes, half random extents whose product is near 2^40.
std::optional<PropertyArgs> choose_extents(const Case&, std::uint64_t state) {
  Draw draw(state);
  std::int64_t e[3];
  if (draw.next() % 2 == 0) {
    for (std::int64_t& extent : e) extent = draw.between(1, kExhaustive);
  } else {
    constexpr std::int64_t kBits = 40;
    const std::int64_t first = draw.between(0, kBits - 2), second = draw.between(0, kBits - 2 - first);
    const std::int64_t bits[] = {first, second, kBits - first - second};
    for (int i = 0; i < 3; ++i)
      e[i] = (std::int64_t{1} << bits[i]) - (bits[i] > 1 ? draw.between(0, (std::int64_t{1} << (bits[i] - 1)) - 1) : 0);
    std::swap(e[draw.between(0, 2)], e[2]);
  }
  return PropertyArgs{
      {"c", std::to_string(e[0])}, {"h", std::to_string(e[1])}, {"w", std::to_string(e[2])}, {"seed", std::to_string(draw.next() >> 32)}};
}
bool extents_meet(const Case&, const PropertyArgs& args) {
  const auto e = extents_of(args);
  return e && volume(*e);
}

template <const char* id>
PropertyResult check_law(const PropertyArgs& args) {
  return check_index_law(id, args, kIndexMaps);
}

}  // namespace

const IndexMaps kIndexMaps = {
    reassoc_forward, reassoc_backward, rows,
    rows_inverse,    transpose,        [](const std::vector<std::int64_t>& shape) { return dense_strides(shape); }};

PropertyResult check_index_law(std::string_view id, const PropertyArgs& args, const IndexMaps& maps) {
  const auto e = extents_of(args);
  const auto size = e ? volume(*e) : std::nullopt;
  if (!size) return vacant();  // overflow is refused, not computed with
  const std::vector<std::int64_t> at = indices(*e, *size, static_cast<std::uint64_t>(integer_arg(args, "seed").value_or(0)));
  PropertyResult r;
  const auto note = [&](const Mismatch& m) {
    if (r.broken == 0)
      r.detail = fmt::format("c = {}, h = {}, w = {}: index {} gives {}, expected {}", e->c, e->h, e->w, m.index, m.got, m.expected);
    add(r, PropertyKind::kIndex, {"index", m.index, static_cast<double>(m.got), static_cast<double>(m.expected), 0, 0});
  };
  if (id == "chan.rows_permutation") {
    if (const auto wrong = permutation_broken(maps, *e, *size, at)) note(*wrong);
    return r;
  }
  const Law law = law_named(id);
  for (const std::int64_t k : at)
    if (const auto wrong = law(maps, *e, k)) note(*wrong);
  return r;
}

}  // namespace theorems

using namespace theorems;

namespace {

constexpr char kFwd[] = "chan.reassoc_fwd_index", kBack[] = "chan.reassoc_back_index", kInverse[] = "chan.rows_index_inverse",
               kPermutation[] = "chan.rows_permutation", kReindex[] = "chan.rows_reindex", kTranspose[] = "chan.transpose_involution",
               kCast[] = "graph.cast_index", kReassoc[] = "graph.reassoc", kUnassoc[] = "graph.unassoc";
constexpr std::string_view kPremises = "c, h, w >= 1; the product below 2^63, else refused";

template <const char* id>
Property index_property(std::string_view lean, std::string_view statement, std::string_view caught) {
  Property p;
  p.id = id;
  p.lean = lean;
  p.source = "seed 002";
  p.premises = kPremises;
  p.statement = statement;
  p.does_not_prove = "anything about a kernel: it is the map that the oracle and the chan.* properties are built on";
  p.caught = caught;
  p.kind = PropertyKind::kIndex;
  p.choose = choose_extents;
  p.meets = extents_meet;
  p.check_index = check_law<id>;
  return p;
}

}  // namespace

extern const Property kReassocForward = index_property<kFwd>(
    "reassocFwdIdx_val", "(ci, (hi, wi)) and ((ci, hi), wi) have the same row-major offset", "map with h and w exchanged");
extern const Property kReassocBackward = index_property<kBack>(
    "reassocBackIdx_val", "((ci, hi), wi) and (ci, (hi, wi)) have the same row-major offset", "map with h and w exchanged");
extern const Property kRowsInverse = index_property<kInverse>("chanRowsIdxInv_chanRowsIdx, chanRowsIdx_chanRowsIdxInv",
                                                              "the two index maps are mutual inverses", "inverse that reads (wi, hi)");
extern const Property kRowsPermutation =
    index_property<kPermutation>("chanRowsPerm", "a bijection of c h w offsets: every offset is hit once", "map that forgets the channel");
extern const Property kRowsReindex = index_property<kReindex>(
    "chanLNRows_eq_reindex", "the row view is the reindex by the inverse permutation", "inverse that reads (wi, hi)");
extern const Property kTransposeInvolution = index_property<kTranspose>(
    "transposeFlat_diff, transposeFlat_has_vjp", "transposing twice is the identity", "transpose with m and n exchanged");
extern const Property kGraphCast =
    index_property<kCast>("den_cast", "[c h w] and [c, h, w] hold every element at the same offset", "column-major strides");
extern const Property kGraphReassoc =
    index_property<kReassoc>("den_reassocS", "[c h w] and [c, (h w)] hold every element at the same offset", "column-major strides");
extern const Property kGraphUnassoc =
    index_property<kUnassoc>("den_unassocS", "[(c h), w] and [c, (h w)] hold every element at the same offset", "column-major strides");

}  // namespace normfuzz
