#include "harness/explain/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "harness/explain/alternatives.h"
#include "harness/judge.h"
#include "oracles/bound.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

using Long = long double;  // of the hints only; no verdict rests on them

// One row as the forward formula sees it: y_i = (x_i - mean) weight_i / sqrt(denominator) + bias_i.
struct RowFormula {
  std::vector<double> x, weight, bias;
  double epsilon = 0;
  bool centred = true;
  DType storage = DType::kF32;
  Long mean = 0, variance = 0;         // of rms_norm: 0 and the mean square
  Long map_mean = 0, denominator = 0;  // what the map uses; a suspect changes these, the weight or the bias

  Long moment(Long centre, std::size_t count) const {
    Long sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += (x[i] - centre) * (x[i] - centre);
    return sum;
  }
  Long sum(std::size_t count) const {
    Long total = 0;
    for (std::size_t i = 0; i < count; ++i) total += x[i];
    return total;
  }
  Long n() const { return static_cast<Long>(x.size()); }
  void use_statistics(Long m, Long v) {
    map_mean = centred ? m : 0;
    denominator = v + epsilon;
  }
};

RowFormula row_formula(const CaseRows& rows, std::int64_t r) {
  const RowInputs in = rows.row(r);
  RowFormula f;
  f.x.assign(in.x, in.x + in.n);
  f.weight.assign(in.weight, in.weight + in.n);
  for (double& w : f.weight) w += in.weight_offset;
  f.bias.assign(in.bias, in.bias + in.n);
  f.epsilon = in.epsilon;
  f.centred = rows.info().centred();
  f.storage = rows.storage();
  f.mean = f.centred ? f.sum(f.x.size()) / f.n() : 0;
  f.variance = f.moment(f.mean, f.x.size()) / f.n();
  f.use_statistics(f.mean, f.variance);
  return f;
}

// Changes a row's formula; false: the suspect does not apply to this row.
using Change = std::function<bool(RowFormula&)>;
struct ChangedFormula {
  std::string name, family;
  Change change;
};

Change epsilon_as(const std::function<Long(const RowFormula&)>& denominator) {
  return [denominator](RowFormula& f) {
    f.denominator = denominator(f);
    return true;
  };
}

// Sums over the first columns only, divided by all or by those.
bool drop_tail(RowFormula& f, std::size_t vector, bool divide_by_all) {
  if (f.x.size() <= vector || f.x.size() % vector == 0) return false;
  const std::size_t counted = f.x.size() / vector * vector;
  const Long divisor = divide_by_all ? f.n() : static_cast<Long>(counted);
  const Long m = f.centred ? f.sum(counted) / divisor : 0;
  f.use_statistics(m, f.moment(m, counted) / divisor);
  return true;
}

// Lanes up to a multiple of `vector` hold zeros and enter the variance as (0 - mean)^2.
bool count_padding(RowFormula& f, std::size_t vector) {
  if (!f.centred || f.x.size() % vector == 0) return false;
  const std::size_t padding = vector - f.x.size() % vector;
  f.use_statistics(f.mean, f.variance + static_cast<Long>(padding) * f.mean * f.mean / f.n());
  return true;
}

bool round_mean(RowFormula& f, DType d) {
  const Long m = value_from_bits(d, bits_from_value(d, static_cast<double>(f.mean)));
  f.use_statistics(m, f.moment(m, f.x.size()) / f.n());
  return f.centred && m != f.mean;
}

bool shift_weight(RowFormula& f, bool rotate) {
  if (f.x.size() < 2) return false;
  std::rotate(f.weight.begin(), f.weight.begin() + 1, f.weight.end());
  if (!rotate) f.weight.back() = f.weight[f.weight.size() - 2];  // the last element keeps its own
  return true;
}

