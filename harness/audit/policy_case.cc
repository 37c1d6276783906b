// The inputs of a test policy.
#include <algorithm>
#include <limits>

#include "harness/audit/policy.h"
#include "harness/generate/stream.h"

namespace normfuzz {
namespace {

double as_float(double v) { return static_cast<double>(static_cast<float>(v)); }

// Draws the tensors of one case.
class Inputs {
 public:
  Inputs(const TestPolicy& policy, Stream root, DType dtype, std::int64_t hidden, Case& c)
      : policy_(policy), root_(root), dtype_(dtype), hidden_(hidden), case_(c) {}

  // By the policy's inputs: rows, cotangents, residuals.
  void rows(const char* name, const std::vector<std::int64_t>& shape) {
    Stream s = root_.sub(name);
    const double scale = policy_.scale_by_width ? policy_.scale / (2 * static_cast<double>(hidden_)) : policy_.scale;
    Tensor t = Tensor::zeros(dtype_, shape);
    for (std::int64_t i = 0; i < t.size(); ++i) t.set_value(i, policy_.mean + scale * draw(s, i));
    case_.set_input(name, std::move(t));
  }
  // mean + deviation N(0, 1), in eighths where the inputs are integers, so that sums stay exact there.
  void parameter(const char* name, std::int64_t count, double mean, double deviation) {
    Stream s = root_.sub(name);
    Tensor t = Tensor::zeros(dtype_, {count});
    const bool eighths = policy_.inputs == InputPolicy::kIntegers;
    for (std::int64_t i = 0; i < count; ++i)
      t.set_value(i, eighths ? mean + static_cast<double>(s.between(-4, 4)) / 8 : mean + deviation * s.gaussian());
    case_.set_input(name, std::move(t));
  }
  void affine(std::int64_t count, bool with_bias) {
    parameter("weight", count, 1, 0.1);
    if (with_bias) parameter("bias", count, 0, 0.1);
  }
  // Positive, as variances are.
  void variance(const char* name, std::int64_t count) {
    Stream s = root_.sub(name);
    Tensor t = Tensor::zeros(dtype_, {count});
    for (std::int64_t i = 0; i < count; ++i) t.set_value(i, 0.5 + s.uniform());
    case_.set_input(name, std::move(t));
  }

 private:
  double draw(Stream& s, std::int64_t i) const {
    switch (policy_.inputs) {
      case InputPolicy::kRandn:
        return s.gaussian();
      case InputPolicy::kUniform:
        return s.uniform();
      case InputPolicy::kIntegers:
        return static_cast<double>(s.between(-8, 8));
      case InputPolicy::kArange:
        return 0.1 * static_cast<double>(i % hidden_);
    }
    return 0;
  }

  const TestPolicy& policy_;
  Stream root_;
  DType dtype_;
  std::int64_t hidden_;
  Case& case_;
};

constexpr std::int64_t kChannels = 64, kGroups = 32, kHead = 64;

struct Sizes {
  std::int64_t batch, hidden;
  std::uint64_t index;
};

// Images: `hidden` elements a sample over 64 channels; channel LayerNorm has `hidden` channels at four positions.
void images(std::string_view op, const Sizes& s, Inputs& in, Case& c) {
  const bool channels = op.starts_with("channel_"), backward = op.ends_with("_backward") || op.ends_with("_sgd");
  const std::int64_t positions = std::max<std::int64_t>(2, s.hidden / kChannels);
  const std::vector<std::int64_t> shape = channels ? std::vector<std::int64_t>{std::max<std::int64_t>(1, s.batch / 4), s.hidden, 2, 2}
                                                   : std::vector<std::int64_t>{s.batch, kChannels, positions};
  in.rows("x", shape);
  if (backward) in.rows("dy", shape);
  in.affine(shape[1], !backward || op.ends_with("_sgd"));
  if (op.starts_with("group_norm")) c.params["groups"] = kGroups;
  if (op != "batch_norm") return;
  const bool training = s.index % 2 == 0;
  c.params["training"] = std::int64_t{training};
  in.parameter("running_mean", kChannels, 0, 0.1);
  in.variance("running_var", kChannels);
  if (!training) return;
  c.params["momentum"] = as_float(0.1);
  c.params["variance"] = std::string("sample");
}

void rows(std::string_view op, const Sizes& s, Inputs& in) {
  const bool backward = op.ends_with("_backward"), update = op.ends_with("_sgd");
  in.rows("x", {s.batch, s.hidden});
  if (backward || update) in.rows("dy", {s.batch, s.hidden});
  if (op == "add_rms_norm") in.rows("residual", {s.batch, s.hidden});
  in.affine(s.hidden, update ? op.starts_with("layer_norm") : op == "layer_norm" || op == "layer_norm_graph");
}

// Norms, lengths and cosines: p in turn 2, 1 and infinity, epsilons as PyTorch's normalize and cosine_similarity have them.
void vectors(std::string_view op, const Sizes& s, Inputs& in, Case& c) {
  const bool pair = op == "distance" || op == "cosine";
  in.rows(pair ? "a" : "x", {s.batch, s.hidden});
  if (pair) in.rows("b", {s.batch, s.hidden});
  if (op == "rms") c.params["epsilon"] = as_float(1e-5);
  if (op == "cosine" || op == "lp_normalize") {
    c.params["epsilon_mode"] = std::string("max_norm");
    c.params["epsilon"] = as_float(op == "cosine" ? 1e-8 : 1e-12);
  }
  if (op == "rms" || op == "cosine") return;
  const std::uint64_t turn = s.index % 3;
  c.params["p"] = turn == 0 ? 2.0 : turn == 1 ? 1.0 : std::numeric_limits<double>::infinity();
}

void heads(const Sizes& s, Inputs& in) {
  const std::int64_t count = std::max<std::int64_t>(1, s.hidden / kHead);
  in.rows("q", {s.batch, 1, count, kHead});
  in.rows("k", {s.batch, 1, std::max<std::int64_t>(1, count / 4), kHead});
  in.parameter("q_weight", kHead, 1, 0.1);
  in.parameter("k_weight", kHead, 1, 0.1);
}

template <class List>
std::int64_t pick(Stream s, const List& list) {
  return list[s.below(list.size())];
}

}  // namespace

Case policy_case(const TestPolicy& policy, std::uint64_t seed, std::string_view op, DType dtype, std::uint64_t index) {
  const Stream root = Stream(mix_bits(seed)).sub("audit").sub(op).sub(name_of(dtype)).sub(index);
  Case c;
  c.op = op;
  const std::int64_t hidden = pick(root.sub("hidden"), policy.hidden);
  const std::int64_t rows_at_most = std::max<std::int64_t>(1, kPolicyElements / hidden);
  const Sizes sizes{std::min(pick(root.sub("batch"), policy.batch), rows_at_most), hidden, index};
  Inputs in(policy, root, dtype, hidden, c);
  if (op == "lp_norm" || op == "rms" || op == "distance" || op == "cosine" || op == "lp_normalize") {
    vectors(op, sizes, in, c);
    return c;
  }
  c.params["epsilon"] = as_float(policy.epsilon);
  if (op.ends_with("_sgd")) c.params["learning_rate"] = as_float(0.1);
  if (op == "qk_norm")
    heads(sizes, in);
  else if (op.starts_with("layer_norm") || op.starts_with("rms_norm") || op == "add_rms_norm")
    rows(op, sizes, in);
  else
    images(op, sizes, in, c);
  return c;
}

}  // namespace normfuzz
