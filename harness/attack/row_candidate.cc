#include "harness/attack/row_candidate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

double epsilon_near(double v) {
  const FloatFormat& f = format_of(DType::kF32);
  return nearest_finite(DType::kF32, std::clamp(v, f.smallest_normal, 0x1p100));
}

// Exponents of the normal range's arenas: there every product of the chains, d s g and squares included, is far above the subnormals of the
// accumulation type and below its largest number.
struct NormalRange {
  int x_low, x_high, weight_low, weight_high, epsilon_low, epsilon_high;
};
NormalRange normal_range(DType storage, DType accumulate) {
  if (accumulate == DType::kF16) return {-6, 5, -4, 4, -10, 8};
  if (storage == DType::kF16) return {-14, 15, -12, 10, -50, 40};
  if (storage == DType::kF64) return {-200, 200, -12, 20, -100, 100};
  return {-14, 40, -12, 20, -50, 60};
}

double between_powers(double v, int low, int high) {
  return v == 0 ? v : std::copysign(std::clamp(std::fabs(v), std::ldexp(1.0, low), std::ldexp(1.0, high)), v);
}

void keep_in_arena(RowCandidate& row) {
  if (row.arena == Arena::kExtreme) return;
  const NormalRange range = normal_range(row.storage, row.accumulate);
  for (double& v : row.x) v = nearest_finite(row.storage, between_powers(v, range.x_low, range.x_high));
  const bool cotangent = find_op(row.op)->affine();  // dy, else b
  for (double& v : row.other)
    v = nearest_finite(row.storage,
                       between_powers(v, cotangent ? range.weight_low : range.x_low, cotangent ? range.weight_high : range.x_high));
  for (double& v : row.weight) v = nearest_finite(row.weight_dtype, between_powers(v, range.weight_low, range.weight_high));
  for (double& v : row.bias)
    v = row.arena != Arena::kBiased ? 0 : nearest_finite(row.weight_dtype, between_powers(v, range.weight_low, range.weight_high));
  for (double& v : row.running_mean) v = nearest_finite(row.weight_dtype, between_powers(v, range.x_low, range.x_high));
  for (double& v : row.running_variance) v = nearest_finite(row.weight_dtype, between_powers(v, range.weight_low, range.weight_high));
  if (row.epsilon != 0) row.epsilon = between_powers(row.epsilon, range.epsilon_low, range.epsilon_high);
}

Tensor tensor_of(DType d, const std::vector<std::int64_t>& shape, const std::vector<double>& values) {
  Tensor t = Tensor::zeros(d, shape);
  for (std::size_t i = 0; i < values.size(); ++i) t.set_value(static_cast<std::int64_t>(i), values[i]);
  return t;
}

// Octaves of scales at which squares stay in the accumulation type's normal range, half of them on each side of 1.
int scale_octaves(DType storage, const Contract& c) {
  if (c.accumulate == DType::kF16) return 3;  // squares and their sums between 2^-14 and 2^16
  if (storage == DType::kF16) return 7;       // f16's own range
  if (c.accumulate == DType::kF64 && storage == DType::kF64) return 100;
  return 15;
}

std::int64_t random_width(Stream& s, Arena arena, const Contract& c) {
  static constexpr std::int64_t kWidths[] = {1, 2, 2, 3, 3, 3, 4, 5, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 33, 64};
  const std::size_t narrow = arena == Arena::kWide ? 11 : 0;  // kWidths[11] = 8
  const std::int64_t n = kWidths[narrow + s.below(std::size(kWidths) - narrow)];
  // The largest k of the chains is 7 (n - 1): 7 * 11 < 2^8, and up to 24 columns for f16's 2^11.
  if (c.accumulate == DType::kBF16) return std::min<std::int64_t>(n, 12);
  if (c.accumulate == DType::kF16) return std::min<std::int64_t>(n, 24);
  return n;
}

