// What there is one of per weight: the sums over all rows of a backward or an update, the statistics of a batch norm. Included after
// ops/all-inl.h, in the same namespace.

// The new running statistics as one slice: all means, then all variances. Of a row, or from an old value, that is not finite: 0, which is
// the caller's to replace.
template <class Arithmetic>
std::vector<typename Arithmetic::Number> statistics_of_rows(const CaseRows& rows, const Arithmetic& a) {
  const auto finite_or_zero = [](double v) { return std::isfinite(v) ? v : 0; };
  std::vector<typename Arithmetic::Number> means, variances;
  for (std::int64_t r = 0; r < rows.rows(); ++r) {
    RowInputs row = rows.row(r);
    row.mean = finite_or_zero(row.mean);
    row.variance = finite_or_zero(row.variance);
    if (rows.finite(r)) {
      const auto statistics = running_statistics(a, row);
      means.push_back(statistics[0]);
      variances.push_back(statistics[1]);
    } else {
      means.push_back(a.value(0));
      variances.push_back(a.value(0));
    }
  }
  means.insert(means.end(), variances.begin(), variances.end());
  return means;
}

// dweight and dbias, or the updated parameters, as one slice. A dy that is not finite counts as 0: it spoils its own column only. A row
// with an x that is not finite, or that divides by zero (totalized: xhat = 0), counts for dbias only; a parameter that is not finite is
// taken as 0. What these make of the outputs is the caller's business.
template <class Arithmetic>
std::vector<typename Arithmetic::Number> summed_over_rows(const CaseRows& rows, const Arithmetic& a) {
  const auto n = static_cast<std::size_t>(rows.parameters());
  const auto cols = static_cast<std::size_t>(rows.cols());
  const bool update = rows.info().shape == OutputShape::kUpdate;
  const auto finite_or_zero = [](double v) { return std::isfinite(v) ? v : 0; };
  ParameterGradients<Arithmetic> sums;
  sums.weight.assign(n, a.start());
  sums.bias.assign(n, a.start());
  const bool factored = a.factors_gradients() && !rows.view().parameter_by_column();
  std::vector<typename Arithmetic::Total> factored_weight(factored ? n : 0, a.start());
  std::vector<double> dy(cols);
  for (std::int64_t r = 0; r < rows.rows(); ++r) {
    RowInputs row = rows.row(r);
    std::transform(row.other, row.other + cols, dy.begin(), finite_or_zero);
    row.other = dy.data();
    const bool finite_x = std::all_of(row.x, row.x + cols, [](double v) { return std::isfinite(v); });
    const auto parameter = [&](std::int64_t i) { return static_cast<std::size_t>(rows.view().parameter(r, i)); };
    if (finite_x && !divides_by_zero(rows.info(), row)) {
      sums.add(rows.op(), a, row, parameter);
      if (factored) add_factored(factored_weight, a, row, parameter);
    } else {
      for (std::size_t i = 0; i < cols; ++i) sums.bias[parameter(static_cast<std::int64_t>(i))].add(a.value(dy[i]));
    }
  }
  std::vector<typename Arithmetic::Number> out;
  for (std::size_t k = 0; k < static_cast<std::size_t>(rows.slice_size(rows.slices() - 1)); ++k) {
    const bool weight = k < n;
    auto gradient = (weight ? sums.weight : sums.bias)[k % n].total();
    if (factored && weight) gradient = a.either([&] { return gradient; }, [&] { return factored_weight[k].total(); });
    const double parameter = finite_or_zero((weight ? rows.weights() : rows.biases())[k % n]);
    out.push_back(update ? updated(a, parameter, rows.learning_rate(), gradient) : gradient);
  }
  return out;
}
