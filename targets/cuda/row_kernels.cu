// The kernels: a block of threads per row, warps that reduce by shuffles, and one thread per column for the sums over the rows.
#include "targets/cuda/row_kernels.h"

namespace normfuzz::cuda {
namespace {

constexpr unsigned kAllLanes = 0xffffffff;

// Lane l's value of lane l + offset; beyond the warp its own, which no result of lane 0 depends on.
__device__ Sum shuffled(Sum v, int offset) { return {__shfl_down_sync(kAllLanes, v.total, offset)}; }
__device__ Moments shuffled(Moments v, int offset) {
  return {__shfl_down_sync(kAllLanes, v.mean, offset), __shfl_down_sync(kAllLanes, v.squares, offset),
          __shfl_down_sync(kAllLanes, v.count, offset)};
}

struct Scratch {
  Moments totals[kWarp];  // the larger of the two values
};

class DeviceBlock {
 public:
  __device__ explicit DeviceBlock(Scratch& scratch) : scratch_(scratch) {}
  __device__ int threads() const { return static_cast<int>(blockDim.x); }

  template <class F>
  __device__ void each_thread(F f) {
    f(static_cast<int>(threadIdx.x));
  }

  // Every warp by itself, then the first one over the warps' totals.
  template <class Value, class Partial>
  __device__ Value reduce(Partial partial) {
    const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
    Value* totals = reinterpret_cast<Value*>(scratch_.totals);
    const Value of_warp = reduce_warp(partial(thread));
    __syncthreads();  // the result before has been read
    if (lane == 0) totals[warp] = of_warp;
    __syncthreads();
    if (warp == 0) {
      const Value total = reduce_warp(lane < threads() / kWarp ? totals[lane] : Value{});
      if (lane == 0) totals[0] = total;
    }
    __syncthreads();
    return totals[0];
  }

 private:
  template <class Value>
  __device__ static Value reduce_warp(Value v) {
    for (int offset = RowOrder::kFirstOffset; offset > 0; offset /= 2) v = combined(v, shuffled(v, RowOrder::source_lane(0, offset)));
    return v;
  }

  Scratch& scratch_;
};

template <class Element, Statistic kStatistic, bool kBackward>
__global__ void row_kernel(const __grid_constant__ RowTask task, unsigned char* memory, RowNumbers numbers) {
  __shared__ alignas(Scratch) unsigned char shared[sizeof(Scratch)];
  DeviceBlock block(*reinterpret_cast<Scratch*>(shared));
  if constexpr (kBackward)
    input_gradient_row<kStatistic, Element, RowOrder>(block, task, memory, blockIdx.x, numbers);
  else
    forward_row<kStatistic, Element, RowOrder>(block, task, memory, blockIdx.x, numbers);
}

template <class Element>
__global__ void column_kernel(const __grid_constant__ RowTask task, unsigned char* memory) {
  const int64_t col = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (col < task.cols) column_sums<Element>(task, memory, col);
}

template <class Element, Statistic kStatistic>
void launch(const RowTask& task, unsigned char* memory, const RowNumbers& numbers, bool backward, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(task.rows), threads = static_cast<unsigned>(RowOrder::warps_for(task.cols) * kWarp);
  if (!backward) {
    row_kernel<Element, kStatistic, false><<<rows, threads, 0, stream>>>(task, memory, numbers);
    return;
  }
  row_kernel<Element, kStatistic, true><<<rows, threads, 0, stream>>>(task, memory, numbers);
  constexpr unsigned kColumns = 128;
  if (task.dweight.offset >= 0 || task.dbias.offset >= 0)
    column_kernel<Element><<<static_cast<unsigned>((task.cols + kColumns - 1) / kColumns), kColumns, 0, stream>>>(task, memory);
}

template <class Element>
void launch(const RowTask& task, unsigned char* memory, const RowNumbers& numbers, bool rms, bool backward, Variant variant,
            cudaStream_t stream) {
  if (rms)
    launch<Element, kMeanSquare>(task, memory, numbers, backward, stream);
  else if (variant == Variant::kTwoPass)
    launch<Element, kTwoPass>(task, memory, numbers, backward, stream);
  else
    launch<Element, kWelford>(task, memory, numbers, backward, stream);
}

}  // namespace

cudaError_t launch_rows(const RowTask& task, unsigned char* memory, const RowNumbers& numbers, bool rms, bool backward, Variant variant,
                        cudaStream_t stream) {
  if (task.x.type == kFloat16)
    launch<Float16>(task, memory, numbers, rms, backward, variant, stream);
  else if (task.x.type == kBfloat16)
    launch<Bfloat16>(task, memory, numbers, rms, backward, variant, stream);
  else
    launch<Float32>(task, memory, numbers, rms, backward, variant, stream);
  return cudaGetLastError();
}

cudaError_t kernels_loadable() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, column_kernel<Float32>);
}

}  // namespace normfuzz::cuda
