// How a kernel may compute a normalization: every choice that the contracts of ERROR_MODEL.md leave open. One value of KernelOptions is one
// kernel; `allows` says which kernels a contract admits.
#pragma once

#include <cstdint>
#include <string>

#include "oracles/contract.h"

namespace normfuzz {

enum class MomentsMethod : std::uint8_t { kTwoPass, kWelfordSequential, kWelfordLanes, kWelfordTree, kOnePassClamped, kOnePassUnclamped };

// Lanes: 8 sums folded in halves, 16 sums added one after another. kRandomTree: any two partial sums next, chosen by `seed`.
enum class SummationOrder : std::uint8_t { kSequential, kReversed, kPairwise, kEightLanes, kSixteenLanes, kRandomTree };

// Of the map: d = x - mean (x in rms_norm), s the scale, g the weight, m the mean, b the bias. The last three do not exist in rms_norm.
enum class Association : std::uint8_t {
  kScaleFirst,       // (d s) g + b
  kWeightIntoScale,  // d (s g) + b
  kWeightFirst,      // (d g) s + b
  kFoldedIntoBias,   // x t + (b - m t), t = s g
  kFoldedMean,       // (x s - m s) g + b
  kFoldedProducts,   // x s g - m s g + b
};
constexpr bool folded(Association a) { return a >= Association::kFoldedIntoBias; }

enum class Root : std::uint8_t {
  kReciprocal,
  kDivide,
  kRsqrt
};  // 1/sqrt(w); every factor s becomes a division by sqrt(w); rsqrt(w) + steps

// Of dx: r ((g - mean g) - xhat c), r (g - (mean g + xhat c)), or g r + (x b + c0) with everything else folded into b and c0.
enum class BackwardForm : std::uint8_t { kCentred, kMeansFirst, kFolded };

struct KernelOptions {
  MomentsMethod moments = MomentsMethod::kTwoPass;
  SummationOrder order = SummationOrder::kSequential;
  Association association = Association::kScaleFirst;
  Root root = Root::kReciprocal;
  int root_steps = 0;               // kRsqrt: neighbours between the correctly rounded result and the one taken
  bool fma = false;                 // wherever a product meets a sum
  bool reciprocal_count = false;    // times a rounded 1/n in place of the division by n; Welford's step too
  bool square_update = false;       // Welford: M += d^2 (k-1)/k in place of d (x - mean)
  bool weighted_merge = false;      // Welford: merged mean (n_a m_a + n_b m_b)/n in place of m_a + (m_b - m_a) n_b/n
  bool scaled = false;              // statistics of the row times powers of two: no spurious overflow or underflow
  bool flush_to_zero = false;       // results of operations, and the cast
  bool denormals_are_zero = false;  // stored inputs
  bool cast_before_weight = false;  // the normalized x is rounded to the storage type
  bool cast_before_bias = false;    // and its product with the weight too
  bool round_residual = false;      // add_rms_norm: the norm sees the sum rounded to the storage type
  bool folded_xhat = false;         // backward: x s - m s
  BackwardForm backward = BackwardForm::kCentred;
  unsigned variant = 0;    // which of the ways that a formula lists (cosine, lp_normalize)
  std::uint64_t seed = 0;  // of kRandomTree
};

// "two_pass, pairwise, fma, (d s) g + b, rsqrt+3, 1/n"
std::string describe(const KernelOptions& kernel);

// Merges on the longest path of a Welford kernel over n elements; 0 for other moments.
int merge_height(const KernelOptions& kernel, std::int64_t n);

// Whether a kernel of these options keeps the promises of `contract` on rows of n elements: algorithm, order, association, root, range.
// (`faithful` admits none: it is a promise about results.)
bool allows(const Contract& contract, const KernelOptions& kernel, std::int64_t n);

}  // namespace normfuzz
