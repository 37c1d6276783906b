// NumPy's .npy files (format 1.0 to 3.0) as tensors, for `check` and `repro`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/tensor.h"

namespace normfuzz {

// Little-endian f8, f4, f2; u2 (or ml_dtypes' V2) only with `dtype` bf16, because NumPy has no name for it. `dtype`, if given, must be the
// file's. A Fortran-ordered array keeps its order as strides; the elements are stored in logical order as always.
Result<Tensor> parse_npy(std::string_view bytes, std::string_view name, std::optional<DType> dtype = std::nullopt);
Result<Tensor> read_npy(const std::string& path, std::optional<DType> dtype = std::nullopt);

// Format 1.0, C order; bf16 as <u2. The layout is not kept.
std::string write_npy(const Tensor& t);

}  // namespace normfuzz
