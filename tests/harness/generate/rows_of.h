// The rows of a case's first input as plain doubles, in logical order.
#pragma once

#include <vector>

#include "oracles/ops/op.h"

namespace normfuzz::test {

inline std::vector<std::vector<double>> rows_of(const Case& c) {
  const Tensor& x = *c.inputs.front().second;
  const RowView view = find_op(c.op)->rows(c);
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(view.rows()), std::vector<double>(static_cast<std::size_t>(view.cols())));
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i)
      rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(i)] = x.value(view.index(r, i));
  return rows;
}

}  // namespace normfuzz::test
