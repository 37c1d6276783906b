// The exact value of every output element of a case, and what a contract allows around it.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/case.h"
#include "oracles/chains.h"
#include "oracles/ops/op.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

// What an element must be. Rows with NaN or infinite inputs have no enclosure; they have these.
enum class Expectation : std::uint8_t {
  kValue,      // within `allowed` of the exact value
  kNan,        // every contract propagates the NaN of the row, weight or bias
  kNotFinite,  // an infinity in the row: NaN or an infinity, depending on the order of operations
  kAnything,   // infinite weight or bias, or an infinity whose effect depends on the order of operations
};

struct ElementBound {
  // The exact value is within `error` of head + tail (an unevaluated sum of two doubles).
  double head = 0, tail = 0, error = 0;
  double allowed = 0;    // largest |computed - exact| that keeps the contract; +inf where `limit` says why
  double magnitude = 0;  // |exact| + allowed before the final cast: reaching max + ulp/2 permits the infinity of that sign
  Limit limit = Limit::kNone;
  Expectation expect = Expectation::kValue;
};

// Decoded inputs of a case whose rows share a formula. Rows are gathered through the op's RowView.
class CaseRows {
 public:
  explicit CaseRows(const Case& c);          // premise: validate(c); keeps a copy of x
  static CaseRows borrowing(const Case& c);  // keeps none: the case must outlive it
  const RowView& view() const { return view_; }
  std::int64_t rows() const { return view_.rows(); }
  std::int64_t cols() const { return view_.cols(); }
  const std::string& op() const { return op_; }
  DType storage() const { return storage_; }  // of the output
  // Valid until the next call on this object: rows are decoded one at a time, so that they stay in the nearest cache.
  RowInputs row(std::int64_t r) const;
  bool finite(std::int64_t r) const { return finite_.empty() || finite_[static_cast<std::size_t>(r)]; }
  bool parameters_finite() const { return parameters_finite_; }
  // Largest |weight_offset + weight| or |bias|.
  double largest_parameter() const { return largest_parameter_; }

 private:
  CaseRows(const Case& c, std::shared_ptr<const Tensor> x);

  std::string op_;
  DType storage_;
  RowView view_;
  std::shared_ptr<const Tensor> x_;
  std::vector<double> weight_, bias_;
  double epsilon_, weight_offset_, largest_parameter_ = 0;
  std::vector<char> finite_;  // by row; empty: all are
  bool parameters_finite_ = true;
  mutable std::vector<double> row_;  // the row handed out last
};

// One bound per element of row `r`, in row order, with MPFR enclosures of `bits` bits (raised further while an enclosure is not finite).
std::vector<ElementBound> row_bounds(const CaseRows& rows, std::int64_t r, const Contract& contract, mpfr_prec_t bits = 192);

// Decodes the row's elements of any tensor that has x's shape, in row order, into `out` (cols() numbers).
void decode_row(const Tensor& t, const RowView& view, std::int64_t row, double* out);

enum class ElementVerdict : std::uint8_t { kWithin, kViolation, kLimit, kUndecided };

// |computed - exact| as an interval, in double, rounded outward; NaN or infinite `got` gives {inf, inf}.
struct ErrorInterval {
  double lower, upper;
};
ErrorInterval error_of(double got, const ElementBound& b);

// kUndecided: the enclosure straddles the bound; ask again with more bits.
ElementVerdict certify(double got, const ElementBound& b, const Contract& contract, DType storage);

// Error in units of the last place of `storage` at the exact value (upper end); +inf for a got that is not finite where a value was due; 0
// where the exact value is 0.
double error_in_ulps(double got, const ElementBound& b, DType storage);

// A key that is equal for equal contracts: bounds are shared between targets by it.
std::string fingerprint(const Contract& contract);

}  // namespace normfuzz
