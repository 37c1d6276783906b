#include "harness/generate/shape.h"

#include <algorithm>
#include <utility>

namespace normfuzz {
namespace {

// Hidden sizes of published models (seen in PUBLIC_BUGS.md, 'Width and tails', and in model configurations), with head sizes at the start.
constexpr std::int64_t kRealWidths[] = {64,   80,   96,   128,  192,  256,  320,  384,  512,  768,  1024, 1280,
                                        1536, 1600, 2048, 2560, 2880, 3072, 3584, 4096, 5120, 6144, 7168, 8192};

std::int64_t near_power(Stream& s, int lo, int hi, int reach = 1) {
  const std::int64_t power = std::int64_t{1} << static_cast<int>(s.between(lo, hi));
  return power + s.between(-reach, reach);
}

std::int64_t few(Stream& s) {
  const std::uint64_t p = s.below(100);
  if (p < 35) return 1;
  if (p < 57) return 2;
  if (p < 72) return 3;
  return s.between(4, 9);
}

// Expected elements per case, about: 30, 220, 650, 3,500, 40,000, 160,000; the shares keep the mean below 300.
Extent tiny(Stream& s) {
  const std::int64_t rows = few(s);
  return {rows, s.between(1, 17)};
}
Extent small(Stream& s) {
  const std::int64_t rows = few(s);
  return {rows, s.chance(50) ? near_power(s, 4, 8) : s.between(18, 257)};
}
Extent tall(Stream& s) {
  const std::int64_t rows = s.chance(60) ? s.between(255, 257) : s.chance(50) ? near_power(s, 5, 9) : s.between(18, 600);
  return {rows, s.between(1, 4)};
}
Extent wide(Stream& s) {
  const std::int64_t rows = s.chance(75) ? 1 : s.between(2, 3);
  return {rows, s.chance(50) ? kRealWidths[s.below(std::size(kRealWidths))] : near_power(s, 9, 13)};
}
Extent very_wide(Stream& s) { return {1, near_power(s, 14, 16)}; }
Extent very_tall(Stream& s) {
  const std::int64_t rows = s.between(65535, 65537);
  return {rows, s.between(1, 4)};
}

struct SizeClass {
  std::uint64_t share;  // of 10,000
  Extent (*draw)(Stream&);
  bool large;
};
constexpr SizeClass kSizeClasses[] = {{6840, tiny, false}, {2500, small, false}, {400, tall, false},
                                      {250, wide, false},  {8, very_wide, true}, {2, very_tall, true}};

Extent draw_class(Stream& s, bool large_shapes) {
  std::uint64_t at = s.below(10000);
  for (const SizeClass& c : kSizeClasses) {
    if (at < c.share) return c.large && !large_shapes ? wide(s) : c.draw(s);
    at -= c.share;
  }
  return tiny(s);
}

}  // namespace

Extent draw_extent(Stream s, const Regime& regime, const GeneratorOptions& options) {
  Extent e = draw_class(s, options.large_shapes);
  if (regime.widths == Widths::kNearPowerOfTwo) e.cols = std::max<std::int64_t>(1, near_power(s, 1, e.cols > 257 ? 12 : 8, 3));
  if (regime.cols > 0) {
    // Wide classes would multiply a fixed large width; few rows are enough to see neighbours.
    if (regime.cols > 17) e.rows = std::min<std::int64_t>(e.rows, 4);
    e.cols = regime.cols;
  }
  e.rows = std::max(e.rows, regime.min_rows);
  const std::int64_t budget = std::clamp<std::int64_t>(options.max_elements, 1, std::int64_t{1} << 20);
  e.cols = std::min(e.cols, budget);
  e.rows = std::clamp<std::int64_t>(e.rows, 1, budget / e.cols);
  return e;
}

std::vector<std::int64_t> split_extent(Stream& s, std::int64_t n, int count) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(count), 1);
  for (int i = 0; i + 1 < count; ++i) {
    const auto factor = s.pick<std::int64_t>({1, 2, 2, 3, 3, 4, 5, 7, 8, 16});
    if (n % factor != 0) continue;
    extents[static_cast<std::size_t>(i)] = factor;
    n /= factor;
  }
  if (count > 0) {
    extents.back() = n;
    std::swap(extents.back(), extents[s.below(static_cast<std::uint64_t>(count))]);
  }
  return extents;
}

}  // namespace normfuzz
