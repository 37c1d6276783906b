// What targets/cuda/cuda.cc launches. Everything is asynchronous on the stream.
#pragma once

#include <cuda_runtime_api.h>

#include "targets/cuda/row_program.h"

namespace normfuzz::cuda {

// y of layer_norm and rms_norm, or with task.dy dx, dweight and dbias. `memory` is the device's copy of the block that the task describes.
cudaError_t launch_rows(const RowTask& task, unsigned char* memory, const RowNumbers& numbers, bool rms, bool backward, Variant variant,
                        cudaStream_t stream);

// Whether the module has code for the current device.
cudaError_t kernels_loadable();

}  // namespace normfuzz::cuda
