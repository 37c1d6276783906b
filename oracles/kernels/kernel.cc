#include "oracles/kernels/kernel.h"

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

template <class T>
std::vector<double> run_as(const KernelOptions& kernel, std::string_view op, DType storage, const RowInputs& row) {
  return kernel.flush_to_zero ? run_in<Flushed<T>>(kernel, op, storage, row) : run_in<T>(kernel, op, storage, row);
}

}  // namespace

std::vector<double> run_kernel(const KernelOptions& kernel, std::string_view op, DType accumulate, DType storage, const RowInputs& row) {
  switch (accumulate) {
    case DType::kF64:
      return run_as<double>(kernel, op, storage, row);
    case DType::kF32:
      return run_as<float>(kernel, op, storage, row);
    case DType::kF16:
      return run_as<Narrow<DType::kF16>>(kernel, op, storage, row);
    case DType::kBF16:
      return run_as<Narrow<DType::kBF16>>(kernel, op, storage, row);
  }
  return {};
}

}  // namespace normfuzz