void add_epsilon_suspects(std::vector<ChangedFormula>& all) {
  all.push_back({"epsilon dropped", "epsilon", epsilon_as([](const RowFormula& f) { return f.variance; })});
  all.push_back({"epsilon added to the root instead of under it", "epsilon", epsilon_as([](const RowFormula& f) {
                   const Long s = std::sqrt(f.variance) + f.epsilon;
                   return s * s;
                 })});
  for (const auto& [name, value] : {std::pair{"1e-5", 1e-5f}, {"1e-6", 1e-6f}, {"1e-8", 1e-8f}, {"1e-12", 1e-12f}})
    all.push_back({fmt::format("epsilon fixed at {}", name), "epsilon",
                   epsilon_as([value = value](const RowFormula& f) { return f.variance + value; })});
  all.push_back({"max(variance, epsilon) instead of the sum", "epsilon",
                 epsilon_as([](const RowFormula& f) { return std::max<Long>(f.variance, f.epsilon); })});
  all.push_back({"epsilon squared", "epsilon", epsilon_as([](const RowFormula& f) { return f.variance + Long(f.epsilon) * f.epsilon; })});
  all.push_back({"epsilon rounded to the storage type", "epsilon", [](RowFormula& f) {
                   const double e = value_from_bits(f.storage, bits_from_value(f.storage, f.epsilon));
                   f.denominator = f.variance + e;
                   return e != f.epsilon;
                 }});
}

void add_statistics_suspects(std::vector<ChangedFormula>& all) {
  all.push_back({"the variance over n - 1", "statistics", [](RowFormula& f) {
                   f.denominator = f.variance * f.n() / (f.n() - 1) + f.epsilon;
                   return f.x.size() > 1;
                 }});
  for (const std::size_t vector : {64, 32, 16, 8, 4, 2})  // a shrunk row is as short as the bug allows: the widest vector that fits
    for (const bool all_counted : {true, false})
      all.push_back({fmt::format("columns behind the last multiple of {} left out of the sums", vector), "width and tails",
                     [=](RowFormula& f) { return drop_tail(f, vector, all_counted); }});
  for (const std::size_t vector : {4, 8, 16, 32, 64, 128, 256, 512, 1024})
    all.push_back({fmt::format("zeros up to a multiple of {} counted in the variance", vector), "width and tails",
                   [=](RowFormula& f) { return count_padding(f, vector); }});
  for (const DType d : {DType::kBF16, DType::kF16})
    all.push_back({fmt::format("the mean rounded to {}", name_of(d)), "rounding", [d](RowFormula& f) { return round_mean(f, d); }});
  all.push_back({"the mean not subtracted", "statistics", [](RowFormula& f) {
                   f.map_mean = 0;
                   return f.centred;
                 }});
  all.push_back({"the mean square instead of the variance", "statistics", [](RowFormula& f) {
                   f.denominator = f.moment(0, f.x.size()) / f.n() + f.epsilon;
                   return f.centred;
                 }});
  all.push_back({"rms_norm instead of layer_norm", "statistics", [](RowFormula& f) {
                   f.use_statistics(0, f.moment(0, f.x.size()) / f.n());
                   return f.centred;
                 }});
  all.push_back({"the root left out", "statistics", epsilon_as([](const RowFormula& f) { return f.denominator * f.denominator; })});
}

void add_parameter_suspects(std::vector<ChangedFormula>& all) {
  all.push_back({"the weight ignored", "parameters", [](RowFormula& f) {
                   std::fill(f.weight.begin(), f.weight.end(), 1.0);
                   return true;
                 }});
  all.push_back({"the bias ignored", "parameters", [](RowFormula& f) {
                   std::fill(f.bias.begin(), f.bias.end(), 0.0);
                   return true;
                 }});
  all.push_back({"the next element's weight", "parameters", [](RowFormula& f) { return shift_weight(f, true); }});
  all.push_back({"the next element's weight", "parameters", [](RowFormula& f) { return shift_weight(f, false); }});
  all.push_back({"weight and bias swapped", "parameters", [](RowFormula& f) {
                   std::swap(f.weight, f.bias);
                   return true;
                 }});
  for (const double offset : {1.0, -1.0})
    all.push_back({offset > 0 ? "1 added to the weight" : "weight_offset ignored", "parameters", [offset](RowFormula& f) {
                     for (double& w : f.weight) w += offset;
                     return true;
                   }});
}

const std::vector<ChangedFormula>& formulas() {
  static const std::vector<ChangedFormula> kFormulas = [] {
    std::vector<ChangedFormula> all;
    add_statistics_suspects(all);
    add_epsilon_suspects(all);
    add_parameter_suspects(all);
    return all;
  }();
  return kFormulas;
}

