// Which elements share a statistic, and which weight and bias each of them takes: the only things in which the normalization operators
// differ beside their formula.
// A tensor's logical (row-major) indices are split into outer (which row) and inner (which element of the row) coordinates, each a small
// list of (extent, stride, stride of the parameters). layer_norm: inner = trailing dimensions; channel_layer_norm: inner = the channel;
// group_norm: inner = the channels of a group and the positions, and the weight goes by group and channel.
#pragma once

#include <cstdint>
#include <vector>

namespace normfuzz {

struct Axis {
  std::int64_t extent;
  std::int64_t stride;                // in logical indices of the dense row-major tensor
  std::int64_t parameter_stride = 0;  // in logical indices of weight and bias; 0 where they do not depend on this coordinate
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
  // Logical index of the weight and bias of that element, and how many of each there are.
  std::int64_t parameter(std::int64_t row, std::int64_t col) const {
    return offset(outer_, row, &Axis::parameter_stride) + offset(inner_, col, &Axis::parameter_stride);
  }
  std::int64_t parameters() const {
    std::int64_t last = 0;
    for (const auto* axes : {&outer_, &inner_})
      for (const Axis& a : *axes) {
        if (a.parameter_stride != 0 && a.extent == 0) return 0;
        last += (a.extent - 1) * a.parameter_stride;
      }
    return last + 1;
  }
  // True if every row takes the parameters 0, 1, .. in this order.
  bool parameter_by_column() const {
    for (const Axis& a : outer_)
      if (a.extent > 1 && a.parameter_stride != 0) return false;
    return in_order(&Axis::parameter_stride);
  }
  // True if row r is the cols() consecutive indices from index(r, 0).
  bool contiguous() const { return in_order(&Axis::stride); }

 private:
  static std::int64_t offset(const std::vector<Axis>& axes, std::int64_t linear, std::int64_t Axis::*stride = &Axis::stride) {
    std::int64_t at = 0;
    for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
      at += linear % a->extent * ((*a).*stride);
      linear /= a->extent;
    }
    return at;
  }
  bool in_order(std::int64_t Axis::*stride) const {
    std::int64_t expected = 1;
    for (auto a = inner_.rbegin(); a != inner_.rend(); ++a) {
      if (a->extent != 1 && (*a).*stride != expected) return false;
      expected *= a->extent;
    }
    return true;
  }
  std::vector<Axis> outer_, inner_;
  std::int64_t rows_ = 1, cols_ = 1;
};

}  // namespace normfuzz
