// Edits of a case that keep it valid: what the shrinker's passes and the explainer's ablations are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/case.h"

namespace normfuzz {

// First normalized dimension of x, and the number of normalized elements (columns) and of rows.
struct Shape2 {
  std::int64_t first_axis, rows, cols;
};
Shape2 shape_of(const Case& c);

// Keeps the given indices of one dimension of x, in every input that has it; strides and offsets stay.
Case select(const Case& c, int axis, std::span<const std::int64_t> keep);

// x as [rows, cols], normalized over the last dimension, all inputs dense.
Case flattened(const Case& c);
// The same, with rows `stride` elements apart. Premise: stride >= cols.
Case flattened(const Case& c, std::int64_t stride);
// Without dimension `axis` of x. Premise: its extent is 1.
Case without_axis(const Case& c, int axis);

// A new call with these rows, dense; parameters are cut or repeated to the row's length.
Case with_rows(const Case& c, std::int64_t rows, const std::vector<double>& x);

Tensor dense(Tensor t);
Tensor cast(const Tensor& t, DType d);

// Values replaced from `first` on; elements that share a place in memory (stride 0) stay equal.
void set_values(Tensor& t, std::int64_t first, std::span<const double> values);
// Every value replaced.
template <class F>
Tensor mapped(Tensor t, F f) {
  std::vector<double> v = t.values();
  for (double& e : v) e = f(e);
  set_values(t, 0, v);
  return t;
}
Case with_input(Case c, std::string_view name, std::optional<Tensor> t);
Case with_epsilon(Case c, double epsilon);

}  // namespace normfuzz
