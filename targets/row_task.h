// What a kernel on a device is told about a call: rows and columns, and where in one block of device memory each tensor's elements lie.
// Plain data, read by CUDA C++ as it stands here and by targets/opencl/row_norm.cl, which declares it once more: keep both in step.
#pragma once

#include <cstdint>

namespace normfuzz {

// Of the dimensions that tell rows apart, and of those that form a row, after adjacent ones were merged.
constexpr int kMaxTaskDims = 4;

enum ElementType : int32_t { kFloat32 = 0, kFloat16 = 1, kBfloat16 = 2, kFloat64 = 3 };

struct TaskTensor {
  int64_t offset;                                                  // bytes from the block's begin to element [0, ..., 0]; -1: absent
  int64_t outer_stride[kMaxTaskDims], inner_stride[kMaxTaskDims];  // in elements
  int32_t type;                                                    // ElementType
  int32_t contiguous;                                              // the elements of a row are neighbours
};

struct RowTask {
  int64_t rows, cols;
  int64_t outer_shape[kMaxTaskDims], inner_shape[kMaxTaskDims];
  int32_t outer_rank, inner_rank;
  int64_t statistics_offset;       // two numbers of the accumulation type per row, mean and 1/sqrt(. + epsilon), for the sums over the rows
  TaskTensor x, dy, weight, bias;  // weight and bias: every row's, outer strides 0
  TaskTensor result, dweight, dbias;  // result: y or dx
};

}  // namespace normfuzz
