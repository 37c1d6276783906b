// What a kernel promises about its arithmetic. ERROR_MODEL.md, 'Contract fields': every field here is one of that list, with its default.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace normfuzz {

// Algorithms for the moments of a row; a contract allows a set of them and its bound is the maximum over the set.
enum MomentsAlgorithm : unsigned {
  kTwoPass = 1,
  kWelfordSequential = 2,
  kWelfordTree = 4,
  kOnePassClamped = 8,
  kOnePassUnclamped = 16,
};

// What the target does where a denominator is exactly zero (epsilon = 0 and no spread).
enum class ZeroDenominator { kAny, kZero, kNan };

// What the norm of add_rms_norm sees of x + residual: the sum in the accumulation type, the sum rounded to the storage type as residual_new
// is, or either.
enum class ResidualSum { kUnrounded, kRounded, kAny };

struct Contract {
  std::string name = "standard";
  bool faithful = false;           // 1 ulp of the output type, nothing else
  DType accumulate = DType::kF32;  // format of every intermediate
  unsigned moments = kTwoPass | kWelfordSequential | kWelfordTree;
  int welford_tree_height = 0;  // 0: not known
  bool folded_affine = false;   // x s + (b - m s) and its kin allowed beside the centred map
  bool folded_xhat = false;     // backward: xhat = x r - mean r allowed beside (x - mean) r
  // backward: dx = a dy w + b x + c allowed beside r (g - mean(g) - xhat mean(g xhat)); and, where a weight serves many elements of a row,
  // dweight = r (sum dy x - mean sum dy) of the row beside sum dy xhat
  bool folded_backward = false;
  double div_ulps = 0.5, sqrt_ulps = 0.5, rsqrt_ulps = 4, pow_ulps = 4;
  bool flush_to_zero = false;       // results
  bool denormals_are_zero = false;  // stored inputs
  bool robust_range = false;        // no statistic may overflow or underflow
  bool cast_before_weight = false;  // the normalized x is rounded to the output type, then weight and bias may be applied in that type
  ResidualSum residual = ResidualSum::kUnrounded;
  bool cast_saturates = false;  // a final cast that saturates instead of going to infinity
  ZeroDenominator zero_denominator = ZeroDenominator::kAny;
  std::map<std::string, bool> claims = {{"determinism", true}};

  bool claimed(const std::string& law) const {
    const auto it = claims.find(law);
    return it != claims.end() && it->second;
  }
};

// The ladder, strictest first: faithful, f64_accumulate, robust, two_pass, standard, one_pass, native_accumulate. ('none' is no contract.)
const std::vector<std::string_view>& contract_ladder();

// The named rung for data stored in `storage`; an error lists the names.
Result<Contract> contract_named(std::string_view name, DType storage);

// Applies one field by its ERROR_MODEL name, e.g. ("affine", "folded"), ("rsqrt_ulps", "8"), ("moments", "two_pass,welford_tree(5)").
Status apply_modifier(Contract& contract, std::string_view field, std::string_view value);

}  // namespace normfuzz
