// The scalar parameters of each op.
#include <limits>

#include "harness/generate/activations.h"
#include "harness/generate/magnitude.h"
#include "harness/generate/parameters.h"

namespace normfuzz {
namespace {

constexpr int kFloatPrecision = 24;

double draw_affine_epsilon(const Stream& root, const Regime& regime, Case& c) {
  double epsilon = draw_epsilon(root.sub("epsilon"), regime.epsilon);
  if (regime.real_parameters && root.sub("real epsilon").chance(50)) epsilon = static_cast<double>(static_cast<float>(kActivationEpsilon));
  c.params["epsilon"] = epsilon;
  return epsilon;
}

// Rates in use, powers of two (exact products), zero (nothing may move), or any float32 number of 2^-20 .. 2^4.
void draw_learning_rate(Stream s, Case& c) {
  const std::uint64_t kind = s.below(100);
  double rate = 0;
  if (kind < 25)
    rate = static_cast<double>(1e-3F);
  else if (kind < 45)
    rate = static_cast<double>(0.1F);
  else if (kind < 60)
    rate = 1;
  else if (kind < 75)
    rate = power_of_two(-static_cast<int>(s.between(1, 20)));
  else if (kind < 92)
    rate = s.log_uniform(-20, 3, kFloatPrecision);
  c.params["learning_rate"] = rate;
}

// 2 is the default and sometimes left out.
double draw_exponent(Stream s, Case& c) {
  const std::uint64_t kind = s.below(100);
  double p = 2;
  if (kind < 10) return p;
  if (kind < 40)
    p = 2;
  else if (kind < 64)
    p = 1;
  else if (kind < 80)
    p = std::numeric_limits<double>::infinity();
  else if (kind < 95)
    p = s.pick({3.0, 1.5, 4.0, 2.5, 1.25, 8.0, 5.0, 10.0});
  else
    p = s.log_uniform(0, 3, kFloatPrecision);  // 1 .. 16
  c.params["p"] = p;
  return p;
}

}  // namespace

double layer_norm_parameters(const Stream& root, const Regime& regime, Case& c) { return draw_affine_epsilon(root, regime, c); }

double layer_norm_sgd_parameters(const Stream& root, const Regime& regime, Case& c) {
  draw_learning_rate(root.sub("learning_rate"), c);
  return draw_affine_epsilon(root, regime, c);
}

double layer_norm_graph_parameters(const Stream& root, const Regime& regime, Case& c) {
  c.params["pattern"] = std::string(root.sub("pattern").pick({"exact", "exponent_4", "exponent_4", "swapped_sub", "swapped_div"}));
  return draw_affine_epsilon(root, regime, c);
}

double rms_norm_parameters(const Stream& root, const Regime& regime, Case& c) {
  if (root.sub("weight_offset").chance(20)) c.params["weight_offset"] = 1.0;
  return draw_affine_epsilon(root, regime, c);
}

double rms_norm_sgd_parameters(const Stream& root, const Regime& regime, Case& c) {
  draw_learning_rate(root.sub("learning_rate"), c);
  return rms_norm_parameters(root, regime, c);
}

// Training in 60 of 100, mostly with running statistics to move; momenta in use, the ends, or any.
double batch_norm_parameters(const Stream& root, const Regime& regime, Case& c) {
  Stream s = root.sub("training");
  const bool training = s.chance(60), left_out = s.chance(50);
  if (training || !left_out) c.params["training"] = std::int64_t{training};
  Stream m = root.sub("momentum");
  const std::uint64_t kind = m.below(100);
  const double any = m.log_uniform(-20, -1, kFloatPrecision);  // below 1
  const double momentum = kind < 45   ? static_cast<double>(0.1F)
                          : kind < 60 ? static_cast<double>(0.01F)
                          : kind < 68 ? 0.5
                          : kind < 74 ? 1
                          : kind < 79 ? 0
                                      : any;
  const bool sample = m.chance(60), named = m.chance(70);
  if (training) {
    c.params["momentum"] = momentum;
    if (!c.params.count("variance") && (sample || named)) c.params["variance"] = std::string(sample ? "sample" : "population");
  } else {
    c.params.erase("variance");
  }
  return draw_affine_epsilon(root, regime, c);
}

double lp_norm_parameters(const Stream& root, const Regime& regime, Case& c) {
  draw_exponent(root.sub("p"), c);
  return draw_epsilon(root.sub("epsilon"), regime.epsilon);  // the op has none; rows of any scale
}

// A plain root mean square in half of the cases.
double rms_parameters(const Stream& root, const Regime& regime, Case& c) {
  const double epsilon = draw_epsilon(root.sub("epsilon"), regime.epsilon);
  Stream s = root.sub("without epsilon");
  const bool without = s.chance(50), left_out = s.chance(60);
  if (!without || !left_out) c.params["epsilon"] = without ? 0.0 : epsilon;
  return epsilon;
}

// Each length at least epsilon: a row beside epsilon has a root mean square beside it, whose square is what the rows are drawn by.
double cosine_parameters(const Stream& root, const Regime& regime, Case& c) {
  const double epsilon = draw_epsilon(root.sub("epsilon"), regime.epsilon);
  Stream s = root.sub("epsilon_mode");
  const bool none = s.chance(35), left_out = s.chance(60);
  if (none) {
    if (!left_out) c.params["epsilon_mode"] = std::string("none");
    return epsilon;
  }
  c.params["epsilon_mode"] = std::string("max_norm");
  c.params["epsilon"] = epsilon;
  return epsilon * epsilon;
}

double lp_normalize_parameters(const Stream& root, const Regime& regime, Case& c) {
  const double p = draw_exponent(root.sub("p"), c), epsilon = draw_epsilon(root.sub("epsilon"), regime.epsilon);
  Stream s = root.sub("epsilon_mode");
  const std::uint64_t kind = s.below(100);
  const bool left_out = s.chance(60);
  const char* mode = "none";
  if (p == 2)  // inside the root only there (oracles/ops/geometry.cc)
    mode = kind < 25 ? "none" : kind < 45 ? "add_inside" : kind < 60 ? "add_outside" : kind < 85 ? "max_norm" : "max_square";
  else
    mode = kind < 40 ? "none" : kind < 60 ? "add_outside" : "max_norm";
  const std::string_view chosen = mode;
  if (chosen == "none") {
    if (!left_out) c.params["epsilon_mode"] = std::string(chosen);
    return epsilon;
  }
  c.params["epsilon_mode"] = std::string(chosen);
  c.params["epsilon"] = epsilon;
  return chosen == "add_inside" || chosen == "max_square" ? epsilon : epsilon * epsilon;
}

}  // namespace normfuzz
