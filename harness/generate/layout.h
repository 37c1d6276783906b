// Where the elements of an input lie: dense, padded, strided, transposed, broadcast (stride 0), with an offset and off alignment.
#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "harness/generate/stream.h"

namespace normfuzz {

// Draws strides, offset and misalignment of a dense input whose rows are told apart by the first `leading` dimensions. Some of those may
// get stride 0 if `may_broadcast`; call make_consistent once the data is there.
void draw_layout(Stream s, Tensor& t, int leading, bool may_broadcast);

// The layout of a parameter tensor: mostly dense; stride 0 throughout if all its elements are equal.
void draw_parameter_layout(Stream s, Tensor& t, bool all_equal);

// Elements that share their place in memory (stride 0) get the data of the first of them.
void make_consistent(Tensor& t);

}  // namespace normfuzz
