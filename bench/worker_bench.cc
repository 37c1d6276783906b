// What it costs to run a case in another process: per case of 4 x 8, in batches, native and Python; and the arena's share of it. For Python
// targets also what their function takes by itself (python_call.py), so that us_over is what a case costs beside it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/run/arena.h"
#include "harness/run/worker.h"

namespace normfuzz {
namespace {

Case case_of(std::int64_t rows, std::int64_t cols) {
  Case c;
  c.op = "layer_norm";
  c.params["epsilon"] = 0x1p-10;
  Tensor x = Tensor::zeros(DType::kF32, {rows, cols});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, static_cast<double>(i));
  c.set_input("x", std::move(x));
  c.set_input("weight", Tensor::zeros(DType::kF32, {cols}));
  c.set_input("bias", Tensor::zeros(DType::kF32, {cols}));
  return c;
}

const std::string kPlugins = NORMFUZZ_BINARY_DIR "/tests/plugins/", kTargets = NORMFUZZ_BINARY_DIR "/targets/";

// Microseconds of a call in a Python process of its own; 0: it could not be measured.
double call_alone(const Target& target) {
  const std::string command = "'" + target.python + "' '" NORMFUZZ_SOURCE_DIR "/bench/python_call.py' '" + target.module_path + "'";
  FILE* pipe = ::popen(command.c_str(), "r");
  char line[64] = "";
  const bool read = pipe && std::fgets(line, sizeof line, pipe);
  if (pipe) ::pclose(pipe);
  return read ? std::atof(line) : 0;
}

void run_batches(benchmark::State& state, const std::string& file, std::int64_t rows, std::int64_t cols) {
  const auto target = load_target_file(file);
  if (!target) return state.SkipWithError(target.error().c_str());
  const auto worker = Worker::create({*target, target->variants[0]}, {});
  if (const auto version = worker->version(); !version) return state.SkipWithError(version.error().c_str());
  const std::vector<Case> cases(static_cast<std::size_t>(state.range(0)), case_of(rows, cols));
  std::vector<const Case*> batch;
  for (const Case& c : cases) batch.push_back(&c);
  if (const auto first = worker->run(std::span(batch).first(1)); first[0].kind != OutcomeKind::kOk)
    return state.SkipWithError(first[0].message.c_str());
  double inside = 0, fastest = std::numeric_limits<double>::infinity();  // batch, in seconds: the one that nothing else disturbed
  for (auto _ : state) {
    const auto started = std::chrono::steady_clock::now();
    const auto outcomes = worker->run(batch);
    fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
    if (outcomes[0].kind != OutcomeKind::kOk) return state.SkipWithError(outcomes[0].message.c_str());
    for (const Outcome& o : outcomes) inside += o.microseconds;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  const double total = static_cast<double>(state.iterations() * state.range(0));
  state.counters["us_per_case"] = benchmark::Counter(total * 1e-6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["us_inside"] = inside / total;
  if (target->kind == TargetKind::kPython)
    if (const double alone = call_alone(*target); alone > 0) {
      state.counters["us_function"] = alone;
      state.counters["us_over"] = fastest / static_cast<double>(state.range(0)) * 1e6 - alone;
    }
}

void BM_NativeSmall(benchmark::State& state) { run_batches(state, kPlugins + "identity.so", 4, 8); }
void BM_PythonSmall(benchmark::State& state) { run_batches(state, kPlugins + "python/identity.py", 4, 8); }
void BM_OnnxRuntimeSmall(benchmark::State& state) { run_batches(state, kTargets + "onnxruntime/target.py", 4, 8); }
void BM_NativeRows768(benchmark::State& state) { run_batches(state, kPlugins + "identity.so", 64, 768); }
BENCHMARK(BM_NativeSmall)->Arg(1)->Arg(256)->UseRealTime();
BENCHMARK(BM_PythonSmall)->Arg(1)->Arg(256)->UseRealTime();
BENCHMARK(BM_OnnxRuntimeSmall)->Arg(256)->UseRealTime();
BENCHMARK(BM_NativeRows768)->Arg(64)->UseRealTime();

// Placing a case and checking it afterwards: what the campaign's own process spends on it.
void BM_Arena(benchmark::State& state) {
  Segment segment = std::move(*Segment::create(std::size_t{1} << 26));
  Arena arena(segment, std::size_t{1} << 25);
  const Case c = case_of(state.range(0), state.range(1));
  std::int64_t cases = 0;
  for (auto _ : state) {
    arena.reset();
    while (*arena.place(c, kGuardBytes)) {
    }
    for (std::uint32_t slot = 0; slot < arena.count(); ++slot) {
      protocol::publish(segment.descriptor(slot).status, 0u);
      benchmark::DoNotOptimize(arena.take(slot));
    }
    cases += arena.count();
  }
  state.counters["us_per_case"] =
      benchmark::Counter(static_cast<double>(cases) * 1e-6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Arena)->Args({4, 8})->Args({64, 768});

}  // namespace
}  // namespace normfuzz
