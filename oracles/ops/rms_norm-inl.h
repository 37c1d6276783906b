// y_i = x_i / sqrt(mean(x^2) + epsilon) * (weight_offset + weight_i) + bias_i over the trailing dimensions.
template <class Arithmetic>
auto rms_norm(const Arithmetic& a, const RowInputs& row) {
  const auto scale = a.rsqrt(a.mean_square(row), row.epsilon);
  return a.map(row, [&](const auto& x, const auto& weight, const auto& bias) {
    return a.scaled(x, scale, a.offset_weight(weight, row.weight_offset), bias);
  });
}
