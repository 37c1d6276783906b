// What properties are made of: draws, arguments, edits of cases, comparisons of outputs. Of oracles/theorems alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/number/interval.h"
#include "oracles/theorems/property.h"

namespace normfuzz::theorems {

// ---- draws and arguments ----

// splitmix64: the draw of a property, expanded.
class Draw {
 public:
  explicit Draw(std::uint64_t state) : state_(state) {}
  std::uint64_t next();
  std::int64_t between(std::int64_t lo, std::int64_t hi);  // both included
 private:
  std::uint64_t state_;
};

// A property without arguments is chosen where its premises are met. (A function, because g++ 12 fails on a map made inside a template.)
using Meets = bool(const Case&, const PropertyArgs&);
std::optional<PropertyArgs> no_arguments_if(Meets* meets, const Case& base);
template <Meets* meets>
std::optional<PropertyArgs> choose_if(const Case& base, std::uint64_t) {
  return no_arguments_if(meets, base);
}

std::string text_of(double v);  // hexadecimal float
std::optional<double> number_arg(const PropertyArgs& args, std::string_view name);
std::optional<std::int64_t> integer_arg(const PropertyArgs& args, std::string_view name);

// ---- cases ----

// The base without property, expectation, source and note.
Case bare(const Case& base);
bool finite(const Tensor* t);  // an absent tensor is
bool finite_inputs(const Case& c);
// Every element times c, or nothing where one is not representable. Zeros keep their sign.
std::optional<Tensor> times(const Tensor& t, double c);
std::optional<double> epsilon_times(double epsilon, double c);  // where float32 holds the product
Case with_x(Case c, Tensor x);
Case with_epsilon(Case c, double epsilon);
// Without weight, weight_offset and bias.
Case without_parameters(Case c);
RowView rows_of(const Case& c);

// ---- comparisons ----

// Rows to look at with MPFR, which costs microseconds an element: all of a small case, some of a large one.
std::vector<std::int64_t> sampled_rows(const RowView& view);

// Elements of an output to look at with MPFR, for the same reason.
std::vector<std::int64_t> sampled_elements(const Case& c, std::string_view output);

// The element's finite bound, or nothing where it says nothing about this output: special values, infinite bounds, values that may have
// been cut off by the cast.
const ElementBound* usable(const PropertyRun& run, std::string_view output, std::int64_t index);

// head + tail: the exact value is within b.error of it.
Interval exact_of(const ElementBound& b);
Interval root(const Interval& s);  // sqrt, premise: s > 0 or the point 0
// |difference| certainly exceeds `allowed`.
bool beyond(const Interval& difference, const Interval& allowed);
double middle(const Interval& a);

double in_ulps(double difference, double at, DType storage);
bool same_number(double a, double b);  // +0 and -0 are, NaNs are

PropertyResult holds();
PropertyResult vacant();
void add(PropertyResult& r, PropertyKind kind, Discrepancy d);

// First output of the op: "y", or "dx" of a backward.
std::string_view main_output(const Case& c);

}  // namespace normfuzz::theorems
