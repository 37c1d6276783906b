// What certifying costs: f32 rows of 768 columns through the judge, beside the test that it replaces, a double-precision reference with
// allclose, in the same run. Both start from the stored float tensors; items are elements.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "harness/judge.h"

namespace normfuzz {
namespace {

constexpr std::int64_t kRows = 64, kCols = 768;

// Gaussian-like rows, weight and bias; the output of a two-pass float kernel.
struct Sample {
  Case c;
  Outcome outcome;

  Sample() {
    c.op = "layer_norm";
    c.params["epsilon"] = static_cast<double>(1e-5f);
    std::uint64_t state = 1;
    const auto draw = [&] {
      double sum = 0;
      for (int i = 0; i < 4; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += static_cast<double>(static_cast<std::int32_t>(state >> 32));
      }
      return sum * 0x1p-31;
    };
    const auto tensor = [&](std::vector<std::int64_t> shape) {
      Tensor t = Tensor::zeros(DType::kF32, std::move(shape));
      for (std::int64_t i = 0; i < t.size(); ++i) t.set_value(i, draw());
      return t;
    };
    c.set_input("x", tensor({kRows, kCols}));
    c.set_input("weight", tensor({kCols}));
    c.set_input("bias", tensor({kCols}));
    outcome.kind = OutcomeKind::kOk;
    outcome.outputs.emplace_back("y", Tensor::zeros(DType::kF32, {kRows, kCols}));
    compute();
  }

  void compute() {
    const auto x = floats("x"), weight = floats("weight"), bias = floats("bias");
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float* row = x.data() + r * kCols;
      float mean = 0, variance = 0;
      for (std::int64_t i = 0; i < kCols; ++i) mean += row[i];
      mean /= kCols;
      for (std::int64_t i = 0; i < kCols; ++i) variance += (row[i] - mean) * (row[i] - mean);
      const float scale = 1 / std::sqrt(variance / kCols + 1e-5f);
      for (std::int64_t i = 0; i < kCols; ++i) {
        const auto at = static_cast<std::size_t>(i);
        outcome.outputs[0].second.set_value(r * kCols + i, (row[i] - mean) * scale * weight[at] + bias[at]);
      }
    }
  }

  std::vector<float> floats(const char* name) const { return floats(*c.input(name)); }
  static std::vector<float> floats(const Tensor& t) {
    const auto* p = reinterpret_cast<const float*>(t.data.data());
    return {p, p + t.size()};
  }
};

const Sample& sample() {
  static const Sample kSample;
  return kSample;
}

void BM_Judge(benchmark::State& state) {
  const Sample& s = sample();
  const Contract contract = *contract_named("standard", DType::kF32);
  for (auto _ : state) {
    CaseJudge judge(s.c);
    const Judgement j = judge.judge(s.outcome, contract);
    if (j.verdict != Verdict::kCertified || j.filtered_rows != kRows) state.SkipWithError("not certified by the filter");
    benchmark::DoNotOptimize(j);
  }
  state.SetItemsProcessed(state.iterations() * kRows * kCols);
}
BENCHMARK(BM_Judge);

// The plain reference: mean, variance and map in double, then |y - reference| <= atol + rtol |reference|.
bool allclose_row(const float* x, const float* weight, const float* bias, const float* y) {
  double mean = 0, variance = 0;
  for (std::int64_t i = 0; i < kCols; ++i) mean += x[i];
  mean /= kCols;
  for (std::int64_t i = 0; i < kCols; ++i) variance += (x[i] - mean) * (x[i] - mean);
  const double scale = 1 / std::sqrt(variance / kCols + static_cast<double>(1e-5f));
  bool close = true;
  for (std::int64_t i = 0; i < kCols; ++i) {
    const double reference = (x[i] - mean) * scale * weight[i] + bias[i];
    close = close && std::fabs(y[i] - reference) <= 1e-5 + 1.3e-6 * std::fabs(reference);
  }
  return close;
}

void BM_PlainReferenceWithAllclose(benchmark::State& state) {
  const Sample& s = sample();
  const auto at = [](const Tensor& t) { return reinterpret_cast<const float*>(t.data.data()); };
  const float *x = at(*s.c.input("x")), *weight = at(*s.c.input("weight")), *bias = at(*s.c.input("bias")),
              *y = at(s.outcome.outputs[0].second);
  for (auto _ : state) {
    bool close = true;
    for (std::int64_t r = 0; r < kRows; ++r) close = allclose_row(x + r * kCols, weight, bias, y + r * kCols) && close;
    benchmark::DoNotOptimize(close);
  }
  state.SetItemsProcessed(state.iterations() * kRows * kCols);
}
BENCHMARK(BM_PlainReferenceWithAllclose);

}  // namespace
}  // namespace normfuzz

BENCHMARK_MAIN();
