// The generator reaches, without holding any of them, the inputs that are known to break frameworks. Each test prints the first index.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/generate/generator.h"
#include "tests/harness/generate/rows_of.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kSeed = 1;

template <class Predicate>
void expect_reached(const char* what, std::string_view op, DType dtype, std::uint64_t within, Predicate predicate) {
  for (std::uint64_t i = 0; i < within; ++i) {
    const Case c = generate(kSeed, op, dtype, i, {.large_shapes = false});
    if (!predicate(c)) continue;
    testing::Test::RecordProperty(what, std::to_string(i));
    return;
  }
  ADD_FAILURE() << what << ": not among the first " << within << " indices of " << op << " " << name_of(dtype);
}

template <class Predicate>
auto some_row(Predicate predicate) {
  return [=](const Case& c) {
    for (const auto& row : test::rows_of(c))
      if (predicate(row, c)) return true;
    return false;
  };
}
double magnitude(const std::vector<double>& row) {
  double m = 0;
  for (const double v : row) m = std::max(m, std::fabs(v));
  return m;
}
bool finite(const std::vector<double>& row) {
  for (const double v : row)
    if (!std::isfinite(v)) return false;
  return true;
}

TEST(Reach, OneFeatureNearTheEndOfTheType) {
  const auto near_the_end = [](const auto& row, const Case& c) {
    return row.size() == 1 && std::isfinite(row[0]) && std::fabs(row[0]) >= format_of(c.dtype()).max_finite / 2 && c.epsilon() > 0;
  };
  expect_reached("one_feature_f16", "layer_norm", DType::kF16, 1000, some_row(near_the_end));
  expect_reached("one_feature_bf16", "layer_norm", DType::kBF16, 5000, some_row(near_the_end));
  // The sum of squares of a single float32 overflows from 2^64 on.
  expect_reached("one_feature_f32", "layer_norm", DType::kF32, 1000, some_row([](const auto& row, const Case& c) {
                   return row.size() == 1 && std::isfinite(row[0]) && std::fabs(row[0]) >= 0x1p64 && c.epsilon() > 0;
                 }));
}

TEST(Reach, RowsFurtherApartThanTheirColumns) {
  expect_reached("outer_stride", "layer_norm", DType::kF32, 300, [](const Case& c) {
    const Tensor& x = *c.input("x");
    return x.rank() == 2 && x.shape[0] >= 2 && x.shape[1] >= 2 && x.strides[1] == 1 && x.strides[0] > x.shape[1];
  });
}

TEST(Reach, SquaresBeyondTheType) {
  for (const char* op : {"layer_norm", "rms_norm"})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kF16})
      expect_reached("squares", op, dtype, 1000, some_row([](const auto& row, const Case& c) {
                       return row.size() >= 2 && finite(row) && magnitude(row) >= std::sqrt(format_of(c.dtype()).max_finite);
                     }));
  expect_reached("opposite_f32", "layer_norm", DType::kF32, 20000, some_row([](const auto& row, const Case&) {
                   return row.size() == 2 && row[0] == -row[1] && magnitude(row) >= 0x1p64 && finite(row);
                 }));
}

TEST(Reach, LargeMeanWithNeighbouringValues) {
  expect_reached("large_mean_f32", "layer_norm", DType::kF32, 1000, some_row([](const auto& row, const Case&) {
                   const double m = magnitude(row);
                   double spread = 0;
                   for (const double v : row) spread = std::max(spread, std::fabs(v - row[0]));
                   return row.size() >= 3 && finite(row) && spread > 0 && spread <= m * 0x1p-14;
                 }));
}

TEST(Reach, ZeroRowWithEpsilonBelowHalfPrecision) {
  expect_reached("zero_row_f16", "layer_norm", DType::kF16, 3000, some_row([](const auto& row, const Case& c) {
                   return magnitude(row) == 0 && c.epsilon() > 0 && c.epsilon() < format_of(DType::kF16).half_subnormal;
                 }));
}

TEST(Reach, WeightsOfSixteenBitsWhereOnePlusWeightRounds) {
  expect_reached("one_plus_weight", "rms_norm", DType::kBF16, 2000, [](const Case& c) {
    const Tensor* w = c.input("weight");
    return w && w->dtype == DType::kBF16 && c.number("weight_offset", 0) == 1 && std::fabs(w->value(0)) >= 8;
  });
}

}  // namespace
}  // namespace normfuzz
