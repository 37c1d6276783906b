// The contract that a wrong output keeps, if there is a weaker one that it does.
#include <cmath>
#include <functional>
#include <utility>

#include "harness/explain/suspects.h"
#include "harness/judge.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

struct Weaker {
  const char *text, *family;
  std::function<bool(Contract&, const Case&)> weaken;  // false: does not apply, or the contract allows it already
};

// An estimate of `bits` bits, in ulps of the accumulation type; the other ops take their roots by sqrt as well.
bool root_of_bits(Contract& k, const Case& c, int bits) {
  const double ulps = std::exp2(format_of(k.accumulate).precision - bits);
  bool changes = std::exchange(k.rsqrt_ulps, std::max(ulps, k.rsqrt_ulps)) < ulps;
  if (!find_op(c.op)->affine()) changes |= std::exchange(k.sqrt_ulps, std::max(ulps, k.sqrt_ulps)) < ulps;
  return changes;
}

// exp2(p log2(x)) with the exponent rounded to the accumulation type twice: one of magnitude up to 2^7 has an error of 2^8 u.
bool plain_power(Contract& k, const Case& c) {
  constexpr double kUlps = 256;
  const double p = c.number("p", 2);
  return p != 1 && p != 2 && std::isfinite(p) && std::exchange(k.pow_ulps, std::max(kUlps, k.pow_ulps)) < kUlps;
}

const std::vector<Weaker>& weaker_contracts() {
  constexpr unsigned kOnePass = kOnePassClamped | kOnePassUnclamped;
  const auto shape = [](const Case& c) { return find_op(c.op)->shape; };
  const auto centred = [](const Case& c) { return find_op(c.op)->centred(); };
  const auto fold = [=](Contract& k, const Case& c) {
    return centred(c) && find_op(c.op)->forward_map() && !std::exchange(k.folded_affine, true);
  };
  const auto fold_xhat = [=](Contract& k, const Case& c) {
    return centred(c) && !find_op(c.op)->forward_map() && !std::exchange(k.folded_xhat, true);
  };
  const auto fold_backward = [=](Contract& k, const Case& c) {
    return shape(c) == OutputShape::kGradients && !std::exchange(k.folded_backward, true);
  };
  const auto one_pass = [=](Contract& k, const Case& c) {
    const bool changes = centred(c) && (k.moments & kOnePass) != kOnePass;
    k.moments |= kOnePass;
    return changes;
  };
  static const std::vector<Weaker> kWeaker = {
      {"folded affine", "folded affine", fold},
      {"a folded xhat", "folded backward", fold_xhat},
      {"a folded backward", "folded backward", fold_backward},
      {"a folded xhat and a folded backward", "folded backward",
       [=](Contract& k, const Case& c) { return fold_xhat(k, c) && fold_backward(k, c); }},
      {"one-pass variance", "cancellation", one_pass},
      {"a rounding to the output type before the weight", "rounding",
       [=](Contract& k, const Case& c) {
         return find_op(c.op)->forward_map() && c.op != "batch_norm" && !std::exchange(k.cast_before_weight, true);
       }},
      {"the norm of the rounded sum", "rounding",
       [](Contract& k, const Case& c) {
         return c.input("residual") && std::exchange(k.residual, ResidualSum::kAny) == ResidualSum::kUnrounded;
       }},
      {"a 20-bit reciprocal root", "rsqrt", [](Contract& k, const Case& c) { return root_of_bits(k, c, 20); }},
      {"a 12-bit reciprocal root", "rsqrt", [](Contract& k, const Case& c) { return root_of_bits(k, c, 12); }},
      {"a power by logarithm and exponential", "power", plain_power},
      {"flush to zero", "subnormals",
       [](Contract& k, const Case&) { return std::exchange(k.flush_to_zero, true) + std::exchange(k.denormals_are_zero, true) < 2; }},
      {"folded affine and one-pass variance", "cancellation", [=](Contract& k, const Case& c) { return fold(k, c) && one_pass(k, c); }},
      {"a folded backward and one-pass variance", "cancellation",
       [=](Contract& k, const Case& c) { return fold_backward(k, c) && one_pass(k, c); }},
      {"accumulation in the storage type", "low-precision accumulation",
       [](Contract& k, const Case& c) { return std::exchange(k.accumulate, c.dtype()) != c.dtype(); }},
      {"accumulation in f32", "low-precision accumulation",
       [](Contract& k, const Case&) { return std::exchange(k.accumulate, DType::kF32) == DType::kF64; }},
  };
  return kWeaker;
}

}  // namespace

std::optional<Suspect> admitting_contract(const Case& c, const Outcome& outcome, const Contract& contract) {
  if (outcome.kind != OutcomeKind::kOk) return std::nullopt;
  CaseJudge judge(c);
  Outcome numbers = outcome;
  numbers.memory = {};
  std::optional<Suspect> permissive;
  for (const Weaker& w : weaker_contracts()) {
    Contract weaker = contract;
    if (!w.weaken(weaker, c)) continue;
    weaker.name = contract.name + " with " + w.text;
    const Judgement j = judge.judge(numbers, weaker);
    if (is_violation(j.verdict)) continue;
    const std::string text = std::string("consistent with ") + w.text;
    if (j.unbounded == 0) return Suspect{text, w.family};
    if (!permissive) permissive = Suspect{text + " (which bounds nothing here)", w.family};
  }
  return permissive;
}

}  // namespace normfuzz
