#include "targets/mutants/op_mutant.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/dtype.h"
#include "targets/mutants/row_map.h"
#include "targets/mutants/sums.h"

namespace normfuzz {
namespace {

// ---- the list ----

const std::array<OpMutant, 28> kOpMutants = {{
    {"whole_map",
     "axis",
     "channel LayerNorm over the whole map of a sample",
     "tt-metal#56202 (wrong group)",
     OpBug::kWholeMap,
     {"channel_layer_norm", "channel_layer_norm_backward"}},
    {"wrong_axis",
     "axis",
     "rows along the neighbouring dimension",
     "onnxruntime#26407, tensorflow#118181",
     OpBug::kWrongAxis,
     {"channel_layer_norm", "lp_normalize"}},
    {"nhwc_as_nchw",
     "layout",
     "reads an nhwc tensor as nchw",
     "DirectML#588, openvino#36649",
     OpBug::kNhwcAsNchw,
     {"channel_layer_norm", "channel_layer_norm_backward"}},
    {"dweight_of_last_row",
     "backward",
     "dweight of the last row alone, not summed over rows",
     "attorch#17",
     OpBug::kLastRow,
     {"layer_norm_backward", "rms_norm_backward", "channel_layer_norm_backward", "group_norm_backward", "instance_norm_backward",
      "batch_norm_backward"}},
    {"no_mean_gradient",
     "backward",
     "dx without the term mean(g)",
     "none known; Odyssey#5107 on cotangents of ones, which hide it",
     OpBug::kNoMeanGradient,
     {"layer_norm_backward", "channel_layer_norm_backward", "group_norm_backward", "instance_norm_backward", "batch_norm_backward"}},
    {"no_projection",
     "backward",
     "dx without the term xhat mean(g xhat)",
     "candle#2168, unsloth#4550 (a gradient silently absent)",
     OpBug::kNoProjection,
     {"layer_norm_backward", "rms_norm_backward", "channel_layer_norm_backward", "group_norm_backward", "instance_norm_backward",
      "batch_norm_backward"}},
    {"weight_forgotten",
     "backward",
     "dx for a weight of ones",
     "pytorch#69208",
     OpBug::kWeightForgotten,
     {"layer_norm_backward", "rms_norm_backward", "channel_layer_norm_backward", "group_norm_backward", "instance_norm_backward",
      "batch_norm_backward"}},
    {"gradient_epsilon_dropped",
     "backward",
     "a backward without epsilon",
     "tensorflow#58863, TIM-VX#589",
     OpBug::kNoEpsilon,
     {"layer_norm_backward", "rms_norm_backward", "channel_layer_norm_backward", "group_norm_backward", "instance_norm_backward",
      "batch_norm_backward"}},
    {"dbias_of_dx",
     "backward",
     "dbias = sum of dx",
     "oneflow#6149",
     OpBug::kBiasFromDx,
     {"layer_norm_backward", "channel_layer_norm_backward", "group_norm_backward", "instance_norm_backward", "batch_norm_backward"}},
    {"step_upward",
     "update",
     "adds the step to the parameter",
     "none known",
     OpBug::kStepUpward,
     {"layer_norm_sgd", "rms_norm_sgd", "channel_layer_norm_sgd"}},
    {"rate_squared",
     "update",
     "multiplies by the learning rate twice",
     "none known",
     OpBug::kRateSquared,
     {"layer_norm_sgd", "rms_norm_sgd", "channel_layer_norm_sgd"}},
    {"no_root", "norms", "the sum of squares for its root", "none known", OpBug::kNoRoot, {"lp_norm", "distance"}},
    {"l1_for_l2", "norms", "the sum of magnitudes where p = 2", "none known", OpBug::kL1ForL2, {"lp_norm", "distance"}},
    {"signed_maximum", "norms", "the largest element for the largest magnitude", "pytorch#41779", OpBug::kSignedMaximum, {"lp_norm"}},
    {"divisor_l1", "norms", "divides by the sum of magnitudes whatever p", "none known", OpBug::kDivisorL1, {"lp_normalize"}},
    {"length_epsilon_outside",
     "epsilon",
     "adds epsilon to the length where it belongs under the root",
     "axlearn#21, optax#1703",
     OpBug::kEpsilonOutside,
     {"lp_normalize"}},
    {"cosine_one_length", "cosine", "divides by the first length alone", "none known", OpBug::kOneLength, {"cosine"}},
    {"distance_of_magnitudes", "norms", "subtracts magnitudes", "none known", OpBug::kMagnitudes, {"distance"}},
    {"interleaved_groups",
     "axis",
     "channel c in group c modulo the number of groups",
     "tt-metal#56202 (wrong group)",
     OpBug::kInterleavedGroups,
     {"group_norm", "group_norm_backward"}},
    {"weight_by_position",
     "parameters",
     "the weight and bias of a channel's position within its group",
     "none known",
     OpBug::kWeightByPosition,
     {"group_norm", "instance_norm", "group_norm_backward", "instance_norm_backward"}},
    {"running_population",
     "running statistics",
     "moves the running variance by the population's variance where the sample's is due",
     "none known",
     OpBug::kRunningPopulation,
     {"batch_norm"}},
    {"momentum_swapped",
     "running statistics",
     "takes momentum for the weight of the old statistics",
     "none known; PyTorch and ONNX define it the other way round",
     OpBug::kMomentumSwapped,
     {"batch_norm"}},
    {"training_always",
     "statistics",
     "normalizes by the batch's statistics at inference",
     "none known",
     OpBug::kTrainingAlways,
     {"batch_norm"}},
    {"residual_not_added",
     "residual",
     "returns x for x + residual: the sum is not written back",
     "none known",
     OpBug::kResidualNotAdded,
     {"add_rms_norm"}},
    {"residual_rounded_early", "rounding", "the norm sees the sum rounded to bf16", "none known", OpBug::kResidualEarly, {"add_rms_norm"}},
    {"heads_together", "axis", "one mean square over all heads of a position", "none known", OpBug::kHeadsTogether, {"qk_norm"}},
    {"graph_fused",
     "graph fusion",
     "takes every graph that looks like layer_norm for it",
     "none known; ONNX Runtime's LayerNormFusion takes Pow(d, 4) for Pow(d, 2)",
     OpBug::kGraphFused,
     {"layer_norm_graph"}},
    {"rms_sample", "statistics", "divides the sum of squares by n - 1", "FastNN#11, mlx#3817", OpBug::kSampleMean, {"rms"}},
}};

// ---- one plain scalar kernel ----

template <class T>
class OpKernel {
 public:
  OpKernel(OpBug bug, const MutantPolicy& policy, const OpInputs& in) : bug_(bug), policy_(policy), in_(in), map_(row_map(bug, in)) {}

