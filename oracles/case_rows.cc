#include "oracles/case_rows.h"

#include <algorithm>
#include <cmath>

#include "oracles/ops/geometry.h"
#include "oracles/row_facts.h"

namespace normfuzz {
namespace {

std::vector<double> values_of(const Tensor* t, std::int64_t n, double absent) {
  return t ? t->values() : std::vector<double>(static_cast<std::size_t>(n), absent);
}

}  // namespace

void decode_row(const Tensor& t, const RowView& view, std::int64_t row, double* out) {
  if (view.contiguous()) return t.values(view.index(row, 0), view.cols(), out);
  for (std::int64_t i = 0; i < view.cols(); ++i) out[i] = t.value(view.index(row, i));
}

void decode_slice(const NamedTensors& outputs, const CaseRows& rows, std::int64_t slice, double* out) {
  if (!rows.is_sums(slice) && rows.info().shape != OutputShape::kRows) return rows.decode_output_row(outputs, slice, out);
  for (std::int64_t i = 0, n = rows.slice_size(slice); i < n; ++i) {
    const OutputElement e = rows.element(slice, i);
    out[i] = outputs[static_cast<std::size_t>(e.output)].second.value(e.index);
  }
}

CaseRows::Part::Part(const Case& c, const RowView& rows, std::string_view input, std::string_view weight_name, int output_index)
    : x(c.input(input)),
      view(rows),
      weight(values_of(c.input(weight_name), rows.parameters(), 1)),
      bias(values_of(c.input("bias"), rows.parameters(), 0)),
      parameter_by_column(rows.parameter_by_column()),
      output(output_index) {}

CaseRows::CaseRows(const Case& c) : CaseRows(std::make_shared<const Case>(c)) {}
CaseRows CaseRows::borrowing(const Case& c) {
  return CaseRows(std::shared_ptr<const Case>(&c, [](const Case*) {}));
}

CaseRows::CaseRows(std::shared_ptr<const Case> owner) : case_(std::move(owner)), info_(find_op(case_->op)) {
  const Case& c = *case_;
  const bool heads = c.input("q") != nullptr;
  parts_.emplace_back(c, info_->rows(c), geometry::first_input_name(c), heads ? "q_weight" : "weight", 0);
  if (info_->second_rows) {
    parts_.emplace_back(c, info_->second_rows(c), heads ? "k" : "x", heads ? "k_weight" : "", 1);  // a sum has no weight
    parts_[1].first_row = parts_[0].view.rows();
  }
  for (const Part& p : parts_) rows_ += p.view.rows();
  for (const char* name : {"dy", "b", "residual"})
    if (const Tensor* t = c.input(name)) other_ = t;
  for (const auto& [name, tensor] : info_->output_layouts(c)) {
    outputs_.push_back(name);
    storage_.push_back(tensor.dtype);
    sizes_.push_back(tensor.size());
  }
  running_mean_ = values_of(c.input("running_mean"), 0, 0);
  running_variance_ = values_of(c.input("running_var"), 0, 1);
  constants_.given_moments = geometry::normalizes_by_running_statistics(c);
  constants_.sample_variance = c.text("variance", "population") == "sample";
  constants_.momentum = c.number("momentum", 0);
  constants_.n = cols();
  constants_.biased = c.input("bias") != nullptr;
  constants_.epsilon = c.epsilon();
  constants_.weight_offset = c.number("weight_offset", 0);
  constants_.p = c.number("p", 2);
  constants_.epsilon_mode = epsilon_mode_from_name(c.text("epsilon_mode", "none"));
  constants_.learning_rate = c.number("learning_rate", 0);
  constants_.pattern = graph_pattern_from_name(c.text("pattern", "exact"));
  for (const Part& p : parts_) {
    for (const double w : p.weight) largest_parameter_ = std::max(largest_parameter_, std::fabs(constants_.weight_offset + w));
    for (const double b : p.bias) largest_parameter_ = std::max(largest_parameter_, std::fabs(b));
    parameters_finite_ = parameters_finite_ && normfuzz::all_finite(p.weight) && normfuzz::all_finite(p.bias);
  }
  row_.resize(static_cast<std::size_t>(cols()));
  other_row_.resize(other_ ? row_.size() : 0);
  for (auto* v : {&weight_row_, &bias_row_}) v->resize(parts_[0].parameter_by_column ? 0 : row_.size());
  for (std::int64_t r = 0; r < rows(); ++r) {
    const RowInputs in = row(r);
    const bool moments = !in.given_moments || (std::isfinite(in.mean) && std::isfinite(in.variance));
    if (moments && normfuzz::all_finite(in.x, cols()) && (!other_ || normfuzz::all_finite(in.other, cols()))) continue;
    if (finite_.empty()) finite_.assign(static_cast<std::size_t>(rows()), 1);
    finite_[static_cast<std::size_t>(r)] = 0;
  }
}

std::int64_t CaseRows::slice_size(std::int64_t slice) const {
  if (!is_sums(slice)) return info_->shape == OutputShape::kRows ? 1 : cols();
  return parameters() * (static_cast<std::int64_t>(outputs_.size()) - first_sum());
}

OutputElement CaseRows::element(std::int64_t slice, std::int64_t i) const {
  if (info_->shape == OutputShape::kRows) return {0, slice};
  if (is_sums(slice)) return {static_cast<int>(i / parameters()) + first_sum(), i % parameters()};
  const Part& part = part_of(slice);
  return {part.output, part.view.index(slice - part.first_row, i)};
}

std::int64_t CaseRows::elements() const {
  std::int64_t sum = 0;
  for (std::int64_t s = std::max<std::int64_t>(0, slices() - 1); s < slices(); ++s) sum += slice_size(s);
  return sum + (slices() > 1 ? (slices() - 1) * slice_size(0) : 0);
}

RowInputs CaseRows::row(std::int64_t r) const {
  RowInputs row = constants_;
  const Part& part = part_of(r);
  row.second_output = info_->formula == Formula::kAddRmsNorm && part.output > 0;
  r -= part.first_row;
  row.weight = part.parameter_by_column ? part.weight.data() : weight_row_.data();
  row.bias = part.parameter_by_column ? part.bias.data() : bias_row_.data();
  for (std::size_t i = 0; i < weight_row_.size(); ++i) {
    const auto at = static_cast<std::size_t>(part.view.parameter(r, static_cast<std::int64_t>(i)));
    weight_row_[i] = part.weight[at];
    bias_row_[i] = part.bias[at];
  }
  decode_row(*part.x, part.view, r, row_.data());
  row.x = row_.data();
  if (other_) {
    decode_row(*other_, part.view, r, other_row_.data());
    row.other = other_row_.data();
  }
  if (!running_mean_.empty()) {
    row.mean = running_mean_[static_cast<std::size_t>(r)];
    row.variance = running_variance_[static_cast<std::size_t>(r)];
  }
  return row;
}

void CaseRows::decode_output_row(const NamedTensors& outputs, std::int64_t r, double* out) const {
  const Part& part = part_of(r);
  decode_row(outputs[static_cast<std::size_t>(part.output)].second, part.view, r - part.first_row, out);
}

}  // namespace normfuzz
