#include "oracles/ops/rowwise.h"

#include <algorithm>
#include <cmath>

namespace normfuzz::rowwise {
namespace {

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string s = "[";
  for (const auto e : shape) s += (s.size() > 1 ? "," : "") + std::to_string(e);
  return s + "]";
}

// Elements may not overlap: sorted by stride, each stride clears what the smaller ones span.
bool addresses_once(const Tensor& t) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, extent
  for (int i = 0; i < t.rank(); ++i)
    if (t.shape[static_cast<std::size_t>(i)] > 1)
      axes.emplace_back(t.strides[static_cast<std::size_t>(i)], t.shape[static_cast<std::size_t>(i)]);
  std::sort(axes.begin(), axes.end());
  std::int64_t span = 1;
  for (const auto& [stride, extent] : axes) {
    if (stride < span) return false;
    span = stride * (extent - 1) + span;
  }
  return true;
}

}  // namespace

std::int64_t first_axis(const Case& c) {
  const std::int64_t axis = c.integer("normalized_axis", -1), rank = c.input("x")->rank();
  return axis < 0 ? axis + rank : axis;
}

Status validate(const Case& c) {
  const Tensor& x = *c.input("x");
  if (x.rank() < 1) return Error{"inputs.x: a scalar, expected rank >= 1"};
  const std::int64_t axis = c.integer("normalized_axis", -1);
  if (axis < -x.rank() || axis >= x.rank())
    return Error{"params.normalized_axis: " + std::to_string(axis) + ", expected " + std::to_string(-x.rank()) + " to " +
                 std::to_string(x.rank() - 1)};
  const std::vector<std::int64_t> trailing(x.shape.begin() + first_axis(c), x.shape.end());
  for (const char* name : {"weight", "bias"}) {
    const Tensor* t = c.input(name);
    if (t && t->shape != trailing)
      return Error{std::string("inputs.") + name + ".shape: " + text_of(t->shape) + ", expected the normalized shape " + text_of(trailing)};
  }
  const double offset = c.number("weight_offset", 0);
  if (offset != 0 && offset != 1) return Error{"params.weight_offset: expected 0 or 1"};
  if (offset != 0 && !c.input("weight")) return Error{"inputs.weight: null, expected a tensor because params.weight_offset is 1"};
  return Unit{};
}

RowView rows(const Case& c) {
  const Tensor& x = *c.input("x");
  const auto strides = dense_strides(x.shape);
  std::vector<Axis> outer, inner;
  for (std::int64_t i = 0; i < x.rank(); ++i)
    (i < first_axis(c) ? outer : inner).push_back({x.shape[static_cast<std::size_t>(i)], strides[static_cast<std::size_t>(i)]});
  return {std::move(outer), std::move(inner)};
}

NamedTensors output_layouts(const Case& c) {
  const Tensor& x = *c.input("x");
  Tensor y = Tensor::zeros(x.dtype, x.shape);
  if (addresses_once(x)) {
    y.strides = x.strides;
    y.offset = x.offset;
    y.misalign = x.misalign;
  }
  NamedTensors outputs;
  outputs.emplace_back("y", std::move(y));
  return outputs;
}

}  // namespace normfuzz::rowwise
