// Kernels in double for every op, rounded once at the end, with one place each where they depart from the formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "harness/shrink/edit.h"
#include "oracles/oracle.h"
#include "tests/harness/broken_kernel.h"

namespace normfuzz::testing {

using Doubles = std::vector<double>;

enum class Break {
  kNothing,
  // forward and backward of the normalizing ops
  kWholeMap,
  kOtherLayout,
  kMeanOfG,
  kMeanOfGXhat,
  kLastRowOnly,
  kWeightOfDy,
  kEpsilon,
  kSampleVariance,
  kBiasFromDx,
  kWrongSign,
  kSquaredRate,
  // norms
  kOtherP,  // L1 for L2
  kL2ForL1,
  kRoot,
  kMagnitude,
  kEpsilonOutside,
  kLengthOfB,
};

namespace broken {

struct Row {
  Doubles x, other;
};

inline std::vector<Row> rows_of(const Case& c) {
  const auto [rows, cols] = shape_of(c);
  const Doubles x = values_by_row(c, main_name(c));
  Doubles other;
  for (const char* name : {"dy", "b"})
    if (c.input(name)) other = values_by_row(c, name);
  std::vector<Row> out;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto part = [&](const Doubles& v) { return v.empty() ? v : Doubles(v.begin() + r * cols, v.begin() + (r + 1) * cols); };
    out.push_back({part(x), part(other)});
  }
  return out;
}

inline double sum(const Doubles& v) {
  double s = 0;
  for (const double e : v) s += e;
  return s;
}
inline double dot(const Doubles& a, const Doubles& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}

// xhat of a row, and its scale.
inline Doubles normalized(const Case& c, Doubles d, double& scale, Break at) {
  const auto n = static_cast<double>(d.size());
  const double mean = find_op(c.op)->centred() ? sum(d) / n : 0;
  for (double& e : d) e -= mean;
  const double count = at == Break::kSampleVariance && n > 1 ? n - 1 : n;
  const double variance = dot(d, d) / count, epsilon = at == Break::kEpsilon ? 0 : c.epsilon();
  scale = at == Break::kEpsilonOutside ? 1 / (std::sqrt(variance) + epsilon) : 1 / std::sqrt(variance + epsilon);
  for (double& e : d) e *= scale;
  return d;
}

inline Doubles parameter(const Case& c, const char* name, double absent) {
  const Tensor* t = c.input(name);
  return t ? t->values() : Doubles(static_cast<std::size_t>(shape_of(c).cols), absent);
}

inline Doubles dx_of(const Case& c, const Row& row, Break at) {
  double scale = 0;
  const Doubles xhat = normalized(c, row.x, scale, at), weight = parameter(c, "weight", 1);
  Doubles g = row.other;
  for (std::size_t i = 0; at != Break::kWeightOfDy && i < g.size(); ++i) g[i] *= weight[i];
  const auto n = static_cast<double>(g.size());
  const double mean_g = find_op(c.op)->centred() && at != Break::kMeanOfG ? sum(g) / n : 0;
  const double mean_g_xhat = at == Break::kMeanOfGXhat ? 0 : dot(g, xhat) / n;
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = scale * (g[i] - mean_g - xhat[i] * mean_g_xhat);
  return g;
}

inline double norm_of(const Doubles& v, double p, Break at) {
  if (at == Break::kOtherP && p == 2) p = 1;
  if (at == Break::kL2ForL1 && p == 1) p = 2;
  if (at == Break::kMagnitude && std::isinf(p)) return *std::max_element(v.begin(), v.end());
  double s = 0;
  for (const double e : v) s = std::isinf(p) ? std::max(s, std::fabs(e)) : s + std::pow(std::fabs(e), p);
  return std::isinf(p) || at == Break::kRoot ? s : std::pow(s, 1 / p);
}

inline Doubles norm_row(const Case& c, const Row& row, Break at) {
  const double p = c.number("p", 2), e = c.epsilon();
  const auto n = static_cast<double>(row.x.size());
  switch (find_op(c.op)->formula) {
    case Formula::kLayerNormGraph: {  // with the pattern that is layer_norm, and without parameters
      double mean = 0, square = 0;
      for (const double v : row.x) mean += v / n;
      for (const double v : row.x) square += (v - mean) * (v - mean) / n;
      Doubles y = row.x;
      for (double& v : y) v = (v - mean) / std::sqrt(square + e);
      return y;
    }
    case Formula::kRms: {
      const double count = at == Break::kSampleVariance && n > 1 ? n - 1 : n, s = dot(row.x, row.x) / count;
      return {at == Break::kEpsilonOutside ? std::sqrt(s) + e : at == Break::kRoot ? s + e : std::sqrt(s + e)};
    }
    case Formula::kDistance: {
      Doubles d = row.x;
      for (std::size_t i = 0; i < d.size(); ++i)
        d[i] = at == Break::kMagnitude ? std::fabs(d[i]) - std::fabs(row.other[i]) : d[i] - row.other[i];
      return {norm_of(d, p, at == Break::kMagnitude ? Break::kNothing : at)};
    }
    case Formula::kCosine: {
      const double least = c.text("epsilon_mode", "none") == "max_norm" && at != Break::kEpsilon ? e : 0;
      const double b = at == Break::kLengthOfB ? 1 : std::max(least, norm_of(row.other, 2, Break::kNothing));
      return {dot(row.x, row.other) / std::max(least, norm_of(row.x, 2, Break::kNothing)) / b};
    }
    case Formula::kLpNormalize: {
      const std::string mode = at == Break::kEpsilonOutside ? "add_outside" : c.text("epsilon_mode", "none");
      double length = norm_of(row.x, p, at);
      if (mode == "add_inside") length = std::sqrt(length * length + e);
      if (mode == "add_outside") length += e;
      if (mode == "max_norm") length = std::max(length, e);
      if (mode == "max_square") length = std::sqrt(std::max(length * length, e));
      Doubles y = row.x;
      for (double& v : y) v /= length;
      return y;
    }
    default:
      return {norm_of(row.x, p, at)};
  }
}

inline Doubles forward_row(const Case& c, const Row& row, Break at) {
  double scale = 0;
  Doubles y = normalized(c, row.x, scale, at);
  const Doubles weight = parameter(c, "weight", 1), bias = parameter(c, "bias", 0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] * weight[i] + bias[i];
  return y;
}

// layer_norm of channels with statistics over each whole map, or over what memory would hold of the other layout.
inline Tensor wrong_rows(const Case& c, Break at) {
  const Tensor& x = *c.input("x");
  const bool last = c.text("layout", "nchw") == "nhwc";
  const std::int64_t channels = shape_of(c).cols, batch = x.rank() == 3 ? 1 : x.shape[0], map = x.size() / batch,
                     positions = map / channels;
  Tensor y = find_op(c.op)->output_layouts(c)[0].second;
  const Doubles weight = parameter(c, "weight", 1), bias = parameter(c, "bias", 0);
  const auto group = [&](std::int64_t i) {
    if (at == Break::kWholeMap) return i / map;
    return i / map * positions + (last ? i % map % positions : i % map / channels);
  };
  std::map<std::int64_t, std::vector<std::int64_t>> groups;
  for (std::int64_t i = 0; i < x.size(); ++i) groups[group(i)].push_back(i);
  for (const auto& [key, members] : groups) {
    Doubles v;
    for (const std::int64_t i : members) v.push_back(x.value(i));
    double scale = 0;
    const Doubles h = normalized(c, v, scale, Break::kNothing);
    for (std::size_t k = 0; k < members.size(); ++k) {
      const std::int64_t i = members[k], own = last ? i % channels : i % map / positions;
      const auto j = static_cast<std::size_t>(at == Break::kWholeMap ? own : static_cast<std::int64_t>(k));
      y.set_value(i, h[k] * weight[j] + bias[j]);
    }
  }
  return y;
}

inline void set_sums(const Case& c, const std::vector<Row>& rows, Break at, Outcome& o) {
  const auto n = static_cast<std::size_t>(shape_of(c).cols);
  Doubles dweight(n, 0.0), dbias(n, 0.0);
  for (std::size_t r = at == Break::kLastRowOnly ? rows.size() - 1 : 0; r < rows.size(); ++r) {
    double scale = 0;
    const Doubles xhat = normalized(c, rows[r].x, scale, at == Break::kEpsilon || at == Break::kSampleVariance ? at : Break::kNothing);
    for (std::size_t j = 0; j < n; ++j) dweight[j] += rows[r].other[j] * xhat[j];
  }
  for (const Row& row : rows) {
    const Doubles terms = at == Break::kBiasFromDx ? dx_of(c, row, Break::kNothing) : row.other;
    for (std::size_t j = 0; j < n; ++j) dbias[j] += terms[j];
  }
  const bool update = find_op(c.op)->shape == OutputShape::kUpdate;
  double rate = c.number("learning_rate", 0);
  if (at == Break::kWrongSign) rate = -rate;
  if (at == Break::kSquaredRate) rate *= rate;
  const Doubles weight = parameter(c, "weight", 1), bias = parameter(c, "bias", 0);
  for (auto& [name, t] : o.outputs) {
    if (name == "dx") continue;
    const bool of_weight = name == "dweight" || name == "weight_new";
    for (std::size_t j = 0; j < n; ++j) {
      const double gradient = (of_weight ? dweight : dbias)[j], before = (of_weight ? weight : bias)[j];
      t.set_value(static_cast<std::int64_t>(j), update ? before - rate * gradient : gradient);
    }
  }
}

}  // namespace broken

