// The fill functions of the regimes, by the file that defines them. What each promises is its summary in regimes.cc; tests/harness/generate
// checks it.
#pragma once

#include <span>

#include "harness/generate/regime.h"

namespace normfuzz {

using Row = std::span<double>;

// fill_spread.cc: distributions with a location and a scale
void fill_gaussian(RowDraw&, Row);
void fill_uniform(RowDraw&, Row);
void fill_wide_exponents(RowDraw&, Row);
void fill_large_mean(RowDraw&, Row);
void fill_eps_dominated(RowDraw&, Row);
void fill_width_tail(RowDraw&, Row);

// fill_constant.cc: rows with little or nothing to normalize
void fill_constant_row(RowDraw&, Row);
void fill_nearly_constant_row(RowDraw&, Row);
void fill_one_feature(RowDraw&, Row);
void fill_two_features(RowDraw&, Row);
void fill_zero_row(RowDraw&, Row);

// fill_range.cc: the ends of the type's range
void fill_overflow_of_squares(RowDraw&, Row);
void fill_underflow_of_squares(RowDraw&, Row);
void fill_subnormals(RowDraw&, Row);
void fill_near_max(RowDraw&, Row);
void fill_special_values(RowDraw&, Row);

// fill_sums.cc: rows whose sums cancel, swallow terms, or are exact
void fill_adversarial_sums(RowDraw&, Row);
void fill_few_bits(RowDraw&, Row);
void fill_powers_of_two(RowDraw&, Row);
void fill_equal_magnitudes(RowDraw&, Row);
void fill_ramp(RowDraw&, Row);

// fill_model.cc: what language models feed to a norm
void fill_single_spike(RowDraw&, Row);
void fill_residual_growth(RowDraw&, Row);
void fill_real_activations(RowDraw&, Row);

// fill_mixed.cc
void fill_mixed_rows(RowDraw&, Row);

}  // namespace normfuzz