double shape_value(Stream& s, int regime, std::int64_t i, std::int64_t n, double ulp) {
  const double gaussian = s.gaussian(), wide = std::exp2((s.uniform() - 0.5) * 16), spike = std::exp2(s.uniform() * 20);
  const auto small = static_cast<double>(s.between(-8, 8));
  switch (regime) {
    case 1:
      return small;
    case 2:
      return s.flip(1);
    case 3:
      return i == 0 ? spike : gaussian;
    case 4:
      return i == n - 1 ? spike : gaussian;
    case 5:
      return s.flip(wide);
    case 6:
      return 1 + small * ulp;  // neighbours of 1
    default:
      return gaussian;
  }
}

double random_parameter(Stream& s, double octaves) {
  const double g = s.gaussian();
  return g * std::exp2(std::floor((s.uniform() - 0.5) * octaves));
}

double tweak(double v, DType d, Stream& s) {
  const double g = s.gaussian();
  switch (s.below(8)) {
    case 0:
    case 1: {  // a few neighbours up or down
      std::uint64_t bits = bits_from_value(d, v);
      const bool up = s.chance(50);
      for (std::uint64_t k = 1 + s.below(3); k > 0; --k)
        bits = up ? next_up_bits(d, bits)
                  : bits_from_value(d, -value_from_bits(d, next_up_bits(d, bits_from_value(d, -value_from_bits(d, bits)))));
      return value_from_bits(d, bits);
    }
    case 2:
      return v * (1 + static_cast<double>(s.between(-4096, 4096)) * 2 * format_of(d).unit_roundoff);
    case 3:
      return -v;
    case 4:
      return v * (1 + g * std::ldexp(1.0, -static_cast<int>(s.below(20))));
    case 5:
      return s.chance(50) ? v * 2 : v / 2;
    case 6:
      return v * (0.5 + 1.5 * s.uniform());
    default:
      return v + g * std::fabs(v);
  }
}

double& any_of(std::vector<double>& v, Stream& s) { return v[s.below(v.size())]; }

// All of x: by a factor, or shifted together.
void change_row(RowCandidate& row, Stream& s) {
  const double factor = 0.5 + 1.5 * s.uniform(), shift = s.gaussian() * std::fabs(any_of(row.x, s));
  const bool scale = s.chance(50);
  for (double& v : row.x) v = nearest_finite(row.storage, scale ? v * factor : v + shift);
}

}  // namespace

Case RowCandidate::to_case() const {
  const OpInfo& info = *find_op(op);
  Case c;
  c.op = op;
  const auto accepts = [&](std::string_view name) { return std::find(info.params.begin(), info.params.end(), name) != info.params.end(); };
  if (accepts("epsilon")) c.params["epsilon"] = epsilon;
  if (weight_offset != 0) c.params["weight_offset"] = weight_offset;
  if (accepts("p")) c.params["p"] = p;
  if (!epsilon_mode.empty()) c.params["epsilon_mode"] = epsilon_mode;
  if (accepts("learning_rate")) c.params["learning_rate"] = learning_rate;
  const bool batch = op.starts_with("batch_norm");  // channels are rows
  if (info.shape == OutputShape::kStatistics) {
    c.params["training"] = std::int64_t{training};
    if (training) c.params["momentum"] = momentum;
    if (training) c.params["variance"] = std::string(sample_variance ? "sample" : "population");
  }
  const std::vector<std::int64_t> shape = batch ? std::vector<std::int64_t>{1, rows, size()} : std::vector<std::int64_t>{rows, size()};
  for (const InputSpec& input : info.inputs) {
    if (input.name == "x" || input.name == "a")
      c.inputs.emplace_back(input.name, tensor_of(storage, shape, x));
    else if (input.name == "dy" || input.name == "b" || input.name == "residual")
      c.inputs.emplace_back(input.name, tensor_of(storage, shape, other));
    else if (input.name == "running_mean" || input.name == "running_var")
      c.inputs.emplace_back(input.name, tensor_of(weight_dtype, {rows}, input.name == "running_mean" ? running_mean : running_variance));
    else
      c.inputs.emplace_back(input.name, tensor_of(weight_dtype, {batch ? rows : size()}, input.name == "weight" ? weight : bias));
  }
  return c;
}