inline Outcome run_broken(const Case& c, Break at) {
  Outcome o;
  o.kind = OutcomeKind::kOk;
  const OpInfo& op = *find_op(c.op);
  o.outputs = op.output_layouts(c);
  const std::vector<broken::Row> rows = broken::rows_of(c);
  if (op.shape == OutputShape::kUpdate || op.shape == OutputShape::kGradients) broken::set_sums(c, rows, at, o);
  if (op.shape == OutputShape::kUpdate) return o;
  const RowView view = op.rows(c);
  Tensor& y = o.outputs[0].second;
  if (at == Break::kWholeMap || at == Break::kOtherLayout) {
    y = broken::wrong_rows(c, at);
    return o;
  }
  for (std::int64_t r = 0; r < view.rows(); ++r) {
    const broken::Row& row = rows[static_cast<std::size_t>(r)];
    const Doubles v = op.shape == OutputShape::kGradients ? broken::dx_of(c, row, at)
                      : op.affine()                       ? broken::forward_row(c, row, at)
                                                          : broken::norm_row(c, row, at);
    for (std::size_t i = 0; i < v.size(); ++i)
      y.set_value(op.shape == OutputShape::kRows ? r : view.index(r, static_cast<std::int64_t>(i)), v[i]);
  }
  return o;
}