  OpOutputs run() const {
    if (in_.op.ends_with("_sgd")) return update();
    if (in_.op.ends_with("_backward")) return backward();
    std::vector<double> y(in_.x.size());
    if (in_.op == "batch_norm") return batch_norm();
    if (in_.op == "add_rms_norm") return add_rms_norm();
    if (in_.op == "qk_norm") return qk_norm();
    if (in_.op == "layer_norm_graph") return graph();
    if (in_.op == "lp_normalize" || in_.op == "channel_layer_norm" || in_.groups > 0) {
      for (std::int64_t r = 0; r < map_.rows; ++r) in_.op == "lp_normalize" ? normalize_row(r, y) : layer_norm_row(r, y);
    } else {
      y.clear();
      for (std::int64_t r = 0; r < map_.rows; ++r) y.push_back(static_cast<double>(reduced_row(r)));
    }
    return {{"y", std::move(y)}};
  }

 private:
  bool has(OpBug bug) const { return bug_ == bug; }
  T x(std::int64_t r, std::int64_t j) const { return static_cast<T>(in_.x[element(r, j)]); }
  T other(std::int64_t r, std::int64_t j) const { return static_cast<T>(in_.other[element(r, j)]); }
  std::size_t element(std::int64_t r, std::int64_t j) const { return map_.at(r, j); }
  std::size_t parameter(std::int64_t r, std::int64_t j) const { return map_.parameter_at(r, j); }
  T weight(std::int64_t r, std::int64_t j) const { return static_cast<T>(in_.weight_offset) + static_cast<T>(in_.weight[parameter(r, j)]); }
  T count() const { return static_cast<T>(map_.cols); }
  T epsilon() const { return has(OpBug::kNoEpsilon) ? T(0) : static_cast<T>(in_.epsilon); }

  template <class Term>
  T sum(Term term) const {
    return sum_of<T>(policy_.sum, term, map_.cols);
  }

  // ---- layer_norm and its kin ----

