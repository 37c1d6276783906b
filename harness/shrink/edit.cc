#include "harness/shrink/edit.h"

#include <cstring>
#include <numeric>

#include "harness/generate/layout.h"

namespace normfuzz {
namespace {

Tensor select(const Tensor& t, int axis, std::span<const std::int64_t> keep) {
  Tensor out = t;
  const auto a = static_cast<std::size_t>(axis);
  const bool was_dense = t.dense();
  out.shape[a] = static_cast<std::int64_t>(keep.size());
  out.data.resize(static_cast<std::size_t>(out.size()) * t.element_bytes());
  std::int64_t inner = 1, outer = 1;
  for (std::size_t i = 0; i < t.shape.size(); ++i) (i < a ? outer : inner) *= i == a ? 1 : t.shape[i];
  const auto block = static_cast<std::size_t>(inner) * t.element_bytes();
  std::byte* to = out.data.data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (const std::int64_t k : keep) {
      std::memcpy(to, &t.data[static_cast<std::size_t>(o * t.shape[a] + k) * block], block);
      to += block;
    }
  if (was_dense) out.strides = dense_strides(out.shape);
  return out;
}

void reshape(Tensor& t, std::vector<std::int64_t> shape) {
  t.shape = std::move(shape);
  t = dense(std::move(t));
}

void erase_axis(Tensor& t, std::size_t axis) {
  t.shape.erase(t.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  t.strides.erase(t.strides.begin() + static_cast<std::ptrdiff_t>(axis));
}

}  // namespace

Shape2 shape_of(const Case& c) {
  const Tensor& x = *c.input("x");
  const std::int64_t axis = c.integer("normalized_axis", -1);
  Shape2 s{axis < 0 ? axis + x.rank() : axis, 1, 1};
  for (std::int64_t i = 0; i < x.rank(); ++i) (i < s.first_axis ? s.rows : s.cols) *= x.shape[static_cast<std::size_t>(i)];
  return s;
}

Case select(const Case& c, int axis, std::span<const std::int64_t> keep) {
  Case out = c;
  const auto first = static_cast<int>(shape_of(c).first_axis);
  for (auto& [name, t] : out.inputs) {
    if (!t) continue;
    if (name == "x")
      t = select(*t, axis, keep);
    else if (axis >= first)
      t = select(*t, axis - first, keep);
  }
  return out;
}

Case flattened(const Case& c) {
  const auto [first, rows, cols] = shape_of(c);
  Case out = c;
  out.params.erase("normalized_axis");
  for (auto& [name, t] : out.inputs)
    if (t) reshape(*t, name == "x" ? std::vector<std::int64_t>{rows, cols} : std::vector<std::int64_t>{cols});
  return out;
}

Case flattened(const Case& c, std::int64_t stride) {
  Case out = flattened(c);
  out.input("x")->strides[0] = stride;
  return out;
}

Case without_axis(const Case& c, int axis) {
  Case out = c;
  const std::int64_t first = shape_of(c).first_axis;
  for (auto& [name, t] : out.inputs) {
    if (!t) continue;
    if (name == "x")
      erase_axis(*t, static_cast<std::size_t>(axis));
    else if (axis >= first)
      erase_axis(*t, static_cast<std::size_t>(axis - first));
  }
  const std::int64_t rank = out.input("x")->rank(), begin = axis < first ? first - 1 : first;
  if (begin == rank - 1)
    out.params.erase("normalized_axis");
  else
    out.params["normalized_axis"] = begin - rank;
  return out;
}

Case with_rows(const Case& c, std::int64_t rows, const std::vector<double>& x) {
  const auto cols = static_cast<std::int64_t>(x.size()) / rows;
  const std::int64_t have = shape_of(c).cols;
  Case out = flattened(c);
  for (auto& [name, t] : out.inputs) {
    if (!t) continue;
    Tensor fresh = Tensor::zeros(t->dtype, name == "x" ? std::vector<std::int64_t>{rows, cols} : std::vector<std::int64_t>{cols});
    for (std::int64_t i = 0; i < fresh.size(); ++i) {
      if (name == "x")
        fresh.set_value(i, x[static_cast<std::size_t>(i)]);
      else
        fresh.set_bits(i, t->bits(i % have));
    }
    t = std::move(fresh);
  }
  return out;
}

Tensor dense(Tensor t) {
  t.strides = dense_strides(t.shape);
  t.offset = 0;
  t.misalign = 0;
  return t;
}

Tensor cast(const Tensor& t, DType d) {
  Tensor out = Tensor::zeros(d, t.shape);
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) out.set_value(i, t.value(i));
  out.strides = t.strides;
  out.offset = t.offset;
  return out;
}

void set_values(Tensor& t, std::int64_t first, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) t.set_value(first + static_cast<std::int64_t>(i), values[i]);
  for (const std::int64_t s : t.strides)
    if (s == 0) return make_consistent(t);
}

Case with_input(Case c, std::string_view name, std::optional<Tensor> t) {
  c.set_input(name, std::move(t));
  return c;
}
Case with_epsilon(Case c, double epsilon) {
  c.params["epsilon"] = epsilon;
  return c;
}

}  // namespace normfuzz
