// Vector-Jacobian products of layer_norm and rms_norm: xhat = (x - mean) r or x r, g = (weight_offset + weight) dy.

// g_i of a row.
template <class Arithmetic>
auto weighted_cotangents(const Arithmetic& a, const RowInputs& row) {
  return a.numbers(row.n, [&](std::int64_t i) {
    const auto weight = a.value(row.weight[i]);
    return (row.weight_offset == 0 ? weight : a.constant(row.weight_offset) + weight) * a.value(row.other[i]);
  });
}

// xhat_i of a row of layer_norm.
template <class Arithmetic>
auto centred_normalized(const Arithmetic& a, const RowInputs& row) {
  const auto moments = a.moments(row);
  const auto scale = a.rsqrt(moments.variance, row.epsilon);
  return a.numbers(row.n, [&](std::int64_t i) { return a.normalized(a.value(row.x[i]), moments.mean, scale); });
}

// xhat_i of a row of rms_norm.
template <class Arithmetic>
auto scaled_normalized(const Arithmetic& a, const RowInputs& row) {
  const auto scale = a.rsqrt(a.mean_square(row), row.epsilon);
  return a.numbers(row.n, [&](std::int64_t i) { return a.normalized(a.value(row.x[i]), scale); });
}

// dx_i = r (g_i - mean(g) - xhat_i mean(g xhat))
template <class Arithmetic>
auto layer_norm_backward(const Arithmetic& a, const RowInputs& row) {
  const auto moments = a.moments(row);
  const auto scale = a.rsqrt(moments.variance, row.epsilon);
  const auto xhat = a.numbers(row.n, [&](std::int64_t i) { return a.normalized(a.value(row.x[i]), moments.mean, scale); });
  const auto g = weighted_cotangents(a, row);
  const auto at = [](const auto& v) { return [&v](std::int64_t i) { return v[static_cast<std::size_t>(i)]; }; };
  const auto mean_g = a.over_count(a.sum(row.n, at(g)), row.n);
  const auto mean_g_xhat = a.over_count(a.dot(row.n, at(g), at(xhat)), row.n);
  const auto variants = a.gradient_variants(row, &moments.mean, scale, g);
  return a.results(row.n, [&](std::int64_t i) {
    const auto k = static_cast<std::size_t>(i);
    return a.input_gradient(scale, g[k], mean_g, xhat[k], mean_g_xhat, variants, i);
  });
}

// dx_i = r (g_i - xhat_i mean(g xhat))
template <class Arithmetic>
auto rms_norm_backward(const Arithmetic& a, const RowInputs& row) {
  const auto scale = a.rsqrt(a.mean_square(row), row.epsilon);
  const auto xhat = a.numbers(row.n, [&](std::int64_t i) { return a.normalized(a.value(row.x[i]), scale); });
  const auto g = weighted_cotangents(a, row);
  const auto at = [](const auto& v) { return [&v](std::int64_t i) { return v[static_cast<std::size_t>(i)]; }; };
  const auto mean_g_xhat = a.over_count(a.dot(row.n, at(g), at(xhat)), row.n);
  const auto variants = a.gradient_variants(row, nullptr, scale, g);
  const auto no_mean = a.value(0);
  return a.results(row.n, [&](std::int64_t i) {
    const auto k = static_cast<std::size_t>(i);
    return a.input_gradient(scale, g[k], no_mean, xhat[k], mean_g_xhat, variants, i);
  });
}

// The sums over all rows: dweight_j = sum dy_j xhat_j, dbias_j = sum dy_j. One total per column.
template <class Arithmetic>
struct ParameterGradients {
  std::vector<typename Arithmetic::Total> weight, bias;

  // Adds a row. `a` serves this row; its totals outlive it only with the arithmetic that made them.
  void add(std::string_view op, const Arithmetic& a, const RowInputs& row) {
    const auto xhat = op.substr(0, 3) == "rms" ? scaled_normalized(a, row) : centred_normalized(a, row);
    for (std::int64_t j = 0; j < row.n; ++j) {
      const auto k = static_cast<std::size_t>(j);
      const auto dy = a.value(row.other[j]);
      weight[k].add(dy * xhat[k]);
      bias[k].add(dy);
    }
  }
};

// parameter - learning_rate gradient
template <class Arithmetic, class Number>
auto updated(const Arithmetic& a, double parameter, double learning_rate, const Number& gradient) {
  return a.value(parameter) - a.constant(learning_rate) * gradient;
}
