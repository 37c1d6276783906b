#include "oracles/kernels/kernel_options.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace normfuzz {
namespace {

constexpr const char* kMoments[] = {"two_pass", "welford_sequential", "welford_lanes", "welford_tree", "one_pass", "one_pass_unclamped"};
constexpr const char* kOrders[] = {"sequential", "reversed", "pairwise", "8 lanes", "16 lanes", "random tree"};
constexpr const char* kAssociations[] = {"(d s) g + b",     "d (s g) + b",       "(d g) s + b",
                                         "x t + (b - m t)", "(x s - m s) g + b", "x s g - m s g + b"};

unsigned algorithm_of(MomentsMethod m) {
  switch (m) {
    case MomentsMethod::kTwoPass:
      return kTwoPass;
    case MomentsMethod::kWelfordSequential:
      return kWelfordSequential;
    case MomentsMethod::kWelfordLanes:
    case MomentsMethod::kWelfordTree:
      return kWelfordTree;
    case MomentsMethod::kOnePassClamped:
      return kOnePassClamped;
    case MomentsMethod::kOnePassUnclamped:
      return kOnePassUnclamped;
  }
  return 0;
}

}  // namespace

std::string describe(const KernelOptions& k) {
  std::string s = kMoments[static_cast<std::size_t>(k.moments)];
  const auto add = [&](std::string_view part) {
    s += ", ";
    s += part;
  };
  add(kOrders[static_cast<std::size_t>(k.order)]);
  if (k.order == SummationOrder::kRandomTree) (s += ' ') += std::to_string(k.seed);
  add(kAssociations[static_cast<std::size_t>(k.association)]);
  if (k.root == Root::kReciprocal) add("1/sqrt");
  if (k.root == Root::kDivide) add("d/sqrt");
  if (k.root == Root::kRsqrt) {
    add(k.root_steps < 0 ? "rsqrt" : "rsqrt+");
    s += std::to_string(k.root_steps);
  }
  const std::pair<bool, std::string_view> flags[] = {{k.fma, "fma"},
                                                     {k.reciprocal_count, "times 1/n"},
                                                     {k.square_update, "d^2 (k-1)/k"},
                                                     {k.weighted_merge, "weighted merge"},
                                                     {k.scaled, "scaled"},
                                                     {k.flush_to_zero, "ftz"},
                                                     {k.denormals_are_zero, "daz"},
                                                     {k.cast_before_weight, "cast before weight"},
                                                     {k.cast_before_bias, "cast before bias"},
                                                     {k.round_residual, "rounded sum"},
                                                     {k.folded_xhat, "x s - m s"},
                                                     {k.backward == BackwardForm::kMeansFirst, "g - (mean g + xhat c)"},
                                                     {k.backward == BackwardForm::kFolded, "g r + (x b + c)"}};
  for (const auto& [set, name] : flags)
    if (set) add(name);
  if (k.variant > 0) add("form " + std::to_string(k.variant));
  return s;
}

int merge_height(const KernelOptions& k, std::int64_t n) {
  if (k.moments == MomentsMethod::kWelfordLanes) return k.order == SummationOrder::kSixteenLanes ? 15 : 3;
  if (k.moments != MomentsMethod::kWelfordTree) return 0;
  if (k.order == SummationOrder::kRandomTree) return static_cast<int>(n - 1);
  return n <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(n - 1));
}

bool allows(const Contract& c, const KernelOptions& k, std::int64_t n) {
  if (c.faithful || (c.moments & algorithm_of(k.moments)) == 0) return false;
  if (c.welford_tree_height > 0 && algorithm_of(k.moments) == kWelfordTree && merge_height(k, n) > c.welford_tree_height) return false;
  if (folded(k.association) && !c.folded_affine) return false;
  if (k.folded_xhat && !c.folded_xhat) return false;
  if (k.backward == BackwardForm::kFolded && !c.folded_backward) return false;
  // The correctly rounded result is half an ulp off, each step one more; 1/sqrt and d/sqrt are correctly rounded operations.
  if (k.root == Root::kRsqrt && std::abs(k.root_steps) + 0.5 > c.rsqrt_ulps) return false;
  if (c.robust_range != k.scaled) return false;
  if (k.scaled && k.folded_xhat) return false;
  if (k.scaled && (k.moments != MomentsMethod::kTwoPass || k.association != Association::kScaleFirst)) return false;
  if ((k.cast_before_weight || k.cast_before_bias) && !c.cast_before_weight) return false;
  if (k.round_residual && c.residual == ResidualSum::kUnrounded) return false;
  return (c.flush_to_zero || !k.flush_to_zero) && (c.denormals_are_zero || !k.denormals_are_zero);
}

}  // namespace normfuzz