namespace {

// b of distance and cosine: a row of its own, near x, or x a few neighbours off; dy: values of any scale, one element, or all equal.
void draw_other(RowCandidate& row, Stream& s, bool cotangent, double scale) {
  const int kind = static_cast<int>(s.below(4));
  const double ulp = 2 * format_of(row.storage).unit_roundoff;
  const std::size_t only = s.below(row.x.size());
  for (std::size_t i = 0; i < row.x.size(); ++i) {
    const double g = s.gaussian();
    double v = scale * g;
    if (cotangent) v = kind == 0 ? g : kind == 1 ? (i == only ? 1 : 0) : kind == 2 ? 1 + 0.01 * g : random_parameter(s, 8);
    if (!cotangent && kind == 1) v = row.x[i] * (1 + static_cast<double>(s.between(-4, 4)) * ulp);
    if (!cotangent && kind == 2) v = row.x[i] + 0.01 * scale * g;
    row.other.push_back(nearest_finite(row.storage, v));
  }
}

// The parameters of the ops without an affine map: p, the mode of epsilon, and an epsilon of the size that its mode compares with.
void draw_norm_parameters(RowCandidate& row, Stream& s, double scale) {
  static constexpr double kOrders[] = {1, 2, 2, 2, 3, 1.5, 2.5, 4, std::numeric_limits<double>::infinity()};
  const Formula formula = find_op(row.op)->formula;
  if (formula != Formula::kRms && formula != Formula::kCosine) row.p = kOrders[s.below(std::size(kOrders))];
  const double relative = std::ldexp(1.0, static_cast<int>(s.between(-12, 4)));
  if (formula == Formula::kRms) row.epsilon = s.chance(50) ? 0 : row.epsilon;
  if (formula != Formula::kCosine && formula != Formula::kLpNormalize) return;
  static constexpr const char* kModes[] = {"none", "max_norm", "add_outside", "add_inside", "max_square"};
  row.epsilon_mode = kModes[s.below(formula == Formula::kCosine ? 2 : row.p == 2 ? 5 : 3)];
  const bool square = row.epsilon_mode == "add_inside" || row.epsilon_mode == "max_square";
  row.epsilon = row.epsilon_mode == "none" ? 0 : epsilon_near((square ? scale * scale : scale) * relative);
}

// Running statistics beside the rows' own size, and a momentum.
void draw_running_statistics(RowCandidate& row, Stream& s, double scale) {
  row.training = s.chance(60);
  row.sample_variance = row.size() > 1 && s.chance(50);
  row.momentum = nearest_finite(DType::kF32, s.chance(30) ? 0.1 : s.uniform());
  for (std::int64_t r = 0; r < row.rows; ++r) {
    const double mean = s.gaussian(), variance = s.uniform();
    const bool near = s.chance(40);
    const double x = any_of(row.x, s);
    row.running_mean.push_back(nearest_finite(row.weight_dtype, near ? x : scale * mean));
    row.running_variance.push_back(nearest_finite(row.weight_dtype, scale * scale * variance));
  }
}

// One weight and bias per row instead of one per column.
void make_parameters_by_row(RowCandidate& row) {
  for (auto* v : {&row.weight, &row.bias}) {
    for (std::size_t i = 0; v->size() < static_cast<std::size_t>(row.rows); ++i) v->push_back((*v)[i]);
    v->resize(static_cast<std::size_t>(row.rows));
  }
}

}  // namespace

