#include "harness/generate/layout.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace normfuzz {
namespace {

// Above this many elements only padding by one and offsets: the buffer stays below twice the data.
constexpr std::int64_t kFreeLayoutElements = 1 << 16;

// Strides of a tensor whose dimensions lie in memory in `order` (innermost first), `inner` apart, with `pad` more elements per step of one
// dimension.
void stride_in_order(Tensor& t, const std::vector<std::size_t>& order, std::int64_t inner, std::size_t padded, std::int64_t pad) {
  std::int64_t stride = inner;
  for (const std::size_t axis : order) {
    t.strides[axis] = stride;
    stride *= t.shape[axis];
    if (axis == padded) stride += pad * t.strides[axis];
  }
}

void draw_base(Stream& s, Tensor& t) {
  if (s.chance(18)) t.offset = s.chance(50) ? s.between(1, 3) : s.between(4, 17);
  if (s.chance(14)) {
    const auto bytes = static_cast<std::int64_t>(t.element_bytes());
    t.misalign = static_cast<int>(bytes * s.between(1, 64 / bytes - 1));
  }
}

}  // namespace

void draw_layout(Stream s, Tensor& t, int leading, bool may_broadcast) {
  const auto rank = t.shape.size();
  draw_base(s, t);
  const std::uint64_t kind = s.below(100);
  if (kind < 58 || rank == 0) return;  // dense
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::reverse(order.begin(), order.end());
  const auto rows_at = static_cast<std::size_t>(leading);
  const bool large = t.size() > kFreeLayoutElements;
  if (kind < 74 || large) {  // a gap between rows: the stride of the last leading dimension exceeds the columns
    if (leading > 0) stride_in_order(t, order, 1, rows_at < rank ? rows_at : rank - 1, large ? 1 : s.between(1, 9));
  } else if (kind < 80) {  // a gap somewhere
    const std::size_t padded = s.below(rank);
    stride_in_order(t, order, 1, padded, s.between(1, 5));
  } else if (kind < 86) {  // elements apart
    const std::size_t padded = s.below(rank);
    const std::int64_t inner = s.between(2, 3);
    stride_in_order(t, order, inner, padded, s.between(0, 3));
  } else if (kind < 94) {  // transposed: dimensions in any order in memory, sometimes with a gap
    for (std::size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[s.below(i)]);
    const std::size_t padded = s.below(rank);
    stride_in_order(t, order, 1, padded, s.chance(25) ? s.between(1, 3) : 0);
  } else if (kind < 97) {  // dimensions of extent 1, whose stride nothing may depend on
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (t.shape[axis] == 1) t.strides[axis] = s.between(1, 100);
  } else if (may_broadcast) {  // one row, or one block of rows, seen several times
    for (std::size_t axis = 0; axis < rows_at; ++axis)
      if (s.chance(75)) t.strides[axis] = 0;
  }
}

void draw_parameter_layout(Stream s, Tensor& t, bool all_equal) {
  if (t.shape.empty() || t.size() > kFreeLayoutElements) return;
  if (s.chance(30)) draw_base(s, t);
  std::vector<std::size_t> order(t.shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::reverse(order.begin(), order.end());
  if (s.chance(8)) stride_in_order(t, order, s.between(2, 3), order.back(), 0);
  if (all_equal && s.chance(20)) std::fill(t.strides.begin(), t.strides.end(), 0);
}

void make_consistent(Tensor& t) {
  bool shared = false;
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) shared |= t.strides[axis] == 0 && t.shape[axis] > 1;
  if (!shared) return;
  const std::vector<std::int64_t> dense = dense_strides(t.shape);
  std::vector<std::int64_t> index(t.shape.size(), 0);
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) {
    std::int64_t source = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      if (t.strides[axis] != 0) source += index[axis] * dense[axis];
    t.set_bits(i, t.bits(source));
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < t.shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace normfuzz