inline Probe probe_of(Break at) {
  return [at](std::span<const Case> cases) {
    std::vector<Examination> out;
    for (const Case& c : cases) {
      Examination e;
      e.outcome = run_broken(c, at);
      CaseJudge judge(c);
      e.judgement = judge.judge(e.outcome, *contract_named("standard", c.dtype()));
      out.push_back(std::move(e));
    }
    return out;
  };
}

// A case of any op with random values; parameters of the weight's shape where the op has them.
inline Case random_case_of(const std::string& op, DType d, std::vector<std::int64_t> shape, std::map<std::string, ParamValue> params,
                           std::uint64_t seed) {
  RandomValues values(seed * 0x9e3779b97f4a7c15u + 7);
  Case c;
  c.op = op;
  c.params = std::move(params);
  const OpInfo& info = *find_op(op);
  if ((info.affine() || info.forward_map() || info.formula == Formula::kLayerNormGraph) && !c.params.count("epsilon"))
    c.params["epsilon"] = 0x1.8p-9;
  for (const InputSpec& spec : info.inputs)
    if (is_row_input(spec.name)) c.set_input(spec.name, values.fill(d, shape, 0));
  for (const InputSpec& spec : info.inputs)
    if (!is_row_input(spec.name)) c.set_input(spec.name, values.fill(d, {view_of(c).parameters()}, spec.name == "weight" ? 1.5 : 0));
  if (const Tensor* variance = c.input("running_var")) c.set_input("running_var", mapped(*variance, [](double v) { return std::fabs(v); }));
  c.provenance = Provenance{1, seed, 0, "test"};
  return c;
}

// A case of any op, small and of a shape that it takes.
inline Case any_case_of(const OpInfo& op, std::uint64_t seed) {
  const bool groups = op.name.starts_with("group");
  bool images = groups || op.name == "qk_norm";  // four dimensions
  for (const char* prefix : {"channel", "instance", "batch"}) images = images || op.name.starts_with(prefix);
  std::map<std::string, ParamValue> params;
  if (groups) params["groups"] = std::int64_t{3};
  return random_case_of(std::string(op.name), DType::kF32, images ? std::vector<std::int64_t>{2, 3, 2, 2} : std::vector<std::int64_t>{3, 4},
                        std::move(params), seed);
}

inline Outcome exact_outcome(const Case& c) {
  Outcome o;
  o.kind = OutcomeKind::kOk;
  const auto outputs = *exact_outputs(c);
  for (const auto& [name, layout] : find_op(c.op)->output_layouts(c)) o.outputs.emplace_back(name, outputs.at(name));
  return o;
}

}  // namespace normfuzz::testing
