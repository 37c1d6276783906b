#include "harness/generate/fills.h"

namespace normfuzz {

// Each row from another regime, so that a statistic taken from a neighbouring row shows.
void fill_mixed_rows(RowDraw& d, Row row) {
  using Fill = void (*)(RowDraw&, Row);
  const Fill fill = d.own.pick<Fill>({fill_gaussian, fill_uniform, fill_wide_exponents, fill_large_mean, fill_eps_dominated,
                                      fill_constant_row, fill_nearly_constant_row, fill_two_features, fill_zero_row, fill_adversarial_sums,
                                      fill_few_bits, fill_equal_magnitudes, fill_single_spike, fill_ramp});
  fill(d, row);
}

}  // namespace normfuzz
