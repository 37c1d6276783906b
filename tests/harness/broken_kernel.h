// Kernels with one bug each, in process, as a Probe: what the shrinker and the explainer are tested on.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/mix_bits.h"
#include "harness/shrink.h"
#include "oracles/ops/op.h"

namespace normfuzz::testing {

// Writes y of one row; may set the outcome's kind instead.
using RowKernel = std::function<void(const RowInputs& row, double* y, Outcome& outcome)>;

inline Outcome run_kernel(const Case& c, const RowKernel& kernel) {
  Outcome o;
  o.kind = OutcomeKind::kOk;
  o.outputs = find_op(c.op)->output_layouts(c);
  Tensor& y = o.outputs[0].second;
  const CaseRows rows(c);
  std::vector<double> values(static_cast<std::size_t>(rows.cols()));
  for (std::int64_t r = 0; r < rows.rows() && o.kind == OutcomeKind::kOk; ++r) {
    kernel(rows.row(r), values.data(), o);
    for (std::int64_t i = 0; i < rows.cols(); ++i) y.set_value(rows.view().index(r, i), values[static_cast<std::size_t>(i)]);
  }
  if (o.kind != OutcomeKind::kOk) o.outputs.clear();
  return o;
}

// Judged under the `standard` contract. `whole` sees the whole case after the rows: bugs of layout and memory.
inline Probe probe_of(RowKernel kernel, std::function<void(const Case&, Outcome&)> whole = nullptr, int* calls = nullptr) {
  return [kernel = std::move(kernel), whole = std::move(whole), calls](std::span<const Case> cases) {
    if (calls) ++*calls;
    std::vector<Examination> out;
    for (const Case& c : cases) {
      Examination e;
      e.outcome = run_kernel(c, kernel);
      if (whole) whole(c, e.outcome);
      CaseJudge judge(c);
      e.judgement = judge.judge(e.outcome, *contract_named("standard", c.dtype()));
      out.push_back(std::move(e));
    }
    return out;
  };
}

// float kernels with the formula of layer_norm, and one place each where they may depart from it.
struct Departure {
  std::int64_t divisor_loss = 0;          // of the variance: n - divisor_loss
  std::int64_t tail_of = 0, tail_is = 0;  // columns behind a multiple of tail_of are dropped from the sums where n % tail_of == tail_is
  bool drop_epsilon = false, fix_epsilon = false;
  bool one_pass = false;
  bool folded_fma = false;
  bool shift_weight = false;
  bool drop_bias = false;
};
inline RowKernel departing(Departure d) {
  return [d](const RowInputs& row, double* y, Outcome&) {
    const std::int64_t counted = d.tail_of > 0 && row.n > d.tail_of && row.n % d.tail_of == d.tail_is ? row.n - d.tail_is : row.n;
    float sum = 0, squares = 0;
    for (std::int64_t i = 0; i < counted; ++i) sum += static_cast<float>(row.x[i]);
    const float mean = sum / static_cast<float>(row.n);
    for (std::int64_t i = 0; i < counted; ++i) {
      const float v = d.one_pass ? static_cast<float>(row.x[i]) : static_cast<float>(row.x[i]) - mean;
      squares += v * v;
    }
    float variance = squares / static_cast<float>(row.n > d.divisor_loss ? row.n - d.divisor_loss : row.n);
    if (d.one_pass) variance = std::max(0.0f, variance - mean * mean);
    const float epsilon = d.drop_epsilon ? 0 : d.fix_epsilon ? 1e-5f : static_cast<float>(row.epsilon);
    const float scale = 1 / std::sqrt(variance + epsilon);
    for (std::int64_t i = 0; i < row.n; ++i) {
      const auto x = static_cast<float>(row.x[i]);
      const auto weight = static_cast<float>(row.weight[d.shift_weight ? (i + 1) % row.n : i]);
      const float bias = d.drop_bias ? 0 : static_cast<float>(row.bias[i]);
      y[i] = d.folded_fma ? std::fma(x, scale, -mean * scale) * weight + bias : (x - mean) * scale * weight + bias;
    }
  };
}

// A fixed stream of numbers in [-1, 1), and tensors of them around a centre.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t state) : state_(state) {}
  Tensor fill(DType d, std::vector<std::int64_t> shape, double centre) {
    Tensor t = Tensor::zeros(d, std::move(shape));
    for (std::int64_t i = 0; i < t.size(); ++i) t.set_value(i, centre + next());
    return t;
  }

 private:
  double next() { return std::ldexp(static_cast<double>(static_cast<std::int64_t>(mix_bits(state_ += 0x9e3779b97f4a7c15u)) >> 11), -52); }
  std::uint64_t state_;
};

// A case of random values, weights and biases, mean `mean` and spread about 1.
inline Case random_case(std::string op, DType d, std::vector<std::int64_t> shape, double mean, std::uint64_t seed) {
  RandomValues values(seed * 0x9e3779b97f4a7c15u + 1);
  Case c;
  c.op = std::move(op);
  c.params["epsilon"] = 0x1.8p-9;
  const std::vector<std::int64_t> parameters = {shape.back()};
  c.set_input("x", values.fill(d, std::move(shape), mean));
  c.set_input("weight", values.fill(d, parameters, 1));
  c.set_input("bias", values.fill(d, parameters, 0));
  c.provenance = Provenance{1, seed, 0, "test"};
  return c;
}

inline ShrinkResult shrunk(const Case& c, const Probe& probe, const ShrinkOptions& options = {}) {
  const Judgement first = probe(std::span(&c, 1))[0].judgement;
  return shrink(c, first.verdict, first.law, first.failure, probe, options);
}

}  // namespace normfuzz::testing
