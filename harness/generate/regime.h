// A regime: a named way to fill the rows of a tensor, and what it wishes of the case around them. All of them stand in one list,
// regimes.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/generate/generator.h"
#include "harness/generate/stream.h"

namespace normfuzz {

// What a regime gets to fill one row. `own` differs from row to row, `shared` is the same for all rows of the tensor.
struct RowDraw {
  Stream own, shared;
  DType dtype;
  double epsilon;
  std::int64_t row, rows;
  const FloatFormat& format() const { return format_of(dtype); }
};

enum class Widths : std::uint8_t { kAny, kNearPowerOfTwo };
enum class EpsilonWish : std::uint8_t { kAny, kPositive, kTiny };

struct Regime {
  RegimeInfo info;
  int weight;  // share of the cases, in parts of the sum over all regimes
  // Writes finite doubles (except special_values) that round to the dtype without overflow; the tensor stores them rounded to nearest even.
  void (*fill)(RowDraw& draw, std::span<double> row);
  std::int64_t cols = 0;  // this width exactly; 0: any
  std::int64_t min_rows = 1;
  Widths widths = Widths::kAny;
  EpsilonWish epsilon = EpsilonWish::kAny;
  bool rows_related = false;     // rows depend on their number: none may repeat another one
  bool real_parameters = false;  // weight and bias of the same model as the rows
};

const std::vector<Regime>& regime_list();
// Null if there is none of that name.
const Regime* find_regime(std::string_view name);

}  // namespace normfuzz
