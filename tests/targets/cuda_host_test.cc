// The CUDA target's index arithmetic and order of reduction, executed on the host, against the declared order written down once more: bit
// for bit. (The same code as a target module goes through a whole campaign: targets.cuda_on_host.campaign.)
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "tests/targets/cuda_on_host.h"
#include "tests/targets/host_tensor.h"

namespace normfuzz::test {
namespace {

constexpr double kEpsilon = 0x1.4f8b58p-17;  // 1e-5 in float32

// ---- the declared order, without blocks, visitors and vectors ----

struct Welford {
  float mean = 0, squares = 0;
  int count = 0;
};
void add(Welford& w, float x) {
  const float d = x - w.mean;
  ++w.count;
  w.mean = w.mean + d / static_cast<float>(w.count);
  w.squares = w.squares + d * (x - w.mean);
}
Welford both(const Welford& a, const Welford& b) {
  if (a.count == 0 || b.count == 0) return a.count == 0 ? b : a;
  const auto n_a = static_cast<float>(a.count), n_b = static_cast<float>(b.count);
  const float share = n_b / (n_a + n_b), d = b.mean - a.mean;
  return {a.mean + d * share, (a.squares + b.squares) + d * d * (n_a * share), a.count + b.count};
}
void add(float& sum, float x) { sum += x; }
float both(float a, float b) { return a + b; }

// 32 values, halved five times.
template <class Value>
Value folded(std::vector<Value> v) {
  v.resize(32);
  for (size_t half = 16; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) v[i] = both(v[i], v[i + half]);
  return v[0];
}

// Groups of `lanes` columns go round the threads, column k of the rest to thread k; a warp folds its 32 threads, the first one the warps.
template <class Value>
Value over_row(const std::vector<float>& x, size_t lanes) {
  const size_t n = x.size(), warps = n <= 256 ? 1 : n <= 4096 ? 4 : 8, grouped = n / lanes * lanes;
  std::vector<Value> totals;
  std::vector<std::vector<Value>> threads(warps, std::vector<Value>(32));
  for (size_t i = 0; i < n; ++i) {
    const size_t thread = i < grouped ? i / lanes % (warps * 32) : i - grouped;
    add(threads[thread / 32][thread % 32], x[i]);
  }
  for (const std::vector<Value>& warp : threads) totals.push_back(folded(warp));
  return folded(totals);
}

std::vector<float> declared_forward(const std::vector<float>& x, bool rms, cuda::Variant variant, size_t lanes) {
  const auto n = static_cast<float>(x.size());
  float mean = 0, statistic = 0;
  if (!rms && variant == cuda::Variant::kWelford) {
    const auto w = over_row<Welford>(x, lanes);
    mean = w.mean, statistic = w.squares / n;
  } else {
    if (!rms) mean = over_row<float>(x, lanes) / n;
    std::vector<float> squares;
    for (const float v : x) squares.push_back((v - mean) * (v - mean));
    statistic = over_row<float>(squares, lanes) / n;
  }
  const float scale = 1 / std::sqrt(statistic + static_cast<float>(kEpsilon));
  std::vector<float> y;
  for (const float v : x) y.push_back((v - mean) * scale * 1 + 0);
  return y;
}

// ---- the rows on the host ----

template <class Order>
nf_status run_host(const nf_call* call) {
  return guarded_run(call, [](const TargetCall& c) { return cuda::run_on_host<Order>(c, cuda::Variant::kWelford); });
}
nf_status run_two_pass(const nf_call* call) {
  return guarded_run(call, [](const TargetCall& c) { return cuda::run_on_host<cuda::RowOrder>(c, cuda::Variant::kTwoPass); });
}
const nf_target kWelfordTarget = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), nullptr, run_host<cuda::RowOrder>};
const nf_target kTwoPassTarget = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), nullptr, run_two_pass};

// Magnitudes from 2^-8 to 2^8 with 10 significant bits, so that another order gives other bits; representable in f16.
double sample(int64_t i, int64_t seed) {
  const int64_t mixed = (i * 2654435761 + seed * 40503 + i * i * 97) & 0xffffff;
  return std::ldexp(static_cast<double>(1024 + mixed % 1024), static_cast<int>(mixed / 1024 % 16) - 18) * (mixed & 0x8000 ? -1 : 1);
}

struct Layout {
  const char* name;
  int64_t column_stride, padding;  // elements from row to row beyond the columns
  size_t misaligned_elements;
};
constexpr Layout kLayouts[] = {
    {"dense", 1, 0, 0}, {"one element off", 1, 0, 1}, {"padded rows", 1, 3, 0}, {"every second column", 2, 1, 0}};

