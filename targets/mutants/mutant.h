// Kernels with one known bug each, and correct controls: what the judge must catch and must not catch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

enum class MutantMoments { kTwoPass, kOnePass, kOnePassUnclamped, kWelford };
enum class MutantSum { kSequential, kPairwise };
enum class MutantEpsilon { kInside, kOutside, kDropped, kFixed, kMaximum, kInCount };
// What is kept in the storage type where the accumulation type is due, several with |. Nothing changes for f32 and f64.
enum MutantNarrow : unsigned {
  kNarrowSquares = 1,        // every square before it is added
  kNarrowStatistic = 2,      // variance or mean square
  kNarrowEpsilon = 4,        //
  kNarrowSum = 8,            // every partial sum
  kNarrowOffsetWeight = 16,  // weight_offset + weight
  kNarrowNormalized = 32,    // before the weight
};

// Where the plain scalar kernel departs from the formula; the defaults are the correct kernel.
struct MutantPolicy {
  MutantMoments moments = MutantMoments::kTwoPass;
  MutantSum sum = MutantSum::kSequential;
  MutantEpsilon epsilon =
      MutantEpsilon::kInside;     // rsqrt(s + e), 1 / (sqrt(s) + e), rsqrt(s), rsqrt(s + 1e-5), rsqrt(max(s, e)), n to n + e
  bool sample_variance = false;   // divides by n - 1
  int root_bits = 0;              // significand bits of the reciprocal root, the rest cut off; 0: all
  std::int64_t vector_width = 0;  // elements behind the last full vector are left out of the sums; 0: none are
  std::int64_t weight_shift = 0;  // element i takes the weight of element i + shift
  bool bf16_mean = false;         // the mean is stored in bf16
  unsigned narrow = 0;            // of MutantNarrow
  bool f16_count = false;         // divides by the number of columns as f16 has it
  std::int64_t padded_to = 0;     // the row is filled with zeros to a multiple of this, and they enter the variance; 0: it is not
  bool half_of_middle = false;    // of 257 to 512 columns only 256 enter the sums
  bool swapped_variance = false;  // mean^2 - mean(x^2): negative
  bool no_reduction = false;      // the statistic is 0
  bool no_root = false;           // 1 / (s + e)
  bool truncates = false;         // the result is rounded toward zero
};

struct Mutant {
  std::string_view name;
  std::string_view family;      // kind of bug, as public reports name it; empty: a correct control
  std::string_view bug;         // what it does
  std::string_view references;  // public reports of the family
  MutantPolicy policy;
  std::vector<std::string_view> ops;  // that the policy changes; controls serve every other one too
  std::vector<DType> dtypes = {};     // likewise; empty: all

  bool control() const { return family.empty(); }
};

std::span<const Mutant> all_mutants();
const Mutant* find_mutant(std::string_view name);

// One row of `op` (layer_norm, channel_layer_norm or rms_norm), computed in f32 (f64 for f64) and rounded to `storage`.
std::vector<double> run_mutant(const MutantPolicy& policy, std::string_view op, DType storage, const RowInputs& row);

}  // namespace normfuzz