  struct Statistics {
    T mean = 0, scale = 0, variance = 0;
  };
  Statistics statistics(std::int64_t r) const {
    Statistics s;
    T square = 0;
    if (in_.op.starts_with("rms")) {
      square = sum([&](std::int64_t j) { return x(r, j) * x(r, j); }) / count();
    } else if (policy_.moments == MutantMoments::kWelford) {
      for (std::int64_t j = 0; j < map_.cols; ++j) {
        const T d = x(r, j) - s.mean;
        s.mean += d / static_cast<T>(j + 1);
        square += d * (x(r, j) - s.mean);
      }
      square /= count();
    } else {
      s.mean = sum([&](std::int64_t j) { return x(r, j); }) / count();
      square = sum([&](std::int64_t j) { return (x(r, j) - s.mean) * (x(r, j) - s.mean); }) / count();
    }
    s.variance = square;
    s.scale = 1 / std::sqrt(square + epsilon());
    return s;
  }

  void layer_norm_row(std::int64_t r, std::vector<double>& y) const {
    const Statistics s = statistics(r);
    for (std::int64_t j = 0; j < map_.cols; ++j)
      y[element(r, j)] = static_cast<double>((x(r, j) - s.mean) * s.scale * weight(r, j) + static_cast<T>(in_.bias[parameter(r, j)]));
  }

  struct Sums {
    std::vector<T> weight, bias;
  };
  // Adds a row to the sums; dx too where it is wanted.
  void gradient_row(std::int64_t r, Sums& sums, std::vector<double>* dx) const {
    const Statistics s = statistics(r);
    const auto xhat = [&](std::int64_t j) { return (x(r, j) - s.mean) * s.scale; };
    const auto g = [&](std::int64_t j) { return has(OpBug::kWeightForgotten) ? other(r, j) : weight(r, j) * other(r, j); };
    const bool centred = !in_.op.starts_with("rms") && !has(OpBug::kNoMeanGradient);
    const T mean_g = centred ? sum(g) / count() : T(0);
    const T projection = has(OpBug::kNoProjection) ? T(0) : sum([&](std::int64_t j) { return g(j) * xhat(j); }) / count();
    for (std::int64_t j = 0; j < map_.cols; ++j) {
      const T gradient = s.scale * (g(j) - mean_g - xhat(j) * projection);
      if (dx) (*dx)[element(r, j)] = static_cast<double>(gradient);
      T& dweight = sums.weight[parameter(r, j)];
      dweight = has(OpBug::kLastRow) ? other(r, j) * xhat(j) : dweight + other(r, j) * xhat(j);
      sums.bias[parameter(r, j)] += has(OpBug::kBiasFromDx) ? gradient : other(r, j);
    }
  }
  Sums gradient_sums(std::vector<double>* dx) const {
    Sums sums{std::vector<T>(in_.weight.size()), std::vector<T>(in_.weight.size())};
    for (std::int64_t r = 0; r < map_.rows; ++r) gradient_row(r, sums, dx);
    return sums;
  }

  OpOutputs backward() const {
    std::vector<double> dx(in_.x.size());
    const Sums sums = gradient_sums(&dx);
    return {{"dx", std::move(dx)}, {"dweight", {sums.weight.begin(), sums.weight.end()}}, {"dbias", {sums.bias.begin(), sums.bias.end()}}};
  }

  OpOutputs update() const {
    const Sums sums = gradient_sums(nullptr);
    const auto moved = [&](const std::vector<double>& parameters, const std::vector<T>& gradients) {
      T rate = static_cast<T>(in_.learning_rate);
      if (has(OpBug::kStepUpward)) rate = -rate;
      if (has(OpBug::kRateSquared)) rate *= rate;
      std::vector<double> out;
      for (std::size_t j = 0; j < parameters.size(); ++j)
        out.push_back(static_cast<double>(static_cast<T>(parameters[j]) - rate * gradients[j]));
      return out;
    };
    return {{"weight_new", moved(in_.weight, sums.weight)}, {"bias_new", moved(in_.bias, sums.bias)}};
  }

  // ---- batch_norm, add_rms_norm, qk_norm ----

