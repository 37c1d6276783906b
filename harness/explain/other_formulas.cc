// Formulas with a term or a root left out, written in the numbers of the ball table: each is evaluated with the contract's roundings.
#include <fmt/format.h>

#include <map>

#include "harness/explain/alternatives.h"
#include "harness/shrink/edit.h"
#include "oracles/formula_bounds.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

#include "oracles/ops/norms-inl.h"

using Arithmetic = BallArithmetic;
using Number = BallNumber;
using Numbers = std::vector<Number>;

auto at(const Numbers& v) {
  return [&v](std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
}
auto x_of(const Arithmetic& a, const RowInputs& row) {
  return [&a, &row](std::int64_t i) { return a.value(row.x[i]); };
}
auto other_of(const Arithmetic& a, const RowInputs& row) {
  return [&a, &row](std::int64_t i) { return a.value(row.other[i]); };
}

// What a row of layer_norm or rms_norm is normalized to; `lost` is taken off the number of elements in the variance.
struct Normalized {
  Number scale;
  Numbers xhat;

  Normalized(const Arithmetic& a, const RowInputs& row, bool centred, std::int64_t lost) {
    Numbers d = a.numbers(row.n, x_of(a, row));
    if (centred) {
      const Number mean = a.over_count(a.sum(row.n, at(d)), row.n);
      for (Number& e : d) e = e - mean;
    }
    scale = a.inverse_root(a.over_count(a.sum_of_squares(row.n, at(d)), row.n - lost) + a.constant(row.epsilon));
    xhat = a.numbers(row.n, [&](std::int64_t i) { return d[static_cast<std::size_t>(i)] * scale; });
  }
};

struct Gradient {
  bool mean_g = true, mean_g_xhat = true;
  std::int64_t lost = 0;
};

// dx of a row, with the terms that are kept.
Numbers input_gradient(const Arithmetic& a, const RowInputs& row, bool centred, const Gradient& keep) {
  const Normalized h(a, row, centred, keep.lost);
  const Numbers g = a.numbers(row.n, [&](std::int64_t i) {
    const Number weight = a.value(row.weight[i]);
    return (row.weight_offset == 0 ? weight : a.constant(row.weight_offset) + weight) * a.value(row.other[i]);
  });
  const Number mean_g = a.over_count(a.sum(row.n, at(g)), row.n), product = a.over_count(a.dot(row.n, at(g), at(h.xhat)), row.n);
  return a.numbers(row.n, [&](std::int64_t i) {
    Number t = at(g)(i);
    if (centred && keep.mean_g) t = t - mean_g;
    if (keep.mean_g_xhat) t = t - at(h.xhat)(i) * product;
    return h.scale * t;
  });
}

// Bounds of what every row gives: y or dx.
AlternativeBounds by_rows(const Case& c, const Contract& contract, std::function<Numbers(const Arithmetic&, const RowInputs&)> formula) {
  struct State {
    explicit State(const Case& c) : rows(CaseRows::borrowing(c)) {}
    CaseRows rows;
    std::map<std::int64_t, std::vector<ElementBound>> bounds;
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> places;  // of an element: slice, position
  };
  auto state = std::make_shared<State>(c);
  const CaseRows& rows = state->rows;
  for (std::int64_t s = 0; s < rows.slices(); ++s)
    for (std::int64_t i = 0; !rows.is_sums(s) && i < rows.slice_size(s); ++i)
      if (rows.element(s, i).output == 0) state->places[rows.element(s, i).index] = {s, i};
  return [state, contract, formula](std::string_view output, std::int64_t index) -> std::optional<ElementBound> {
    if (output != state->rows.outputs()[0]) return std::nullopt;
    const auto [slice, position] = state->places.at(index);
    const auto [it, fresh] = state->bounds.try_emplace(slice);
    if (fresh) {
      const RowInputs row = state->rows.row(slice);
      it->second = formula_bounds(contract, state->rows.storage(), row.n, [&](const Arithmetic& a) { return formula(a, row); });
    }
    return it->second[static_cast<std::size_t>(position)];
  };
}

// Bounds of a sum over all rows: of dweight or dbias by column, or of the update by it.
AlternativeBounds by_columns(const Case& c, const Contract& contract, const std::string& which,
                             const std::function<Numbers(const Arithmetic&, const RowInputs&)>& of_row) {
  struct State {
    explicit State(const Case& c) : rows(CaseRows::borrowing(c)) {}
    CaseRows rows;
    std::vector<ElementBound> bounds;
  };
  auto state = std::make_shared<State>(c);
  return [state, contract, which, of_row](std::string_view output, std::int64_t index) -> std::optional<ElementBound> {
    const CaseRows& rows = state->rows;
    const bool update = rows.info().shape == OutputShape::kUpdate, bias = output == "dbias" || output == "bias_new";
    if (output == "dx" || (which == "dweight") == bias) return std::nullopt;
    if (state->bounds.empty())
      state->bounds =
          formula_bounds(contract, rows.storage(static_cast<int>(rows.outputs().size()) - 1), rows.cols(), [&](const Arithmetic& a) {
            std::vector<Arithmetic::Total> totals(static_cast<std::size_t>(rows.parameters()), a.start());
            for (std::int64_t r = 0; r < rows.rows(); ++r) {
              const Numbers terms = of_row(a, rows.row(r));
              for (std::size_t i = 0; i < terms.size(); ++i)
                totals[static_cast<std::size_t>(rows.view().parameter(r, static_cast<std::int64_t>(i)))].add(terms[i]);
            }
            return a.numbers(rows.parameters(), [&](std::int64_t j) {
              const auto k = static_cast<std::size_t>(j);
              const Number gradient = totals[k].total();
              const double before = (bias ? rows.biases() : rows.weights())[k];
              return update ? a.value(before) - a.constant(rows.learning_rate()) * gradient : gradient;
            });
          });
    return state->bounds[static_cast<std::size_t>(index)];
  };
}

void of_gradients(const Case& c, const Contract& contract, std::vector<Alternative>& out) {
  const bool centred = find_op(c.op)->centred(), has_dx = find_op(c.op)->shape == OutputShape::kGradients;
  const auto dx = [&](const char* name, const char* family, const Gradient& keep) {
    out.push_back({name, family,
                   by_rows(c, contract, [=](const Arithmetic& a, const RowInputs& row) { return input_gradient(a, row, centred, keep); })});
  };
  if (has_dx) {
    if (centred) dx("the term mean(g) left out", "backward terms", {.mean_g = false});
    dx("the term mean(g xhat) left out", "backward terms", {.mean_g_xhat = false});
    if (centred) dx("both means left out", "backward terms", {.mean_g = false, .mean_g_xhat = false});
    if (centred && shape_of(c).cols > 1) dx("the variance over n - 1", "statistics", {.lost = 1});
  }
  const auto sums = [&](const char* name, const char* family, const char* which, auto of_row) {
    out.push_back({name, family, by_columns(c, contract, which, of_row)});
  };
  sums("sums of dy x instead of dy xhat", "backward terms", "dweight", [](const Arithmetic& a, const RowInputs& row) {
    return a.numbers(row.n, [&](std::int64_t j) { return a.value(row.other[j]) * a.value(row.x[j]); });
  });
  sums("sums of dy", "backward terms", "dweight",
       [](const Arithmetic& a, const RowInputs& row) { return a.numbers(row.n, other_of(a, row)); });
  if (centred && shape_of(c).cols > 1)
    sums("the variance over n - 1", "statistics", "dweight", [](const Arithmetic& a, const RowInputs& row) {
      const Normalized h(a, row, true, 1);
      return a.numbers(row.n, [&](std::int64_t j) { return a.value(row.other[j]) * at(h.xhat)(j); });
    });
  sums("sums of dx", "backward terms", "dbias",
       [centred](const Arithmetic& a, const RowInputs& row) { return input_gradient(a, row, centred, {}); });
  sums("sums of weight dy", "backward terms", "dbias", [](const Arithmetic& a, const RowInputs& row) {
    return a.numbers(row.n, [&](std::int64_t j) { return a.value(row.weight[j]) * a.value(row.other[j]); });
  });
}

// What the root is taken of: the sum of p-th powers.
Number powers(const Arithmetic& a, std::int64_t n, double p, const auto& x) {
  if (p == 2) return a.sum_of_squares(n, x);
  return a.sum(n, [&](std::int64_t i) { return a.power(a.magnitude(x(i)), p); });
}

void of_norms(const Case& c, const Contract& contract, std::vector<Alternative>& out) {
  const Formula formula = find_op(c.op)->formula;
  const double p = c.number("p", 2);
  const auto add = [&](const char* name, const char* family, auto f) { out.push_back({name, family, by_rows(c, contract, f)}); };
  const bool rooted = p != 1 && std::isfinite(p);
  if (formula == Formula::kLpNorm && rooted)
    add("the root left out", "norm",
        [](const Arithmetic& a, const RowInputs& row) { return Numbers{powers(a, row.n, row.p, x_of(a, row))}; });
  if ((formula == Formula::kLpNorm || formula == Formula::kDistance) && std::isinf(p))
    add("the largest element instead of the largest magnitude", "norm", [formula](const Arithmetic& a, const RowInputs& row) {
      return Numbers{a.largest(row.n, [&](std::int64_t i) {
        return formula == Formula::kDistance ? a.value(row.x[i]) - a.value(row.other[i]) : a.value(row.x[i]);
      })};
    });
  if (formula == Formula::kDistance) {
    if (rooted)
      add("the root left out", "norm", [](const Arithmetic& a, const RowInputs& row) {
        return Numbers{powers(a, row.n, row.p, [&](std::int64_t i) { return a.value(row.x[i]) - a.value(row.other[i]); })};
      });
    add("the difference of the norms", "norm", [](const Arithmetic& a, const RowInputs& row) {
      return Numbers{a.magnitude(norm(a, row.n, row.p, x_of(a, row)) - norm(a, row.n, row.p, other_of(a, row)))};
    });
  }
  if (formula == Formula::kRms) {
    const auto mean_square = [](const Arithmetic& a, const RowInputs& row, std::int64_t n) {
      return a.over_count(a.sum_of_squares(row.n, x_of(a, row)), n);
    };
    add("the root left out", "norm",
        [=](const Arithmetic& a, const RowInputs& row) { return Numbers{mean_square(a, row, row.n) + a.constant(row.epsilon)}; });
    add("epsilon added outside of the root", "epsilon",
        [=](const Arithmetic& a, const RowInputs& row) { return Numbers{a.root(mean_square(a, row, row.n)) + a.constant(row.epsilon)}; });
    if (shape_of(c).cols > 1)
      add("the mean over n - 1", "statistics", [=](const Arithmetic& a, const RowInputs& row) {
        return Numbers{a.root(mean_square(a, row, row.n - 1) + a.constant(row.epsilon))};
      });
  }
  if (formula == Formula::kCosine) {
    const auto dot = [](const Arithmetic& a, const RowInputs& row) { return a.dot(row.n, x_of(a, row), other_of(a, row)); };
    add("the lengths left out", "norm", [=](const Arithmetic& a, const RowInputs& row) { return Numbers{dot(a, row)}; });
    add("the length of b left out", "norm",
        [=](const Arithmetic& a, const RowInputs& row) { return Numbers{dot(a, row) / a.root(a.sum_of_squares(row.n, x_of(a, row)))}; });
    add("the length of a left out", "norm", [=](const Arithmetic& a, const RowInputs& row) {
      return Numbers{dot(a, row) / a.root(a.sum_of_squares(row.n, other_of(a, row)))};
    });
    add("the magnitude of the cosine", "norm", [=](const Arithmetic& a, const RowInputs& row) {
      return Numbers{
          a.magnitude(dot(a, row) / (a.root(a.sum_of_squares(row.n, x_of(a, row))) * a.root(a.sum_of_squares(row.n, other_of(a, row)))))};
    });
  }
  if (formula == Formula::kLpNormalize) {
    if (rooted)
      add("the root left out", "norm", [](const Arithmetic& a, const RowInputs& row) {
        const Number length = powers(a, row.n, row.p, x_of(a, row));
        return a.numbers(row.n, [&](std::int64_t i) { return a.value(row.x[i]) / length; });
      });
    add("the mean instead of the sum", "norm", [](const Arithmetic& a, const RowInputs& row) {
      const Number length = a.root(a.over_count(a.sum_of_squares(row.n, x_of(a, row)), row.n));
      return a.numbers(row.n, [&](std::int64_t i) { return a.value(row.x[i]) / length; });
    });
  }
}

}  // namespace

std::vector<Alternative> other_formulas(const Case& c, const Contract& contract) {
  std::vector<Alternative> out;
  if (c.input("dy"))
    of_gradients(c, contract, out);
  else if (!find_op(c.op)->affine())
    of_norms(c, contract, out);
  return out;
}

}  // namespace normfuzz
