// Which elements share a statistic: the only thing in which the normalization operators differ beside their formula.
// A tensor's logical (row-major) indices are split into outer (which row) and inner (which element of the row) coordinates, each a small
// list of (extent, stride). layer_norm: inner = trailing dimensions; channel_layer_norm: inner = the channel; and so on.
#pragma once

#include <cstdint>
#include <vector>

namespace normfuzz {

struct Axis {
  std::int64_t extent;
  std::int64_t stride;  // in logical indices of the dense row-major tensor
};

class RowView {
 public:
  RowView(std::vector<Axis> outer, std::vector<Axis> inner) : outer_(std::move(outer)), inner_(std::move(inner)) {
    for (const Axis& a : outer_) rows_ *= a.extent;
    for (const Axis& a : inner_) cols_ *= a.extent;
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  // Logical index of element `col` of row `row`.
  std::int64_t index(std::int64_t row, std::int64_t col) const { return offset(outer_, row) + offset(inner_, col); }
  // True if row r is the cols() consecutive indices from index(r, 0).
  bool contiguous() const {
    std::int64_t expected = 1;
    for (auto a = inner_.rbegin(); a != inner_.rend(); ++a) {
      if (a->extent != 1 && a->stride != expected) return false;
      expected *= a->extent;
    }
    return true;
  }

 private:
  static std::int64_t offset(const std::vector<Axis>& axes, std::int64_t linear) {
    std::int64_t at = 0;
    for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
      at += linear % a->extent * a->stride;
      linear /= a->extent;
    }
    return at;
  }
  std::vector<Axis> outer_, inner_;
  std::int64_t rows_ = 1, cols_ = 1;
};

}  // namespace normfuzz
