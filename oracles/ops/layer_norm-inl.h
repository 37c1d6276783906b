// y_i = (x_i - mean) / sqrt(variance + epsilon) * weight_i + bias_i, population moments of the row, or given ones: batch_norm's running
// statistics.
template <class Arithmetic>
auto layer_norm(const Arithmetic& a, const RowInputs& row) {
  const auto moments = row.given_moments ? a.given(row) : a.moments(row);
  const auto scale = a.rsqrt(moments.variance, row.epsilon);
  return a.map(row, [&](const auto& x, const auto& weight, const auto& bias) { return a.affine(x, moments.mean, scale, weight, bias); });
}
