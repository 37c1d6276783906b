// Vector-Jacobian products of layer_norm and rms_norm: xhat = (x - mean) r or x r, g = (weight_offset + weight) dy.

// g_i of a row.
template <class Arithmetic>
auto weighted_cotangents(const Arithmetic& a, const RowInputs& row) {
  return a.numbers(row.n, [&](std::int64_t i) {
    const auto weight = a.value(row.weight[i]);
    return (row.weight_offset == 0 ? weight : a.constant(row.weight_offset) + weight) * a.value(row.other[i]);
  });
}

// xhat_i of a row of layer_norm, and of rms_norm.
template <class Arithmetic, class Mean, class Scale>
auto normalized(const Arithmetic& a, const RowInputs& row, const Mean& mean, const Scale& scale) {
  return a.numbers(row.n, [&](std::int64_t i) { return a.normalized(a.value(row.x[i]), mean, scale); });
}
template <class Arithmetic, class Scale>
auto normalized(const Arithmetic& a, const RowInputs& row, const Scale& scale) {
  return a.numbers(row.n, [&](std::int64_t i) { return a.normalized(a.value(row.x[i]), scale); });
}

template <class Number>
auto element_of(const std::vector<Number>& v) {
  return [&v](std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
}

// dx_i = r (g_i - mean_g - xhat_i mean(g xhat))
template <class Arithmetic, class Scale, class Number, class Variants>
auto input_gradients(const Arithmetic& a, const RowInputs& row, const Scale& scale, const std::vector<Number>& xhat,
                     const std::vector<Number>& g, const Number& mean_g, const Variants& variants) {
  const auto mean_g_xhat = a.over_count(a.dot(row.n, element_of(g), element_of(xhat)), row.n);
  return a.results(row.n, [&](std::int64_t i) {
    return a.input_gradient(scale, element_of(g)(i), mean_g, element_of(xhat)(i), mean_g_xhat, variants, i);
  });
}

template <class Arithmetic>
auto layer_norm_backward(const Arithmetic& a, const RowInputs& row) {
  const auto moments = a.moments(row);
  const auto scale = a.rsqrt(moments.variance, row.epsilon);
  const auto g = weighted_cotangents(a, row);
  const auto mean_g = a.over_count(a.sum(row.n, element_of(g)), row.n);
  return input_gradients(a, row, scale, normalized(a, row, moments.mean, scale), g, mean_g,
                         a.gradient_variants(row, &moments.mean, scale, g));
}

// The same without a mean.
template <class Arithmetic>
auto rms_norm_backward(const Arithmetic& a, const RowInputs& row) {
  const auto scale = a.rsqrt(a.mean_square(row), row.epsilon);
  const auto g = weighted_cotangents(a, row);
  return input_gradients(a, row, scale, normalized(a, row, scale), g, a.value(0), a.gradient_variants(row, nullptr, scale, g));
}

template <class Arithmetic>
auto normalized_row(std::string_view op, const Arithmetic& a, const RowInputs& row) {
  if (op.substr(0, 3) == "rms") return normalized(a, row, a.rsqrt(a.mean_square(row), row.epsilon));
  const auto moments = a.moments(row);
  return normalized(a, row, moments.mean, a.rsqrt(moments.variance, row.epsilon));
}

// The sums over all rows: dweight = sum dy xhat, dbias = sum dy over the elements that a weight serves. One total per weight.
template <class Arithmetic>
struct ParameterGradients {
  std::vector<typename Arithmetic::Total> weight, bias;

  // Adds a row; parameter(i) is the weight of its element i. `a` serves this row; its totals outlive it only with the arithmetic that made
  // them.
  template <class Parameter>
  void add(std::string_view op, const Arithmetic& a, const RowInputs& row, Parameter parameter) {
    const auto xhat = normalized_row(op, a, row);
    for (std::int64_t i = 0; i < row.n; ++i) {
      const auto k = static_cast<std::size_t>(parameter(i));
      const auto dy = a.value(row.other[i]);
      weight[k].add(dy * xhat[static_cast<std::size_t>(i)]);
      bias[k].add(dy);
    }
  }
};

// dweight in the factored form of kernels whose weights serve many elements of a row: of every row r (sum dy x - mean sum dy).
template <class Arithmetic>
void add_factored(std::vector<typename Arithmetic::Total>& sums, const Arithmetic& a, const RowInputs& row, const auto& parameter) {
  const auto moments = a.moments(row);
  const auto scale = a.rsqrt(moments.variance, row.epsilon);
  const auto mean = a.numbers_of(moments).mean;
  std::vector<std::size_t> weights;  // of this row
  std::vector<typename Arithmetic::Total> products, cotangents;
  for (std::int64_t i = 0; i < row.n; ++i) {
    const auto weight = static_cast<std::size_t>(parameter(i));
    std::size_t at = 0;
    while (at < weights.size() && weights[at] != weight) ++at;
    if (at == weights.size()) {
      weights.push_back(weight);
      products.push_back(a.start());
      cotangents.push_back(a.start());
    }
    const auto dy = a.value(row.other[i]);
    products[at].add(dy * a.value(row.x[i]));
    cotangents[at].add(dy);
  }
  for (std::size_t at = 0; at < weights.size(); ++at)
    sums[weights[at]].add(a.normalized(products[at].total() - mean * cotangents[at].total(), scale));
}

// parameter - learning_rate gradient
template <class Arithmetic, class Number>
auto updated(const Arithmetic& a, double parameter, double learning_rate, const Number& gradient) {
  return a.value(parameter) - a.constant(learning_rate) * gradient;
}