  OpOutputs batch_norm() const {
    std::vector<double> y(in_.x.size()), mean, variance;
    const bool training = in_.training || has(OpBug::kTrainingAlways);
    const T now = static_cast<T>(in_.momentum), old = 1 - now;
    for (std::int64_t r = 0; r < map_.rows; ++r) {
      const auto channel = static_cast<std::size_t>(r);
      Statistics s = statistics(r);
      if (!training) {
        s.mean = static_cast<T>(in_.running_mean[channel]);
        s.scale = 1 / std::sqrt(static_cast<T>(in_.running_variance[channel]) + epsilon());
      }
      for (std::int64_t j = 0; j < map_.cols; ++j)
        y[element(r, j)] = static_cast<double>((x(r, j) - s.mean) * s.scale * weight(r, j) + static_cast<T>(in_.bias[parameter(r, j)]));
      if (!in_.training || in_.running_mean.empty()) continue;
      T batch_variance = s.variance;
      if (in_.sample_variance && !has(OpBug::kRunningPopulation)) batch_variance = batch_variance * (count() / (count() - 1));
      const auto moved = [&](double before, T batch) {
        const T b = static_cast<T>(before);
        return static_cast<double>(has(OpBug::kMomentumSwapped) ? now * b + old * batch : old * b + now * batch);
      };
      mean.push_back(moved(in_.running_mean[channel], s.mean));
      variance.push_back(moved(in_.running_variance[channel], batch_variance));
    }
    return {{"y", std::move(y)}, {"running_mean_new", std::move(mean)}, {"running_var_new", std::move(variance)}};
  }

  OpOutputs add_rms_norm() const {
    std::vector<double> y(in_.x.size()), sums(in_.x.size());
    for (std::int64_t r = 0; r < map_.rows; ++r) {
      const auto h = [&](std::int64_t j) {
        const T sum = x(r, j) + other(r, j);
        if (!has(OpBug::kResidualEarly)) return sum;
        return static_cast<T>(value_from_bits(DType::kBF16, bits_from_value(DType::kBF16, static_cast<double>(sum))));
      };
      const T scale = 1 / std::sqrt(sum([&](std::int64_t j) { return h(j) * h(j); }) / count() + epsilon());
      for (std::int64_t j = 0; j < map_.cols; ++j) {
        y[element(r, j)] = static_cast<double>(h(j) * scale * weight(r, j));
        sums[element(r, j)] = static_cast<double>(has(OpBug::kResidualNotAdded) ? x(r, j) : h(j));
      }
    }
    return {{"y", std::move(y)}, {"residual_new", std::move(sums)}};
  }

  // Heads are the last dimension, one row each; together the last two.
  std::vector<double> head_norm(const std::vector<std::int64_t>& shape, const std::vector<double>& v,
                                const std::vector<double>& weights) const {
    const std::int64_t n = shape[3], together = has(OpBug::kHeadsTogether) ? n * shape[2] : n;
    std::vector<double> out(v.size());
    for (std::size_t first = 0; first < v.size(); first += static_cast<std::size_t>(together)) {
      const auto at = [&](std::int64_t j) { return static_cast<T>(v[first + static_cast<std::size_t>(j)]); };
      const T square = sum_of<T>(
          policy_.sum, [&](std::int64_t j) { return at(j) * at(j); }, together);
      const T scale = 1 / std::sqrt(square / static_cast<T>(together) + epsilon());
      for (std::int64_t j = 0; j < together; ++j)
        out[first + static_cast<std::size_t>(j)] =
            static_cast<double>(at(j) * scale * static_cast<T>(weights[static_cast<std::size_t>(j % n)]));
    }
    return out;
  }
  OpOutputs qk_norm() const {
    return {{"q_out", head_norm(in_.shape, in_.x, in_.weight)}, {"k_out", head_norm(in_.key_shape, in_.k, in_.k_weight)}};
  }

  // ---- layer_norm_graph ----

  OpOutputs graph() const {
    std::vector<double> y(in_.x.size());
    for (std::int64_t r = 0; r < map_.rows; ++r) graph_row(r, has(OpBug::kGraphFused) ? GraphPattern::kExact : in_.pattern, y);
    return {{"y", std::move(y)}};
  }
  void graph_row(std::int64_t r, GraphPattern pattern, std::vector<double>& y) const {
    const T mean = sum([&](std::int64_t j) { return x(r, j); }) / count();
    const auto d = [&](std::int64_t j) { return x(r, j) - mean; };
    const T powers = sum([&](std::int64_t j) { return pattern == GraphPattern::kExponent4 ? d(j) * d(j) * (d(j) * d(j)) : d(j) * d(j); });
    const T root = std::sqrt(powers / count() + epsilon());
    for (std::int64_t j = 0; j < map_.cols; ++j) {
      const T quotient = pattern == GraphPattern::kSwappedDivision      ? root / d(j)
                         : pattern == GraphPattern::kSwappedSubtraction ? (mean - x(r, j)) / root
                                                                        : d(j) / root;
      y[element(r, j)] = static_cast<double>(quotient * weight(r, j) + static_cast<T>(in_.bias[parameter(r, j)]));
    }
  }