// The suspect's row as a case of the true formula: its statistics moved into the weight and the bias, which are kept in f64, so that bounds
// come from the oracle.
Case as_case(const std::string& op, const RowFormula& f) {
  const Long factor = std::sqrt((f.variance + f.epsilon) / f.denominator), shift = (f.mean - f.map_mean) / std::sqrt(f.denominator);
  const auto n = static_cast<std::int64_t>(f.x.size());
  Tensor x = Tensor::zeros(f.storage, {1, n}), weight = Tensor::zeros(DType::kF64, {n}), bias = weight;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    x.set_value(i, f.x[at]);
    weight.set_value(i, static_cast<double>(f.weight[at] * factor));
    bias.set_value(i, static_cast<double>(f.bias[at] + f.weight[at] * shift));
  }
  Case c;
  c.op = op;
  c.params["epsilon"] = f.epsilon;
  c.set_input("x", std::move(x));
  c.set_input("weight", std::move(weight));
  c.set_input("bias", std::move(bias));
  return c;
}

bool row_matches(const CaseRows& rows, std::int64_t r, const Tensor& y, const Change& change, const Contract& contract) {
  RowFormula f = row_formula(rows, r);
  if (!change(f)) return false;
  const auto got = [&](std::size_t i) { return y.value(rows.view().index(r, static_cast<std::int64_t>(i))); };
  if (f.denominator == 0) {  // a division by zero: the suspect gives NaN or an infinity
    for (std::size_t i = 0; i < f.x.size(); ++i)
      if (std::isfinite(got(i))) return false;
    return true;
  }
  if (!(f.variance + f.epsilon > 0) || !std::isfinite(static_cast<double>(f.denominator)) || !(f.denominator > 0)) return false;
  const Case c = as_case(f.centred ? "layer_norm" : "rms_norm", f);
  const CaseRows alternative(c);
  if (!alternative.parameters_finite()) return false;
  const std::vector<ElementBound> bounds = slice_bounds(alternative, 0, contract);
  for (std::size_t i = 0; i < bounds.size(); ++i)
    if (certify(got(i), bounds[i], contract, f.storage) != ElementVerdict::kWithin) return false;
  return true;
}

// The outputs that are wrong under the true formula, with all their elements.
std::vector<ElementEvidence> wrong_outputs(const Case& c, const Outcome& outcome, const Contract& contract) {
  CaseJudge judge(c);
  std::vector<ElementEvidence> all = judge.all_elements(outcome, contract);
  std::set<std::string> wrong;
  for (const ElementEvidence& e : all)
    if (e.verdict == ElementVerdict::kViolation) wrong.insert(e.output);
  std::erase_if(all, [&](const ElementEvidence& e) { return !wrong.count(e.output); });
  return all;
}

// Every element within the contract's bound around the wrong formula's exact value; NaN or an infinity where that divides by zero.
bool agrees(const std::vector<ElementEvidence>& elements, const CaseRows& rows, const Alternative& a, const Contract& contract) {
  for (const ElementEvidence& e : elements) {
    const std::optional<ElementBound> bound = a.bounds(e.output, e.index);
    if (!bound) return false;
    if (bound->limit == Limit::kZeroDenominator && !std::isfinite(e.got)) continue;
    const auto output = std::find(rows.outputs().begin(), rows.outputs().end(), e.output) - rows.outputs().begin();
    if (certify(e.got, *bound, contract, rows.storage(static_cast<int>(output))) != ElementVerdict::kWithin) return false;
  }
  return true;
}

}  // namespace

std::vector<Suspect> matching_formulas(const Case& c, const Outcome& outcome, const Contract& contract) {
  std::vector<Suspect> out;
  const CaseRows rows(c);
  if (rows.rows() == 0 || !rows.parameters_finite() || !rows.all_finite()) return out;
  const std::vector<ElementEvidence> wrong = wrong_outputs(c, outcome, contract);
  if (wrong.empty()) return out;
  for (const auto& find : {other_rows, other_arguments, other_formulas})
    for (const Alternative& a : find(c, contract))
      if (agrees(wrong, rows, a, contract)) out.push_back({"matches " + a.name, a.family});
  if (!rows.info().affine() || !rows.info().forward_map() || rows.info().second_rows || rows.given_moments()) return out;
  const Tensor& y = outcome.outputs[0].second;
  for (const ChangedFormula& f : formulas()) {
    bool all = true;
    for (std::int64_t r = 0; all && r < rows.rows(); ++r) all = row_matches(rows, r, y, f.change, contract);
    if (all) out.push_back({"matches " + f.name, f.family});
  }
  return out;
}

}  // namespace normfuzz
