// h = x + residual; y_i = h_i / sqrt(mean(h^2) + epsilon) * (weight_offset + weight_i). What the norm sees of h, the sum itself or the one
// rounded to the storage type, is the arithmetic's business (contract field `residual`).
template <class Arithmetic>
auto add_rms_norm(const Arithmetic& a, const RowInputs& row) {
  const auto h = a.numbers(row.n, [&](std::int64_t i) { return a.normalized_sum(row.x[i], row.other[i]); });
  const auto mean_square = a.over_count(a.sum_of_squares(row.n, element_of(h)), row.n);
  const auto scale = a.inverse_root(row.epsilon == 0 ? mean_square : mean_square + a.constant(row.epsilon));
  return a.results(row.n, [&](std::int64_t i) {
    const auto weight = a.value(row.weight[i]);
    return a.weighted(element_of(h)(i), scale, row.weight_offset == 0 ? weight : a.constant(row.weight_offset) + weight);
  });
}

// residual_new
template <class Arithmetic>
auto residual_sum(const Arithmetic& a, const RowInputs& row) {
  return a.results(row.n, [&](std::int64_t i) { return a.value(row.x[i]) + a.value(row.other[i]); });
}
