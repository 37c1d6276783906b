// What a batch norm in training makes of its running statistics.

// (1 - momentum) before + momentum now, in the ways in use; the last one is given 1 - momentum.
template <class Arithmetic, class Number>
auto moved_toward(const Arithmetic& a, const Number& before, const Number& now, double momentum) {
  const auto one = a.constant(1), of_now = a.constant(momentum), of_before = one - of_now;
  return a.either([&] { return of_before * before + of_now * now; }, [&] { return before + of_now * (now - before); },
                  [&] { return of_before * before + (one - of_before) * now; });
}

// running_mean_new and running_var_new of a row.
template <class Arithmetic>
auto running_statistics(const Arithmetic& a, const RowInputs& row) {
  const auto moments = a.moments(row);
  const auto now = a.numbers_of(moments);
  const auto variance = row.sample_variance ? a.sample_variance(moments, row.n) : now.variance;
  return std::vector{moved_toward(a, a.in_range(a.value(row.mean)), a.in_range(now.mean), row.momentum),
                     moved_toward(a, a.in_range(a.value(row.variance)), a.in_range(variance), row.momentum)};
}
