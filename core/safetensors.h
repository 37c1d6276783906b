// The safetensors format (an 8-byte little-endian length, a JSON header, the elements), for the four dtypes of a case.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"

namespace normfuzz {

// 4 GiB: what a case's layouts may span (core/case_io.cc). Larger files are refused before they are read.
inline constexpr std::size_t kMaxTensorFileBytes = std::size_t{1} << 32;

using TensorList = std::vector<std::pair<std::string, Tensor>>;

// Dense tensors in the header's order. Strict: the tensors must cover the data without holes or overlaps; dtypes F64, F32, F16, BF16 and
// extents
// >= 1 only; "__metadata__" is checked for its type and dropped.
Result<TensorList> parse_safetensors(std::string_view bytes, std::string_view name);
Result<TensorList> read_safetensors(const std::string& path);

// Elements in logical order; layouts are not part of the format. Wide dtypes first, so that every tensor is aligned to its element.
std::string write_safetensors(const std::vector<std::pair<std::string, const Tensor*>>& tensors);

}  // namespace normfuzz
