// Tensors whose rows a regime fills, and those drawn against them: the second rows of distance and cosine, the cotangents of a backward.
#pragma once

#include <optional>
#include <span>

#include "harness/generate/plan.h"
#include "harness/generate/regime.h"

namespace normfuzz {

// What rows are drawn for.
struct RowSetting {
  DType dtype;
  const Geometry& geometry;
  const Regime& regime;
  double epsilon;
};

Tensor draw_rows(const Stream& s, const RowSetting& setting);

// b: unrelated to a, a few units in the last place beside it, equal, scaled, negated, or orthogonal by construction.
Tensor draw_second_rows(const Stream& s, const RowSetting& setting, const Tensor& a);

// dy: bell-shaped, one-hot, constant, with sums that cancel, of wide magnitudes, few bits, along x itself, or as extreme as x.
Tensor draw_cotangents(const Stream& s, const RowSetting& setting, const Tensor& x);

// running_mean or running_var: of each channel, its own in x, a usual one, or one far from that; never below 0 for a variance. Both are
// absent together in 25 of 100 cases of training.
std::optional<Tensor> draw_running_statistic(const Stream& root, const RowSetting& setting, const Tensor& x, DType dtype, bool variance,
                                             bool training);

// Row `row` of a tensor of the geometry's shape.
void store_row(Tensor& t, const RowView& rows, std::int64_t row, std::span<const double> values);
void read_row(const Tensor& t, const RowView& rows, std::int64_t row, std::span<double> values);
// Strides, offset and misalignment of such a tensor; rows may share their memory if `may_broadcast`, and their data then.
void draw_row_layout(Stream s, Tensor& t, const Geometry& g, bool may_broadcast);

}  // namespace normfuzz
