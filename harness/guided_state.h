// What a guided search remembers: the worst inputs it knows, as recipes (harness/recipe/recipe.h), and their text form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "core/result.h"

namespace normfuzz {

// A case of `op` and `dtype` with its largest error/bound, which kept its bound.
struct WorstInput {
  std::string op;
  DType dtype = DType::kF32;
  std::string regime;
  double ratio = 0;
  std::vector<std::uint8_t> recipe;
  bool operator==(const WorstInput&) const = default;
};

// The case that a recipe names, with the recipe in its `source`. Premise: find_op(op).
Case case_of_recipe(std::string_view op, DType dtype, std::span<const std::uint8_t> recipe);

// One line each: op, dtype, regime, ratio as a hexadecimal float, recipe as hexadecimal digits. An error names `name` and the line.
std::string write_worst(std::span<const WorstInput> inputs);
Result<std::vector<WorstInput>> parse_worst(std::string_view text, std::string_view name);

// The worst inputs of one op and dtype on one target, by regime.
class WorstPool {
 public:
  static constexpr std::size_t kPerRegime = 20;
  // False: it is there already, or 20 of its regime are worse.
  bool add(WorstInput input);
  bool empty() const { return by_regime_.empty(); }
  // Regimes in the order of their names, the worst input first.
  const std::map<std::string, std::vector<WorstInput>>& by_regime() const { return by_regime_; }
  std::vector<WorstInput> all() const;

 private:
  std::map<std::string, std::vector<WorstInput>> by_regime_;
};

}  // namespace normfuzz