RowCandidate random_candidate(Stream& s, Arena arena, const std::string& op, DType storage, const Contract& contract) {
  RowCandidate row;
  row.arena = arena;
  row.accumulate = contract.accumulate;
  row.op = op;
  row.storage = storage;
  row.weight_dtype = format_of(storage).bytes == 2 && contract.accumulate != storage && s.chance(20) ? DType::kF32 : storage;
  const std::int64_t n = random_width(s, arena, contract);
  const bool narrow = format_of(contract.accumulate).bytes == 2;
  const bool extreme = arena == Arena::kExtreme;
  const int octaves = extreme ? format_of(storage).max_exponent - 2 : scale_octaves(storage, contract);
  const double scale = std::ldexp(1.0, static_cast<int>(s.between(-octaves, octaves)));
  const int regime = static_cast<int>(s.below(8));
  const double mean =
      regime == 6 || s.chance(40) ? 0 : std::exp2(s.uniform() * (narrow || storage == DType::kF16 ? 6 : format_of(storage).precision));
  const OpInfo& info = *find_op(op);
  const bool summed = info.shape == OutputShape::kGradients || info.shape == OutputShape::kUpdate || info.shape == OutputShape::kStatistics;
  if (summed) row.rows = static_cast<std::int64_t>(1 + s.below(5));
  for (std::int64_t i = 0; i < n * row.rows; ++i)
    row.x.push_back(nearest_finite(storage, scale * (mean + shape_value(s, regime, i, n, 2 * format_of(storage).unit_roundoff))));
  const double parameter_octaves = extreme ? 2.0 * octaves : narrow ? 4 : 8;
  const bool unit = s.chance(30), no_bias = unit || s.chance(40);
  for (std::int64_t i = 0; i < n; ++i) {
    row.weight.push_back(nearest_finite(row.weight_dtype, unit ? 1 : random_parameter(s, parameter_octaves)));
    row.bias.push_back(nearest_finite(row.weight_dtype, no_bias ? 0 : random_parameter(s, 2 * parameter_octaves)));
  }
  const double relative = std::ldexp(1.0, static_cast<int>(s.between(narrow ? -8 : -24, narrow ? 8 : 16)));
  row.epsilon = s.chance(30) && !narrow ? epsilon_near(1e-5) : epsilon_near(scale * scale * relative);
  if ((info.formula == Formula::kRmsNorm || info.formula == Formula::kAddRmsNorm) && s.chance(25)) row.weight_offset = 1;
  if (op.starts_with("batch_norm")) make_parameters_by_row(row);
  if (info.shape == OutputShape::kStatistics) draw_running_statistics(row, s, scale);
  if (std::any_of(info.inputs.begin(), info.inputs.end(),
                  [](const InputSpec& i) { return i.name == "dy" || i.name == "b" || i.name == "residual"; }))
    draw_other(row, s, info.affine(), scale);
  if (!info.affine()) draw_norm_parameters(row, s, scale);
  if (info.shape == OutputShape::kUpdate) row.learning_rate = nearest_finite(DType::kF32, std::exp2(-10 * s.uniform()));
  keep_in_arena(row);
  return row;
}

void mutate(RowCandidate& row, Stream& s) {
  for (std::uint64_t k = 1 + s.below(3); k > 0; --k) {
    switch (s.below(row.other.empty() ? 9 : 12)) {
      case 9:
      case 10:
      case 11: {
        double& v = any_of(row.other, s);
        v = nearest_finite(row.storage, tweak(v, row.storage, s));
        break;
      }
      case 3:
        any_of(row.x, s) = any_of(row.x, s);
        break;
      case 4: {
        double& w = any_of(row.weight, s);
        w = nearest_finite(row.weight_dtype, tweak(w, row.weight_dtype, s));
        break;
      }
      case 5: {
        double& b = any_of(row.bias, s);
        b = nearest_finite(row.weight_dtype, tweak(b, row.weight_dtype, s));
        break;
      }
      case 6:
        if (row.epsilon == 0) break;
        row.epsilon = epsilon_near(s.chance(50) ? row.epsilon * std::exp2(2 * s.gaussian()) : row.epsilon * (1 + 1e-3 * s.gaussian()));
        break;
      case 7:
        change_row(row, s);
        break;
      default: {
        double& x = any_of(row.x, s);
        x = nearest_finite(row.storage, tweak(x, row.storage, s));
      }
    }
  }
  if (!row.running_mean.empty() && s.chance(40)) {
    double& v = any_of(s.chance(50) ? row.running_mean : row.running_variance, s);
    const double changed = nearest_finite(row.weight_dtype, tweak(v, row.weight_dtype, s));
    v = v >= 0 && changed < 0 ? v : changed;  // a variance stays one
    if (s.chance(20)) row.momentum = nearest_finite(DType::kF32, s.uniform());
  }
  keep_in_arena(row);
}

}  // namespace normfuzz
