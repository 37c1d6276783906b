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

struct OpInfo {
  std::string_view name;
  std::string_view summary;              // the formula, as a person writes it
  std::vector<InputSpec> inputs;         // in call order
  std::vector<std::string_view> params;  // accepted ones; all optional but epsilon
  std::vector<std::string_view> outputs;
  Status (*validate)(const Case&);              // shapes of the inputs against each other, parameters in range
  RowView (*rows)(const Case&);                 // of the first input; premise: validate passed
  NamedTensors (*output_layouts)(const Case&);  // zero-filled tensors with the layout that a target will write into
};

const std::vector<const OpInfo*>& all_ops();
const OpInfo* find_op(std::string_view name);

// Everything a case must satisfy before it is run or judged: known op, known parameters, op's own validation.
Status validate(const Case& c);

}  // namespace normfuzz