  // ---- norms ----

  template <class Element>
  T norm(Element element) const {
    const auto magnitude = [&](std::int64_t j) { return std::fabs(element(j)); };
    const double p = in_.p;
    if (p == 1 || (p == 2 && has(OpBug::kL1ForL2)) || has(OpBug::kDivisorL1)) return sum(magnitude);
    if (p == 2) {
      const T square = sum([&](std::int64_t j) { return element(j) * element(j); });
      return has(OpBug::kNoRoot) ? square : std::sqrt(square);
    }
    if (p > std::numeric_limits<double>::max()) {
      T most = has(OpBug::kSignedMaximum) ? element(0) : magnitude(0);
      for (std::int64_t j = 1; j < map_.cols; ++j) {
        const T v = has(OpBug::kSignedMaximum) ? element(j) : magnitude(j);
        if (!(most >= v) && most == most) most = v;  // a NaN stays, and is taken
      }
      return most;
    }
    const T total = sum([&](std::int64_t j) { return std::pow(magnitude(j), static_cast<T>(p)); });
    return has(OpBug::kNoRoot) ? total : std::pow(total, 1 / static_cast<T>(p));
  }

  T reduced_row(std::int64_t r) const {
    const auto a = [&](std::int64_t j) { return x(r, j); };
    const auto b = [&](std::int64_t j) { return other(r, j); };
    if (in_.op == "lp_norm") return norm(a);
    if (in_.op == "rms") {
      const T divisor = has(OpBug::kSampleMean) && map_.cols > 1 ? count() - 1 : count();
      return std::sqrt(sum([&](std::int64_t j) { return a(j) * a(j); }) / divisor + epsilon());
    }
    if (in_.op == "distance")
      return norm([&](std::int64_t j) { return has(OpBug::kMagnitudes) ? std::fabs(a(j)) - std::fabs(b(j)) : a(j) - b(j); });
    const auto length = [&](auto v) {
      const T root = std::sqrt(sum([&](std::int64_t j) { return v(j) * v(j); }));
      return in_.epsilon_mode == EpsilonMode::kNone || root != root ? root : std::max(root, epsilon());
    };
    const T product = sum([&](std::int64_t j) { return a(j) * b(j); });
    return has(OpBug::kOneLength) ? product / length(a) : product / (length(a) * length(b));
  }

  void normalize_row(std::int64_t r, std::vector<double>& y) const {
    const auto a = [&](std::int64_t j) { return x(r, j); };
    const EpsilonMode mode =
        has(OpBug::kEpsilonOutside) && in_.epsilon_mode == EpsilonMode::kAddInside ? EpsilonMode::kAddOutside : in_.epsilon_mode;
    T length = norm(a);
    if (mode == EpsilonMode::kAddInside) length = std::sqrt(sum([&](std::int64_t j) { return a(j) * a(j); }) + epsilon());
    if (mode == EpsilonMode::kAddOutside) length += epsilon();
    if (mode == EpsilonMode::kMaxNorm && length == length) length = std::max(length, epsilon());
    if (mode == EpsilonMode::kMaxSquare) {
      const T square = sum([&](std::int64_t j) { return a(j) * a(j); });
      length = std::sqrt(square == square ? std::max(square, epsilon()) : square);
    }
    for (std::int64_t j = 0; j < map_.cols; ++j) y[element(r, j)] = static_cast<double>(a(j) / length);
  }

  OpBug bug_;
  const MutantPolicy& policy_;
  const OpInputs& in_;
  RowMap map_;
};

}  // namespace

std::span<const OpMutant> op_mutants() { return kOpMutants; }

const OpMutant* find_op_mutant(std::string_view name) {
  const auto found = std::find_if(kOpMutants.begin(), kOpMutants.end(), [&](const OpMutant& m) { return m.name == name; });
  return found == kOpMutants.end() ? nullptr : &*found;
}

OpOutputs run_op_mutant(OpBug bug, const MutantPolicy& policy, const OpInputs& inputs) {
  return inputs.f64 ? OpKernel<double>(bug, policy, inputs).run() : OpKernel<float>(bug, policy, inputs).run();
}

}  // namespace normfuzz
