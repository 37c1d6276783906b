// The fast path of the judge: one SIMD pass in double that gives the reference and the bound of every element at once.
// It may say only "certified" or "ask MPFR" (DESIGN.md, 'One formula, several number types').
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/bound.h"

namespace normfuzz {

struct FilterRow {
  bool certified = false;  // every element is within the contract's bound
  double worst_ratio = 0;  // largest |y - reference| / allowed, when certified
  double worst_ulps = 0;   // largest |y - reference| in ulps of the output type at the reference, when certified
};

// True if the filter can decide anything for this op, contract and storage type: the reference has 53 bits, so the output needs fewer.
bool filter_applies(const CaseRows& rows, const Contract& contract);

// Judges row `r`; `y` points at its cols() computed values, exactly converted. Premise: filter_applies().
FilterRow filter_row(const CaseRows& rows, std::int64_t r, const double* y, const Contract& contract);

}  // namespace normfuzz
