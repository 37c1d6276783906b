#include "core/tensor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/generators.h"

namespace normfuzz {
namespace {

using Integers = std::vector<std::int64_t>;

TEST(Tensor, SizeIsCheckedAgainst64Bits) {
  EXPECT_EQ(checked_size({}), 1);
  EXPECT_EQ(checked_size({2, 3, 4}), 24);
  EXPECT_EQ(checked_size({2, 0}), 0);
  EXPECT_EQ(checked_size({2, -1}), -1);
  const std::int64_t large = std::int64_t{1} << 31;
  EXPECT_EQ(checked_size({large, large}), std::int64_t{1} << 62);
  EXPECT_EQ(checked_size({large, large, 2}), -1);
}

TEST(Tensor, DenseStridesAreRowMajor) {
  EXPECT_EQ(dense_strides({2, 3, 4}), (Integers{12, 4, 1}));
  EXPECT_EQ(dense_strides({}), Integers{});
}

TEST(Tensor, ZerosAreDenseAndZero) {
  const Tensor t = Tensor::zeros(DType::kF16, {2, 3});
  EXPECT_TRUE(t.dense());
  EXPECT_EQ(t.data.size(), 12u);
  EXPECT_EQ(t.extent(), 6);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(t.bits(i), 0u);
}

TEST(Tensor, LayoutOtherThanRowMajorIsNotDense) {
  const Tensor dense = Tensor::zeros(DType::kF32, {2, 3});
  Tensor t = dense;
  t.offset = 1;
  EXPECT_FALSE(t.dense());
  t = dense;
  t.misalign = 4;
  EXPECT_FALSE(t.dense());
  t = dense;
  t.strides = {4, 1};
  EXPECT_FALSE(t.dense());
  EXPECT_NE(t, dense);
}

TEST(Tensor, OffsetsFollowTheStrides) {
  Tensor t = Tensor::zeros(DType::kF32, {2, 3});
  t.strides = {10, 2};
  t.offset = 5;
  EXPECT_EQ(t.element_offsets(), (Integers{5, 7, 9, 15, 17, 19}));
  EXPECT_EQ(t.extent(), 20);
  t.strides = {0, 1};
  EXPECT_EQ(t.element_offsets(), (Integers{5, 6, 7, 5, 6, 7}));
}

TEST(Tensor, ScalarHasOneElement) {
  Tensor t = Tensor::zeros(DType::kF64, {});
  t.set_value(0, 3);
  EXPECT_EQ(t.value(0), 3);
  EXPECT_EQ(t.element_offsets(), Integers{0});
}

RC_GTEST_PROP(TensorProperty, OffsetsAreTheDotProductOfIndexAndStrides, ()) {
  const Tensor t = *testing::any_tensor();
  const Integers offsets = t.element_offsets();
  RC_ASSERT(static_cast<std::int64_t>(offsets.size()) == t.size());
  const Integers dense = dense_strides(t.shape);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    std::int64_t expected = t.offset;
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis) expected += i / dense[axis] % t.shape[axis] * t.strides[axis];
    RC_ASSERT(offsets[static_cast<std::size_t>(i)] == expected);
  }
  RC_ASSERT(*std::max_element(offsets.begin(), offsets.end()) + 1 == t.extent());
}

RC_GTEST_PROP(TensorProperty, BitsAreKept, ()) {
  const DType d = *testing::any_dtype();
  Tensor t = Tensor::zeros(d, {3});
  const std::uint64_t bits = *testing::any_bits(d);
  t.set_bits(1, bits);
  RC_ASSERT(t.bits(1) == bits);
  RC_ASSERT(t.bits(0) == 0u);
  RC_ASSERT(t.bits(2) == 0u);
  t.set_value(2, t.value(1));
  RC_ASSERT(t.bits(2) == bits);
}

}  // namespace
}  // namespace normfuzz
