// Which elements of a tensor form a row, and which weight each of them takes: as the operator says, or as a bug has it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "targets/mutants/op_mutant.h"

namespace normfuzz {

struct RowMap {
  std::int64_t rows = 1, cols = 1;
  std::vector<std::int64_t> element;    // of row r, column j: element[r * cols + j]
  std::vector<std::int64_t> parameter;  // likewise

  std::size_t at(std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(element[static_cast<std::size_t>(row * cols + col)]);
  }
  std::size_t parameter_at(std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(parameter[static_cast<std::size_t>(row * cols + col)]);
  }
};

// Rows run over the dimensions marked in `inner`; the parameter's index counts those marked in `affine` alone.
inline RowMap row_map(const std::vector<std::int64_t>& shape, const std::vector<bool>& inner, const std::vector<bool>& affine) {
  RowMap map;
  for (std::size_t i = 0; i < shape.size(); ++i) (inner[i] ? map.cols : map.rows) *= shape[i];
  map.element.resize(static_cast<std::size_t>(map.rows * map.cols));
  map.parameter.resize(map.element.size());
  for (std::int64_t k = 0; k < map.rows * map.cols; ++k) {
    std::int64_t rest = k, row = 0, col = 0, parameter = 0, row_step = 1, col_step = 1, parameter_step = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const std::int64_t coordinate = rest % shape[i];
      rest /= shape[i];
      (inner[i] ? col : row) += coordinate * (inner[i] ? col_step : row_step);
      (inner[i] ? col_step : row_step) *= shape[i];
      if (!affine[i]) continue;
      parameter += coordinate * parameter_step;
      parameter_step *= shape[i];
    }
    map.element[static_cast<std::size_t>(row * map.cols + col)] = k;
    map.parameter[static_cast<std::size_t>(row * map.cols + col)] = parameter;
  }
  return map;
}

// Rows of group_norm and its kin: the channels as two dimensions, the groups and their members.
inline RowMap group_map(OpBug bug, const OpInputs& in) {
  std::vector<std::int64_t> shape = in.shape;
  const auto channel = in.channels_last ? shape.size() - 1 : std::size_t{1};
  const std::int64_t members = shape[channel] / in.groups;
  const bool interleaved = bug == OpBug::kInterleavedGroups;  // channel c in group c modulo their number
  shape[channel] = interleaved ? members : in.groups;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(channel) + 1, interleaved ? in.groups : members);
  std::vector<bool> inner(shape.size(), true), affine(shape.size(), false);
  inner[0] = in.batch_in_row;
  inner[interleaved ? channel + 1 : channel] = false;
  affine[channel] = bug != OpBug::kWeightByPosition;
  affine[channel + 1] = true;
  return row_map(shape, inner, affine);
}

inline RowMap row_map(OpBug bug, const OpInputs& in) {
  if (in.groups > 0) return group_map(bug, in);
  std::vector<std::int64_t> shape = in.shape;
  const std::size_t rank = shape.size();
  std::vector<bool> inner(rank, false);
  for (std::int64_t i = in.first; i < in.end; ++i) inner[static_cast<std::size_t>(i)] = true;
  std::vector<bool> affine = inner;
  if (bug == OpBug::kWholeMap) {  // all but the batch, which CHW and a matrix of channels do not have
    for (std::size_t i = rank >= 4 ? 1 : 0; i < rank; ++i) inner[i] = true;
  } else if (bug == OpBug::kWrongAxis && rank > 1) {
    const auto axis = static_cast<std::size_t>(in.first);
    inner[axis] = affine[axis] = false;
    const std::size_t neighbour = axis + 1 < rank ? axis + 1 : axis - 1;
    inner[neighbour] = affine[neighbour] = true;
  } else if (bug == OpBug::kNhwcAsNchw && in.channels_last && rank >= 3) {  // the same memory under the other layout's extents
    const std::size_t channel = rank == 3 ? 0 : 1;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(channel), shape.back());
    shape.pop_back();
    inner.assign(rank, false);
    inner[channel] = true;
    affine = inner;
  }
  RowMap map = row_map(shape, inner, affine);
  for (std::int64_t& index : map.parameter) index %= static_cast<std::int64_t>(std::max<std::size_t>(1, in.weight.size()));
  return map;
}

}  // namespace normfuzz
