#include "targets/mutants/op_mutant.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dtype.h"
#include "targets/mutants/row_map.h"
#include "targets/mutants/sums.h"

namespace normfuzz {
namespace {

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
  T epsilon() const {
    const T stored = static_cast<T>(in_.epsilon);
    return has(OpBug::kNoEpsilon) ? T(0) : has(OpBug::kEpsilonInStorage) ? in_storage(stored) : stored;
  }
  T in_storage(T v) const { return rounded(in_.storage, v); }
  static T rounded(DType type, T v) { return static_cast<T>(value_from_bits(type, bits_from_value(type, static_cast<double>(v)))); }

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
    const auto xhat = [&](std::int64_t j) {
      const T normalized = (x(r, j) - s.mean) * s.scale;
      return has(OpBug::kXhatFromOutput) ? normalized * weight(r, j) / weight(r, j) : normalized;
    };
    const auto g = [&](std::int64_t j) { return has(OpBug::kWeightForgotten) ? other(r, j) : weight(r, j) * other(r, j); };
    const bool centred = !in_.op.starts_with("rms") && !has(OpBug::kNoMeanGradient);
    const T mean_g = centred ? sum(g) / count() : T(0);
    const T projection = has(OpBug::kNoProjection) ? T(0) : sum([&](std::int64_t j) { return g(j) * xhat(j); }) / count();
    for (std::int64_t j = 0; j < map_.cols; ++j) {
      const T gradient = s.scale * (g(j) - mean_g - xhat(j) * projection);
      if (dx) (*dx)[element(r, j)] = static_cast<double>(gradient);
      if (has(OpBug::kFirst128Rows) && r >= 128) continue;
      T &dweight = sums.weight[parameter(r, j)], &dbias = sums.bias[parameter(r, j)];
      dweight = has(OpBug::kLastRow) ? other(r, j) * xhat(j) : dweight + other(r, j) * xhat(j);
      dbias += has(OpBug::kBiasFromDx) ? gradient : other(r, j);
      if (!has(OpBug::kSumsInStorage)) continue;
      dweight = in_storage(dweight);
      dbias = in_storage(dbias);
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
    const bool swapped = has(OpBug::kGradientsSwapped);
    return {{"dx", std::move(dx)},
            {swapped ? "dbias" : "dweight", {sums.weight.begin(), sums.weight.end()}},
            {swapped ? "dweight" : "dbias", {sums.bias.begin(), sums.bias.end()}}};
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
        return rounded(DType::kBF16, sum);
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
    return {{"q_out", head_norm(in_.shape, in_.x, in_.weight)},
            {"k_out", head_norm(in_.key_shape, in_.k, has(OpBug::kQueryWeight) ? in_.weight : in_.k_weight)}};
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
    if (p == 1 && has(OpBug::kSignedSum)) return sum(element);
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
    if (has(OpBug::kProductUnderRoot) && in_.epsilon_mode == EpsilonMode::kNone) {
      const auto square = [&](auto v) { return sum([&](std::int64_t j) { return v(j) * v(j); }); };
      return product / std::sqrt(square(a) * square(b));
    }
    return has(OpBug::kOneLength) ? product / length(a) : product / (length(a) * length(b));
  }

  void normalize_row(std::int64_t r, std::vector<double>& y) const {
    const auto a = [&](std::int64_t j) { return x(r, j); };
    const EpsilonMode mode =
        has(OpBug::kEpsilonOutside) && in_.epsilon_mode == EpsilonMode::kAddInside ? EpsilonMode::kAddOutside : in_.epsilon_mode;
    T length = norm(a) + (has(OpBug::kLengthPlus) ? T(0x1p-23) : T(0));
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

OpOutputs run_op_mutant(OpBug bug, const MutantPolicy& policy, const OpInputs& inputs) {
  return inputs.storage == DType::kF64 ? OpKernel<double>(bug, policy, inputs).run() : OpKernel<float>(bug, policy, inputs).run();
}

}  // namespace normfuzz
