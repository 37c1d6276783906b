// The inputs of a case row by row, and where its outputs stand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/case.h"
#include "oracles/ops/op.h"
#include "oracles/ops/row_inputs.h"

namespace normfuzz {

// Where an element of a slice stands: which output, and its logical row-major index there.
struct OutputElement {
  int output;
  std::int64_t index;
};

// Decoded inputs of a case, row by row through the op's RowView, and its outputs in slices that are judged together: slice r is what row r
// gives, the rows of a second output behind those of the first; one more slice, in front of nothing else, holds what there is one of per
// weight: the sums over all rows (dweight and dbias of a backward, every output of an update) or the new running statistics.
class CaseRows {
 public:
  explicit CaseRows(const Case& c);          // premise: validate(c); keeps a copy of the inputs
  static CaseRows borrowing(const Case& c);  // keeps none: the case must outlive it
  const OpInfo& info() const { return *info_; }
  const RowView& view() const { return parts_[0].view; }  // of the first output
  std::int64_t rows() const { return rows_; }             // of all outputs
  std::int64_t cols() const { return view().cols(); }
  // Elements of weight and bias, given or not, by their logical index; ones and zeros where absent.
  std::int64_t parameters() const { return static_cast<std::int64_t>(parts_[0].weight.size()); }
  const std::vector<double>& weights() const { return parts_[0].weight; }
  const std::vector<double>& biases() const { return parts_[0].bias; }
  const std::string& op() const { return case_->op; }

  std::int64_t slices() const { return (info_->shape == OutputShape::kUpdate ? 0 : rows()) + (has_sums() ? 1 : 0); }
  bool is_sums(std::int64_t slice) const { return has_sums() && slice == slices() - 1; }
  std::int64_t slice_size(std::int64_t slice) const;
  OutputElement element(std::int64_t slice, std::int64_t i) const;
  std::int64_t elements() const;  // of all outputs
  const std::vector<std::string>& outputs() const { return outputs_; }
  std::int64_t output_size(int output) const { return sizes_[static_cast<std::size_t>(output)]; }
  DType storage(int output = 0) const { return storage_[static_cast<std::size_t>(output)]; }
  DType slice_storage(std::int64_t slice) const {
    return storage(is_sums(slice) ? static_cast<int>(storage_.size()) - 1 : part_of(slice).output);
  }

  // Valid until the next call on this object: rows are decoded one at a time, so that they stay in the nearest cache.
  RowInputs row(std::int64_t r) const;
  bool finite(std::int64_t r) const { return finite_.empty() || finite_[static_cast<std::size_t>(r)]; }
  bool all_finite() const { return finite_.empty(); }
  bool parameters_finite() const { return parameters_finite_; }
  double learning_rate() const { return constants_.learning_rate; }
  bool given_moments() const { return constants_.given_moments; }
  // Decodes row r of its output.
  void decode_output_row(const NamedTensors& outputs, std::int64_t r, double* out) const;
  // Largest |weight_offset + weight| or |bias|.
  double largest_parameter() const { return largest_parameter_; }

 private:
  // The rows of one output.
  struct Part {
    Part(const Case& c, const RowView& rows, std::string_view input, std::string_view weight_name, int output);
    const Tensor* x;
    RowView view;
    std::vector<double> weight, bias;
    bool parameter_by_column;  // then a row's weights are `weight` itself
    int output;
    std::int64_t first_row = 0;
  };
  explicit CaseRows(std::shared_ptr<const Case> c);
  const Part& part_of(std::int64_t row) const { return parts_.size() > 1 && row >= parts_[1].first_row ? parts_[1] : parts_[0]; }
  // The first of the outputs that have one element per weight.
  int first_sum() const { return info_->shape == OutputShape::kUpdate ? 0 : 1; }
  bool has_sums() const {
    return info_->shape == OutputShape::kUpdate ||
           ((info_->shape == OutputShape::kGradients || info_->shape == OutputShape::kStatistics) && outputs_.size() > 1);
  }

  std::shared_ptr<const Case> case_;
  const OpInfo* info_;
  std::vector<Part> parts_;
  std::int64_t rows_ = 0;
  const Tensor* other_ = nullptr;
  std::vector<std::string> outputs_;
  std::vector<DType> storage_;
  std::vector<std::int64_t> sizes_;
  std::vector<double> running_mean_, running_variance_;
  RowInputs constants_;  // all but the numbers of a row
  double largest_parameter_ = 0;
  std::vector<char> finite_;  // by row; empty: all are
  bool parameters_finite_ = true;
  mutable std::vector<double> row_, other_row_, weight_row_, bias_row_;  // the row handed out last
};

// Decodes the row's elements of any tensor that has x's shape, in row order, into `out` (cols() numbers).
void decode_row(const Tensor& t, const RowView& view, std::int64_t row, double* out);
// Decodes a slice of the outputs, which are in the order of CaseRows::outputs(), into `out` (slice_size() numbers).
void decode_slice(const NamedTensors& outputs, const CaseRows& rows, std::int64_t slice, double* out);

}  // namespace normfuzz
