#include "oracles/kernels/kernel.h"

#include <limits>
#include <string_view>
#include <vector>

#include "oracles/number/rounded.h"

namespace normfuzz {
namespace {

#include "oracles/ops/all-inl.h"

template <class T>
std::vector<double> run_in(const KernelOptions& kernel, std::string_view op, DType storage, const RowInputs& row) {
  const RoundedArithmetic<T> arithmetic(kernel, storage);
  std::vector<double> y;
  y.reserve(static_cast<std::size_t>(row.n));
  for (const T& e : evaluate_formula(op, arithmetic, row)) y.push_back(arithmetic.cast(static_cast<double>(e)));
  return y;
}

// dweight and dbias, or the updated parameters.
template <class T>
std::vector<double> sums_in(const KernelOptions& kernel, const CaseRows& rows, std::int64_t slice) {
  const RoundedArithmetic<T> arithmetic(kernel, rows.slice_storage(slice));
  const auto n = static_cast<std::size_t>(rows.parameters());
  if (rows.info().shape == OutputShape::kStatistics) {
    std::vector<double> out(2 * n);
    for (std::size_t r = 0; r < n; ++r) {
      const auto statistics = running_statistics(arithmetic, rows.row(static_cast<std::int64_t>(r)));
      for (const std::size_t k : {0, 1}) out[k * n + r] = arithmetic.cast(static_cast<double>(statistics[k]));
    }
    return out;
  }
  ParameterGradients<RoundedArithmetic<T>> sums;
  sums.weight.assign(n, arithmetic.start());
  sums.bias.assign(n, arithmetic.start());
  const bool factored = kernel.backward == BackwardForm::kFolded && !rows.view().parameter_by_column();
  std::vector<typename RoundedArithmetic<T>::Total> factored_weight(factored ? n : 0, arithmetic.start());
  for (std::int64_t r = 0; r < rows.rows(); ++r) {
    const auto parameter = [&](std::int64_t i) { return rows.view().parameter(r, i); };
    sums.add(rows.op(), arithmetic, rows.row(r), parameter);
    if (factored) add_factored(factored_weight, arithmetic, rows.row(r), parameter);
  }
  if (factored) sums.weight = std::move(factored_weight);
  std::vector<double> out;
  for (std::size_t k = 0; k < static_cast<std::size_t>(rows.slice_size(slice)); ++k) {
    const T gradient = (k < n ? sums.weight : sums.bias)[k % n].total();
    const double parameter = (k < n ? rows.weights() : rows.biases())[k % n];
    const bool update = rows.info().shape == OutputShape::kUpdate;
    out.push_back(arithmetic.cast(static_cast<double>(update ? updated(arithmetic, parameter, rows.learning_rate(), gradient) : gradient)));
  }
  return out;
}

// Calls f with a number of the accumulation type.
template <class F>
std::vector<double> in_format(DType accumulate, bool flush, F f) {
  switch (accumulate) {
    case DType::kF64:
      return flush ? f(Flushed<double>()) : f(double());
    case DType::kF32:
      return flush ? f(Flushed<float>()) : f(float());
    case DType::kF16:
      return flush ? f(Flushed<Narrow<DType::kF16>>()) : f(Narrow<DType::kF16>());
    case DType::kBF16:
      return flush ? f(Flushed<Narrow<DType::kBF16>>()) : f(Narrow<DType::kBF16>());
  }
  return {};
}

}  // namespace

std::vector<double> run_kernel(const KernelOptions& kernel, std::string_view op, DType accumulate, DType storage, const RowInputs& row) {
  return in_format(accumulate, kernel.flush_to_zero, [&](auto number) { return run_in<decltype(number)>(kernel, op, storage, row); });
}

std::vector<double> run_kernel(const KernelOptions& kernel, const CaseRows& rows, std::int64_t slice, DType accumulate) {
  if (!rows.is_sums(slice)) return run_kernel(kernel, rows.op(), accumulate, rows.slice_storage(slice), rows.row(slice));
  return in_format(accumulate, kernel.flush_to_zero, [&](auto number) { return sums_in<decltype(number)>(kernel, rows, slice); });
}

}  // namespace normfuzz
