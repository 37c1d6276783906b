// layer_norm as the graph that a model holds (mean, sub, pow, mean, add, sqrt, div, mul, add) with one node changed: what a compiler must
// not take for layer_norm.

// d / sqrt(mean(d^4) + epsilon) or sqrt(mean(d^2) + epsilon) / d, d = x - mean(x); then the affine map.
template <class Arithmetic>
auto graph_of_other_nodes(const Arithmetic& a, const RowInputs& row) {
  const auto mean = a.over_count(a.sum(row.n, [&](std::int64_t i) { return a.value(row.x[i]); }), row.n);
  const auto d = a.numbers(row.n, [&](std::int64_t i) { return a.value(row.x[i]) - mean; });
  const double exponent = row.pattern == GraphPattern::kExponent4 ? 4 : 2;
  const auto powers = a.sum(row.n, [&](std::int64_t i) { return a.power(a.magnitude(d[static_cast<std::size_t>(i)]), exponent); });
  const auto root = a.root(a.over_count(powers, row.n) + a.constant(row.epsilon));
  return a.results(row.n, [&](std::int64_t i) {
    const auto& d_i = d[static_cast<std::size_t>(i)];
    const auto quotient = [&] {
      if (row.pattern == GraphPattern::kSwappedDivision) return root / d_i;
      return a.either([&] { return d_i / root; }, [&] { return d_i * (a.constant(1) / root); });
    };
    return quotient() * a.value(row.weight[i]) + a.value(row.bias[i]);
  });
}

template <class Arithmetic>
auto layer_norm_graph(const Arithmetic& a, const RowInputs& row) {
  if (row.pattern == GraphPattern::kExact) return layer_norm(a, row);
  if (row.pattern != GraphPattern::kSwappedSubtraction) return graph_of_other_nodes(a, row);
  std::vector<double> negated(row.x, row.x + row.n);  // mean - x is layer_norm of -x
  for (double& v : negated) v = -v;
  RowInputs other = row;
  other.x = negated.data();
  return layer_norm(a, other);
}
