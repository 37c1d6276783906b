// The one list of regimes. Adding one: its fill function (fills.h and a fill_*.cc) and a line here; the test in tests/harness/generate then
// asks for a check of what the summary promises.
#include <algorithm>

#include "harness/generate/activations.h"
#include "harness/generate/fills.h"

namespace normfuzz {

const std::vector<Regime>& regime_list() {
  constexpr bool kOrdinary = false, kSpecial = true;
  static const std::vector<Regime> list = {
      {{"gaussian", "bell-shaped values about 0, scale mostly 1", kOrdinary}, 10, fill_gaussian},
      {{"uniform", "uniform on [-s, s) or [0, s)", kOrdinary}, 4, fill_uniform},
      {{"wide_exponents", "both signs, magnitudes log-uniform over up to 81 octaves", kOrdinary}, 5, fill_wide_exponents},
      {{"large_mean", "mean/std from 2^4 to the precision of the type (f32: 2^24)", kOrdinary}, 9, fill_large_mean},
      {.info = {"eps_dominated", "row RMS within 2^-8 .. 2^8 of sqrt(epsilon)", kOrdinary},
       .weight = 7,
       .fill = fill_eps_dominated,
       .epsilon = EpsilonWish::kPositive},
      {.info = {"width_tail", "width within 3 of a power of two, mean far from 0, often the weight in the last elements", kOrdinary},
       .weight = 5,
       .fill = fill_width_tail,
       .widths = Widths::kNearPowerOfTwo},
      {{"constant_row", "all elements of a row equal, small integers to the whole range", kOrdinary}, 6, fill_constant_row},
      {{"nearly_constant_row", "elements at most three units in the last place apart, not all equal", kOrdinary},
       6,
       fill_nearly_constant_row},
      {.info = {"one_feature", "one column, any magnitude of the type", kOrdinary}, .weight = 6, .fill = fill_one_feature, .cols = 1},
      {.info = {"two_features", "two columns: opposite, neighbours, unrelated, one zero, fixed ratio", kOrdinary},
       .weight = 5,
       .fill = fill_two_features,
       .cols = 2},
      {.info = {"zero_row", "at least one row of zeros of either sign among ordinary rows", kOrdinary},
       .weight = 3,
       .fill = fill_zero_row,
       .rows_related = true},
      {{"overflow_of_squares", "finite, but the square of the largest element exceeds the type", kSpecial}, 4, fill_overflow_of_squares},
      {.info = {"underflow_of_squares", "every square lies below the smallest normal number", kSpecial},
       .weight = 3,
       .fill = fill_underflow_of_squares,
       .epsilon = EpsilonWish::kTiny},
      {.info = {"subnormals", "every element is subnormal or zero", kSpecial},
       .weight = 3,
       .fill = fill_subnormals,
       .epsilon = EpsilonWish::kTiny},
      {{"near_max", "magnitudes in the last two octaves of the type", kSpecial}, 2, fill_near_max},
      {.info = {"special_values", "NaN, infinities or -0 in one row, ordinary rows beside it", kSpecial},
       .weight = 4,
       .fill = fill_special_values,
       .min_rows = 2,
       .rows_related = true},
      {{"adversarial_sums", "cancelling pairs, sorted magnitudes, alternating signs, swallowed terms", kOrdinary},
       6,
       fill_adversarial_sums},
      {{"few_bits", "small integers times a power of two: sums and sums of squares are exact in float32", kOrdinary}, 5, fill_few_bits},
      {{"powers_of_two", "plus or minus powers of two", kOrdinary}, 2, fill_powers_of_two},
      {{"equal_magnitudes", "plus or minus one number", kOrdinary}, 3, fill_equal_magnitudes},
      {{"ramp", "arithmetic progression, as arange", kOrdinary}, 3, fill_ramp},
      {{"single_spike", "one element 2^4 and more above all others of a gaussian row", kOrdinary}, 5, fill_single_spike},
      {.info = {"residual_growth", "768 columns, L2 length from 2.45 through 6 to 245 (GPT-2 small)", kOrdinary},
       .weight = 1,
       .fill = fill_residual_growth,
       .cols = 768,
       .rows_related = true},
      {.info = {"real_activations", "embedding rows, weight and bias of all-MiniLM-L6-v2's first LayerNorm", kOrdinary},
       .weight = 1,
       .fill = fill_real_activations,
       .cols = static_cast<std::int64_t>(kActivationCols),
       .real_parameters = true},
      {.info = {"mixed_rows", "every row from another regime", kOrdinary},
       .weight = 3,
       .fill = fill_mixed_rows,
       .min_rows = 2,
       .epsilon = EpsilonWish::kPositive},
  };
  return list;
}

const Regime* find_regime(std::string_view name) {
  const auto& list = regime_list();
  const auto it = std::find_if(list.begin(), list.end(), [&](const Regime& r) { return r.info.name == name; });
  return it == list.end() ? nullptr : &*it;
}

const std::vector<RegimeInfo>& all_regimes() {
  static const std::vector<RegimeInfo> infos = [] {
    std::vector<RegimeInfo> out;
    for (const Regime& r : regime_list()) out.push_back(r.info);
    return out;
  }();
  return infos;
}

}  // namespace normfuzz
