// The register of operators. Adding one: a file in oracles/ops/ and a line in all_ops().
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/case.h"
#include "core/result.h"
#include "core/row_view.h"

namespace normfuzz {

struct InputSpec {
  std::string_view name;
  bool required;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// What is computed from a row; which elements form the row is the RowView's business, so that channel_layer_norm is kLayerNorm.
enum class Formula : std::uint8_t { kLayerNorm, kRmsNorm, kLpNorm, kRms, kDistance, kCosine, kLpNormalize, kAddRmsNorm, kLayerNormGraph };

// What the outputs of an op are, beside the rows of its input.
enum class OutputShape : std::uint8_t {
  kElements,    // one output of the input's shape
  kRows,        // one number per row: the inner dimensions are dropped
  kGradients,   // of a backward: dx of the input's shape, dweight and dbias (sums over all rows) of the weight's
  kUpdate,      // of a fused update: weight_new and bias_new, of the weight's shape
  kStatistics,  // of a batch norm: y of the input's shape and, where it updates them, the running statistics, one number per row
};

struct OpInfo {
  std::string_view name;
  std::string_view summary;              // the formula, as a person writes it
  std::vector<InputSpec> inputs;         // in call order
  std::vector<std::string_view> params;  // accepted ones; all optional but the epsilon of layer_norm, rms_norm and their kin
  std::vector<std::string_view> outputs;
  Status (*validate)(const Case&);              // shapes of the inputs against each other, parameters in range
  RowView (*rows)(const Case&);                 // of the first input; premise: validate passed
  NamedTensors (*output_layouts)(const Case&);  // zero-filled tensors with the layout that a target will write into
  Formula formula;
  OutputShape shape = OutputShape::kElements;
  // Of a second output with rows of its own, behind those of the first: residual_new of add_rms_norm, k_out of qk_norm.
  RowView (*second_rows)(const Case&) = nullptr;

  // A row of layer_norm and its kin is centred on its mean.
  bool centred() const { return formula == Formula::kLayerNorm; }
  // Every element contains the mean: an infinity in a row reaches all of it.
  bool subtracts_mean() const { return centred() || formula == Formula::kLayerNormGraph; }
  // Rows are mapped by an affine weight and bias: layer_norm, rms_norm, their backwards and updates.
  bool affine() const { return formula == Formula::kLayerNorm || formula == Formula::kRmsNorm; }
  // y of the input's shape is a weighted map of its rows.
  bool forward_map() const {
    return shape == OutputShape::kStatistics || (shape == OutputShape::kElements && (affine() || formula == Formula::kAddRmsNorm));
  }
};

const std::vector<const OpInfo*>& all_ops();
const OpInfo* find_op(std::string_view name);

// Everything a case must satisfy before it is run or judged: known op, known parameters, op's own validation.
Status validate(const Case& c);

}  // namespace normfuzz
