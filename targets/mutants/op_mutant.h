// Kernels with one known bug each of the operators beside layer_norm and rms_norm: channels, norms along an axis, gradients, fused updates.
// They see whole tensors in logical order, because some of the bugs are about which elements form a row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oracles/ops/row_inputs.h"
#include "targets/mutants/mutant.h"

namespace normfuzz {

enum class OpBug : std::uint8_t {
  kNone,
  kWholeMap,           // statistics over channels and positions of a sample
  kWrongAxis,          // rows along the neighbouring dimension
  kNhwcAsNchw,         // the layout parameter is ignored
  kLastRow,            // dweight of the last row alone, not summed
  kNoMeanGradient,     // dx without its term mean(g)
  kNoProjection,       // dx without its term xhat mean(g xhat)
  kWeightForgotten,    // g = dy
  kNoEpsilon,          // statistics of a backward without epsilon
  kBiasFromDx,         // dbias = sum of dx
  kStepUpward,         // parameter + rate gradient
  kRateSquared,        // parameter - rate^2 gradient
  kNoRoot,             // sum |x|^2 for its root
  kL1ForL2,            // sum |x| where p = 2
  kSignedMaximum,      // max(x) for max |x|
  kDivisorL1,          // x / sum |x| whatever p
  kEpsilonOutside,     // |x| + epsilon for sqrt(|x|^2 + epsilon)
  kOneLength,          // a b / |a|
  kMagnitudes,         // |a| - |b| for |a - b|
  kSampleMean,         // the sum of squares over n - 1
  kInterleavedGroups,  // channel c in group c modulo the number of groups
  kWeightByPosition,   // the weight of the channel's position within its group
  kRunningPopulation,  // the running variance moved by the population's where the sample's is due
  kMomentumSwapped,    // momentum (old) + (1 - momentum) (new)
  kTrainingAlways,     // the batch's statistics where the running ones are due
  kResidualNotAdded,   // residual_new is x
  kResidualEarly,      // the norm sees the sum rounded to bf16
  kHeadsTogether,      // one mean square over all heads of a position
  kGraphFused,         // layer_norm for every graph that looks like it
  kGradientsSwapped,   // dweight and dbias in each other's place
  kFirst128Rows,       // dweight and dbias of rows 0 to 127
  kSumsInStorage,      // dweight and dbias accumulated in the storage type
  kXhatFromOutput,     // (xhat w) / w
  kSignedSum,          // sum x for sum |x|
  kLengthPlus,         // |x| + 2^-23 for |x|
  kProductUnderRoot,   // a b / sqrt(|a|^2 |b|^2)
  kEpsilonInStorage,   // epsilon rounded to the storage type
  kQueryWeight,        // k takes q's weight
};

struct OpMutant {
  std::string_view name, family, bug, references;  // as of Mutant
  OpBug defect;
  std::vector<std::string_view> ops;
  std::vector<DType> dtypes = {};  // as of Mutant
};
std::span<const OpMutant> op_mutants();
const OpMutant* find_op_mutant(std::string_view name);

// A call as plain numbers: tensors in row-major order, absent parameters as ones and zeros.
struct OpInputs {
  std::string_view op;
  DType storage = DType::kF32;      // f64 is computed in f64, everything else in f32
  std::vector<std::int64_t> shape;  // of the first input
  std::int64_t first = 0, end = 0;  // its dimensions [first, end) form a row
  bool channels_last = false;       // layout nhwc
  std::int64_t groups = 0;          // of the channels, in group_norm and its kin; 0: rows as above
  bool batch_in_row = false;        // batch_norm: its rows go over the samples
  std::vector<double> x, other, weight, bias;
  bool training = false, sample_variance = false;  // of batch_norm
  std::vector<double> running_mean, running_variance;
  double momentum = 0;
  std::vector<std::int64_t> key_shape;  // of qk_norm: k beside q
  std::vector<double> k, k_weight;
  double epsilon = 0, weight_offset = 0, p = 2, learning_rate = 0;
  EpsilonMode epsilon_mode = EpsilonMode::kNone;
  GraphPattern pattern = GraphPattern::kExact;  // of layer_norm_graph
};
// All outputs of the op by name, in row-major order, not yet rounded to their storage types.
using OpOutputs = std::vector<std::pair<std::string, std::vector<double>>>;

// With OpBug::kNone the correct kernel under the policy's sum and moments.
OpOutputs run_op_mutant(OpBug bug, const MutantPolicy& policy, const OpInputs& inputs);

}  // namespace normfuzz