// Rows that differ from the declared order's in any bit.
int differing_rows(const nf_target& target, cuda::Variant variant, Type type, bool rms, int64_t cols, const Layout& layout) {
  constexpr int64_t kRows = 2;
  const DType dtype = type == Type::kF32 ? DType::kF32 : type == Type::kF16 ? DType::kF16 : DType::kBF16;
  const size_t item = type == Type::kF32 ? 4 : 2;
  const std::vector<int64_t> strides = {cols * layout.column_stride + layout.padding, layout.column_stride};
  HostTensor x(type, {kRows, cols}, strides, layout.misaligned_elements * item);
  HostTensor y(type, {kRows, cols}, strides, layout.misaligned_elements * item);
  for (int64_t i = 0; i < kRows * cols; ++i)
    x.set(i, dtype == DType::kBF16 ? std::ldexp(std::floor(sample(i, cols) * 4), -2) : sample(i, cols));
  const CallResult result = run(target, rms ? "rms_norm" : "layer_norm", {{"x", &x}}, {{"y", &y}}, {number("epsilon", kEpsilon)});
  EXPECT_EQ(result.status, NF_OK) << result.message;
  int differing = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<float> values;
    for (int64_t i = 0; i < cols; ++i) values.push_back(static_cast<float>(x.get(row * cols + i)));
    const std::vector<float> expected = declared_forward(values, rms, variant, 16 / item);
    bool same = true;
    for (int64_t i = 0; i < cols; ++i)
      same &= y.get(row * cols + i) == value_from_bits(dtype, bits_from_value(dtype, expected[static_cast<size_t>(i)]));
    differing += !same;
  }
  return differing;
}

TEST(CudaHost, EveryWidthInTheDeclaredOrder) {
  for (int64_t cols = 1; cols <= 1100; ++cols)
    for (const Layout& layout : kLayouts)
      for (const bool rms : {false, true})
        ASSERT_EQ(differing_rows(kWelfordTarget, cuda::Variant::kWelford, Type::kF32, rms, cols, layout), 0) << cols << ", " << layout.name;
}

TEST(CudaHost, SixteenBitsInTheDeclaredOrder) {
  for (const Type type : {Type::kF16, Type::kBF16})
    for (int64_t cols = 1; cols <= 1100; cols += cols < 40 ? 1 : 7)
      for (const Layout& layout : kLayouts)
        ASSERT_EQ(differing_rows(kTwoPassTarget, cuda::Variant::kTwoPass, type, false, cols, layout), 0) << cols << ", " << layout.name;
}

TEST(CudaHost, MoreWarpsInTheDeclaredOrder) {
  for (const int64_t cols : {256, 257, 4096, 4097, 5003})
    ASSERT_EQ(differing_rows(kTwoPassTarget, cuda::Variant::kTwoPass, Type::kF32, false, cols, kLayouts[0]), 0) << cols;
}

// The comparison can fail.
struct ShufflesTooNear : cuda::RowOrder {
  static int source_lane(int lane, int offset) { return lane + (offset > 1 ? offset / 2 : 1); }
};
struct TailFirst : cuda::RowOrder {  // every column once, in another order
  template <int kLanes, class Visit>
  static void for_each_columns(int64_t cols, int thread, int threads, Visit visit) {
    const int64_t grouped = cols / kLanes * kLanes;
    if (grouped + thread < cols) visit(grouped + thread, 1);
    RowOrder::for_each_columns<kLanes>(grouped, thread, threads, visit);
  }
};
struct DropsTail : cuda::RowOrder {
  template <int kLanes, class Visit>
  static void for_each_columns(int64_t cols, int thread, int threads, Visit visit) {
    RowOrder::for_each_columns<kLanes>(cols / kLanes * kLanes, thread, threads, visit);
  }
};
template <class Order>
int rows_that_differ() {
  const nf_target broken = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), nullptr, run_host<Order>};
  int differing = 0;
  for (int64_t cols = 61; cols < 72; ++cols)
    differing += differing_rows(broken, cuda::Variant::kWelford, Type::kF32, false, cols, kLayouts[0]);
  return differing;
}
TEST(CudaHost, AnotherOrderIsSeen) {
  EXPECT_EQ(rows_that_differ<cuda::RowOrder>(), 0);
  EXPECT_GT(rows_that_differ<ShufflesTooNear>(), 0);
  EXPECT_GT(rows_that_differ<TailFirst>(), 0);
  EXPECT_GT(rows_that_differ<DropsTail>(), 0);
}

TEST(CudaHost, VectorAccessNeedsItsAlignment) {
  alignas(16) unsigned char bytes[32] = {};
  EXPECT_NO_THROW(cuda::load_vector<float>(bytes + 16));
  EXPECT_THROW(cuda::load_vector<float>(bytes + 4), std::logic_error);
  EXPECT_THROW(cuda::store_vector(bytes + 8, cuda::Vector<float>{}), std::logic_error);
}

// Every 16-bit number, and the floats at and beside every tie between two of them.
template <class Element>
void check_conversions(DType dtype) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double exact = value_from_bits(dtype, bits);
    const float decoded = Element::decode(static_cast<uint16_t>(bits));
    ASSERT_TRUE(std::isnan(exact) ? std::isnan(decoded) : decoded == exact && std::signbit(decoded) == std::signbit(exact)) << bits;
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(value_from_bits(dtype, Element::encode(decoded)))) << bits;
      continue;
    }
    const double next = value_from_bits(dtype, bits + 1);
    const float tie = std::isfinite(next) ? static_cast<float>((exact + next) / 2) : decoded * 1.001f;
    for (const float v : {decoded, tie, std::nextafter(tie, 0.0f), std::nextafter(tie, INFINITY), std::nextafter(tie, -INFINITY)})
      ASSERT_EQ(Element::encode(v), bits_from_value(dtype, v)) << v;
  }
}
TEST(CudaHost, Float16Conversions) { check_conversions<cuda::Float16>(DType::kF16); }
TEST(CudaHost, Bfloat16Conversions) { check_conversions<cuda::Bfloat16>(DType::kBF16); }

}  // namespace
}  // namespace normfuzz::test
