// Shared by the operators whose rows are the trailing dimensions: shapes, parameters and layouts.
#pragma once

#include "oracles/ops/op.h"

namespace normfuzz::rowwise {

// First normalized dimension: normalized_axis counted from the front.
std::int64_t first_axis(const Case& c);
Status validate(const Case& c);
RowView rows(const Case& c);
// y: x's dtype and shape; x's strides and offset where those address every element once, dense otherwise.
NamedTensors output_layouts(const Case& c);

}  // namespace normfuzz::rowwise
