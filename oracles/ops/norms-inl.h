// Norms of a row and what is made of them. `x` is a function from the index of an element to a number.

// (sum |x_i|^p)^(1/p), the largest |x_i| for p = infinity.
template <class Arithmetic, class Element>
auto norm(const Arithmetic& a, std::int64_t n, double p, Element x) {
  const auto magnitude = [&](std::int64_t i) { return a.magnitude(x(i)); };
  if (p == 1) return a.sum(n, magnitude);
  if (p == 2) return a.root(a.sum_of_squares(n, x));
  if (p > std::numeric_limits<double>::max()) return a.largest(n, magnitude);
  return a.root_of_order(a.sum(n, [&](std::int64_t i) { return a.power(magnitude(i), p); }), p);
}

template <class Arithmetic>
auto lp_norm(const Arithmetic& a, const RowInputs& row) {
  return a.results(1, [&](std::int64_t) { return norm(a, row.n, row.p, [&](std::int64_t i) { return a.value(row.x[i]); }); });
}

// sqrt(mean(x^2) + epsilon)
template <class Arithmetic>
auto rms(const Arithmetic& a, const RowInputs& row) {
  return a.results(1, [&](std::int64_t) {
    const auto mean_square = a.over_count(a.sum_of_squares(row.n, [&](std::int64_t i) { return a.value(row.x[i]); }), row.n);
    return a.root(row.epsilon == 0 ? mean_square : mean_square + a.constant(row.epsilon));
  });
}

// |a - b|_p
template <class Arithmetic>
auto distance(const Arithmetic& a, const RowInputs& row) {
  return a.results(
      1, [&](std::int64_t) { return norm(a, row.n, row.p, [&](std::int64_t i) { return a.value(row.x[i]) - a.value(row.other[i]); }); });
}

// a b / (|a| |b|), or with each length at least epsilon: as one quotient, or as the sum of products of unit vectors.
template <class Arithmetic>
auto cosine(const Arithmetic& a, const RowInputs& row) {
  const auto x = [&](std::int64_t i) { return a.value(row.x[i]); };
  const auto y = [&](std::int64_t i) { return a.value(row.other[i]); };
  const auto square_x = a.sum_of_squares(row.n, x), square_y = a.sum_of_squares(row.n, y);
  if (row.epsilon_mode == EpsilonMode::kNone) {
    return a.results(1, [&](std::int64_t) {
      const auto scale_x = a.inverse_root(square_x), scale_y = a.inverse_root(square_y);
      return a.either([&] { return a.dot(row.n, x, y) / (a.root(square_x) * a.root(square_y)); },
                      [&] { return a.dot(row.n, x, y) * scale_x * scale_y; },
                      [&] {
                        return a.dot(
                            row.n, [&](std::int64_t i) { return x(i) * scale_x; }, [&](std::int64_t i) { return y(i) * scale_y; });
                      });
    });
  }
  const auto epsilon = a.constant(row.epsilon);
  const auto length_x = a.larger(a.root(square_x), epsilon), length_y = a.larger(a.root(square_y), epsilon);
  return a.results(1, [&](std::int64_t) {
    return a.either([&] { return a.dot(row.n, x, y) / (length_x * length_y); },
                    [&] {
                      return a.dot(
                          row.n, [&](std::int64_t i) { return x(i) / length_x; }, [&](std::int64_t i) { return y(i) / length_y; });
                    });
  });
}

// x_i over the norm with its epsilon: by a reciprocal root where the denominator is a square root, else by a quotient or a reciprocal.
template <class Arithmetic>
auto lp_normalize(const Arithmetic& a, const RowInputs& row) {
  const auto x = [&](std::int64_t i) { return a.value(row.x[i]); };
  const EpsilonMode mode = row.epsilon_mode;
  if (row.p == 2 && mode != EpsilonMode::kAddOutside && mode != EpsilonMode::kMaxNorm) {
    auto square = a.sum_of_squares(row.n, x);
    if (mode == EpsilonMode::kAddInside) square = square + a.constant(row.epsilon);
    if (mode == EpsilonMode::kMaxSquare) square = a.larger(square, a.constant(row.epsilon));
    const auto scale = a.inverse_root(square);
    return a.results(row.n, [&](std::int64_t i) { return x(i) * scale; });
  }
  auto length = norm(a, row.n, row.p, x);
  if (mode == EpsilonMode::kAddOutside) length = length + a.constant(row.epsilon);
  if (mode == EpsilonMode::kMaxNorm) length = a.larger(length, a.constant(row.epsilon));
  const auto reciprocal = a.constant(1) / length;
  return a.results(row.n, [&](std::int64_t i) { return a.either([&] { return x(i) * reciprocal; }, [&] { return x(i) / length; }); });
}
