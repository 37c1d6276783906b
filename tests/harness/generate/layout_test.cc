#include "harness/generate/layout.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/generate/generator.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kSeed = 20240501;

// Elements that share their place in memory hold the same bits: what a target reads is what the case says.
bool consistent(const Tensor& t) {
  std::map<std::int64_t, std::uint64_t> memory;
  const auto offsets = t.element_offsets();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::uint64_t bits = t.bits(static_cast<std::int64_t>(i));
    if (memory.try_emplace(offsets[i], bits).first->second != bits) return false;
  }
  return true;
}

TEST(Layout, EveryKindOccursAndEveryTensorIsConsistent) {
  std::map<std::string, int> seen;
  for (const DType dtype : kAllDTypes)
    for (std::uint64_t i = 0; i < 4000; ++i) {
      const Case c = generate(kSeed, "layer_norm", dtype, i, {.max_elements = 300});
      ASSERT_TRUE(static_cast<bool>(validate(c))) << i;
      for (const auto& [name, tensor] : c.inputs) {
        if (!tensor) continue;
        ASSERT_TRUE(consistent(*tensor)) << name << " of index " << i;
        ASSERT_EQ(tensor->misalign % static_cast<int>(tensor->element_bytes()), 0);
        ASSERT_LT(tensor->misalign, 64);
        // Elements 3 apart with a gap of 3 after each, offset 17: nothing is wider than that.
        ASSERT_LE(tensor->extent(), 12 * tensor->size() + 17) << "buffer of " << name << " of index " << i;
        if (tensor->offset > 0) ++seen[name + " offset"];
        if (tensor->misalign > 0) ++seen[name + " misaligned"];
        if (tensor->dense()) ++seen[name + " dense"];
        std::int64_t inner = 1, last = 0;
        for (std::size_t axis = tensor->shape.size(); axis-- > 0;) {
          if (tensor->shape[axis] == 1) continue;
          const std::int64_t stride = tensor->strides[axis];
          if (stride == 0) ++seen[name + " broadcast"];
          if (last == 0 && stride > 1) ++seen[name + " elements apart"];
          if (last > 0 && stride > inner) ++seen[name + " gap"];
          if (last > 0 && stride > 0 && stride < last) ++seen[name + " transposed"];
          last = stride;
          inner = stride * tensor->shape[axis];
        }
      }
    }
  for (const char* what :
       {"x dense", "x offset", "x misaligned", "x broadcast", "x elements apart", "x gap", "x transposed", "weight dense", "weight offset",
        "weight misaligned", "weight broadcast", "weight elements apart", "bias dense", "bias elements apart", "bias broadcast"})
    EXPECT_GT(seen[what], 20) << what;
}

TEST(Layout, ConsistencyCanFailAndIsRestored) {
  Tensor t = Tensor::zeros(DType::kF32, {3, 2, 4});
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_value(i, static_cast<double>(i));
  t.strides = {0, 4, 1};
  EXPECT_FALSE(consistent(t));
  make_consistent(t);
  EXPECT_TRUE(consistent(t));
  for (std::int64_t i = 0; i < t.size(); ++i) EXPECT_EQ(t.value(i), static_cast<double>(i % 8));
}

TEST(Layout, ManyRowsGetNoWideBuffer) {
  for (std::uint64_t k = 0; k < 200; ++k) {
    Tensor t = Tensor::zeros(DType::kF16, {65537, 3});
    draw_layout(Stream(k), t, 1, true);
    EXPECT_LE(t.extent(), 2 * t.size());
  }
}

}  // namespace
}  // namespace normfuzz
