// The order in which a block of threads adds up a row, for the device and, lane by lane, for the host (tests/targets/cuda_host_test.cc):
// which columns a thread takes, what a shuffle fetches from where, how two partial results become one.
//
// A block needs: threads(), their number, a multiple of 32 and at most 1024; each_thread(f), which calls f(thread) for every thread, each
// time after all of them have finished what came before; reduce<Value>(partial), which is the combination of partial(thread) over all
// threads. On the device that is DeviceBlock in row_kernels.cu.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define NORMFUZZ_BOTH __host__ __device__
#define NORMFUZZ_OUTLINED __host__ __device__ __noinline__
#else
#define NORMFUZZ_BOTH
#define NORMFUZZ_OUTLINED
#endif

namespace normfuzz::cuda {

constexpr int kWarp = 32;

// ---- partial results: combined(mine, other) with the neutral element Value{} ----

struct Sum {
  float total = 0;
  NORMFUZZ_BOTH void add(float term) { total += term; }
};
NORMFUZZ_BOTH inline Sum combined(Sum a, Sum b) { return {a.total + b.total}; }

// Welford's, merged as Chan, Golub and LeVeque do.
struct Moments {
  float mean = 0, squares = 0, count = 0;
  NORMFUZZ_BOTH void add(float x) {
    const float d = x - mean;
    count += 1;
    mean += d / count;
    squares += d * (x - mean);
  }
};
NORMFUZZ_BOTH inline Moments combined(Moments a, Moments b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const float count = a.count + b.count, share = b.count / count, d = b.mean - a.mean;
  return {a.mean + d * share, a.squares + b.squares + d * d * (a.count * share), count};
}

// ---- the order ----

struct RowOrder {
  // Depends on the length of a row alone: its layout, its alignment and other rows never change a bit of the result.
  NORMFUZZ_BOTH static int warps_for(int64_t cols) { return cols <= 256 ? 1 : cols <= 4096 ? 4 : 8; }

  // Calls visit(first column, count) for what a thread takes: every threads-th group of kLanes columns, and one column of the tail.
  template <int kLanes, class Visit>
  NORMFUZZ_BOTH static void for_each_columns(int64_t cols, int thread, int threads, Visit visit) {
    static_assert(kLanes <= kWarp, "the tail is shorter than a block");
    const int64_t groups = cols / kLanes, tail = groups * kLanes + thread;
    for (int64_t group = thread; group < groups; group += threads) visit(group * kLanes, kLanes);
    if (tail < cols) visit(tail, 1);
  }

  // A warp's tree: offsets 16, 8, 4, 2, 1; lane l combines its own with that of lane l + offset. Lane 0 ends with all 32.
  static constexpr int kFirstOffset = kWarp / 2;
  NORMFUZZ_BOTH static int source_lane(int lane, int offset) { return lane + offset; }
};

// ---- the block of the host: every lane of every warp in lock step ----

#ifndef __CUDA_ARCH__
template <class Order>
class HostBlock {
 public:
  explicit HostBlock(int warps) : warps_(warps) {}
  int threads() const { return warps_ * kWarp; }

  template <class F>
  void each_thread(F f) {
    for (int thread = 0; thread < threads(); ++thread) f(thread);
  }

  template <class Value, class Partial>
  Value reduce(Partial partial) {
    Value totals[kWarp];  // one per warp
    for (int warp = 0; warp < warps_; ++warp) {
      Value lanes[kWarp];
      for (int lane = 0; lane < kWarp; ++lane) lanes[lane] = partial(warp * kWarp + lane);
      totals[warp] = reduce_warp(lanes);
    }
    return reduce_warp(totals);
  }

 private:
  template <class Value>
  static Value reduce_warp(const Value (&start)[kWarp]) {
    Value now[kWarp], next[kWarp];
    for (int lane = 0; lane < kWarp; ++lane) now[lane] = start[lane];
    for (int offset = Order::kFirstOffset; offset > 0; offset /= 2) {
      for (int lane = 0; lane < kWarp; ++lane) next[lane] = combined(now[lane], now[Order::source_lane(lane, offset) % kWarp]);
      for (int lane = 0; lane < kWarp; ++lane) now[lane] = next[lane];
    }
    return now[0];
  }

  int warps_;
};
#endif

}  // namespace normfuzz::cuda
