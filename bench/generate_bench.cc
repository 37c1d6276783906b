// What a case costs before anything runs it: the generator's share of a campaign.
#include <benchmark/benchmark.h>

#include "harness/generate/generator.h"

namespace {

using normfuzz::DType;

// Arguments: dtype, most elements (0: as drawn).
void generate_cases(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  normfuzz::GeneratorOptions options;
  if (state.range(1) > 0) options.max_elements = state.range(1);
  std::uint64_t index = 0;
  std::int64_t elements = 0;
  for (auto _ : state) {
    const normfuzz::Case c = normfuzz::generate(1, "layer_norm", dtype, index++, options);
    elements += c.input("x")->size();
    benchmark::DoNotOptimize(c);
  }
  state.SetItemsProcessed(elements);
  state.SetLabel(std::string(normfuzz::name_of(dtype)) + (state.range(1) > 0 ? ", at most 64 elements" : ", as drawn"));
}
BENCHMARK(generate_cases)->ArgsProduct({{0, 1, 2, 3}, {0, 64}});

void digest_case(benchmark::State& state) {
  const normfuzz::Case c = normfuzz::generate(1, "layer_norm", DType::kF32, 0, {.regime = "gaussian", .max_elements = 64});
  for (auto _ : state) benchmark::DoNotOptimize(normfuzz::digest(c));
}
BENCHMARK(digest_case);

}  // namespace

BENCHMARK_MAIN();
