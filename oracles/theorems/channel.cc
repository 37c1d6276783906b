// chan.*: channel LayerNorm is row LayerNorm read through a permutation; forward, gradients and fused updates.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "oracles/theorems/relations.h"

namespace normfuzz {
namespace theorems {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 16;  // elements of a case that is run several times and judged with MPFR

bool small_and_finite(const Case& base, const PropertyArgs&) {
  return base.input("x") && base.input("x")->size() <= kLargest && base.input("x")->size() > 0 && finite_inputs(base);
}

// ---- the transposed view ----

Tensor rows_first(const Tensor& t, const RowView& view, std::span<const std::int64_t> rows) {
  Tensor out = Tensor::zeros(t.dtype, {static_cast<std::int64_t>(rows.size()), view.cols()});
  std::int64_t at = 0;
  for (const std::int64_t r : rows)
    for (std::int64_t i = 0; i < view.cols(); ++i, ++at) out.set_bits(at, t.bits(view.index(r, i)));
  return out;
}
std::vector<std::int64_t> in_order(const RowView& view) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(view.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}
// The call of `op` (a layer_norm of some kind) on [rows, channels].
Case row_case(const Case& base, std::string_view op, std::span<const std::int64_t> rows) {
  const RowView view = rows_of(base);
  Case c = bare(base);
  c.op = op;
  c.params.erase("layout");
  c.params.erase("normalized_axis");
  for (auto& [name, t] : c.inputs) {
    if (!t) continue;
    if (name == "x" || name == "dy") {
      t = rows_first(*t, view, rows);
    } else {
      t->shape = {view.cols()};
      t = dense(std::move(*t));
    }
  }
  return c;
}
// Element of the activation to element of the row view.
std::vector<std::int64_t> places(const RowView& view) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(view.rows() * view.cols()));
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i) out[static_cast<std::size_t>(view.index(r, i))] = r * view.cols() + i;
  return out;
}
PlaceOf through(std::vector<std::int64_t> table) {
  return [table = std::move(table)](std::int64_t i) { return table[static_cast<std::size_t>(i)]; };
}

std::vector<Case> derive_rows(const Case& base, const PropertyArgs&) {
  return {row_case(base, base.op.substr(std::string_view("channel_").size()), in_order(rows_of(base)))};
}
PropertyResult check_equals_rows(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const auto place = through(places(rows_of(*runs[0].input)));
  if (runs[0].contract->claimed("channel_equals_rows"))
    if (PropertyResult r = equal_bits(runs[0], runs[1], place, {}, "channel LayerNorm against row LayerNorm"); r.broken > 0) return r;
  return equal_within_bounds(runs[0], runs[1], "channel LayerNorm against row LayerNorm", place);
}
PropertyResult check_rows_oracle(std::span<const PropertyRun> runs, const PropertyArgs&) {
  return equal_enclosures(runs[0], runs[1], "channel LayerNorm against row LayerNorm", through(places(rows_of(*runs[0].input))));
}

// ---- parameters' gradients ----

bool has_weight(const Case& base, const PropertyArgs& args) { return small_and_finite(base, args) && base.input("weight"); }
PropertyResult gradients_equal(std::span<const PropertyRun> runs, std::string_view output) {
  return equal_within_bounds(runs[0], runs[1], "the gradient from the activation against that from the rows", same_place, output);
}

// ---- affine map ----

std::vector<Case> derive_plain(const Case& base, const PropertyArgs&) { return {without_parameters(bare(base))}; }
bool affine_meets(const Case& base, const PropertyArgs& args) {
  return small_and_finite(base, args) && (base.input("weight") || base.input("bias"));
}
PropertyResult check_affine(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const Case& c = *runs[0].input;
  const RowView view = rows_of(c);
  const Tensor &y = runs[0].output("y"), &plain = runs[1].output("y");
  PropertyResult r = vacant();
  for (const std::int64_t row : sampled_rows(view))
    for (std::int64_t i = 0; i < view.cols(); ++i) {
      const std::int64_t at = view.index(row, i);
      const ElementBound *a = usable(runs[0], "y", at), *b = usable(runs[1], "y", at);
      if (!a || !b) continue;
      const Interval weight = exact_weight(c, i);
      compare(r, "y", at, Interval(y.value(at)), weight * Interval(plain.value(at)) + Interval(bias_at(c, i)),
              Interval(a->allowed) + abs(weight) * Interval(b->allowed), y.dtype, "normalize, scale, shift");
    }
  return r;
}

// ---- not the whole map ----

// Statistics over everything but the batch; the weight of an element stays that of its channel.
Case whole_map(const Case& base) {
  const RowView view = rows_of(base);
  const Tensor& x = *base.input("x");
  const std::int64_t batch = x.rank() == 3 ? 1 : x.shape[0], size = x.size() / batch;
  std::vector<std::int64_t> channel(static_cast<std::size_t>(x.size()));
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i) channel[static_cast<std::size_t>(view.index(r, i))] = i;
  Case c = bare(base);
  c.op = "layer_norm";
  c.params.erase("layout");
  for (auto& [name, t] : c.inputs) {
    if (!t) continue;
    if (name == "x") {
      t->shape = {batch, size};
      t = dense(std::move(*t));
      continue;
    }
    Tensor wide = Tensor::zeros(t->dtype, {size});
    for (std::int64_t k = 0; k < size; ++k) wide.set_bits(k, t->bits(channel[static_cast<std::size_t>(k)]));
    t = std::move(wide);
  }
  return c;
}
bool whole_map_meets(const Case& base, const PropertyArgs& args) {
  if (!small_and_finite(base, args) || base.input("x")->rank() < 3) return false;
  const RowView view = rows_of(base);
  const std::int64_t batch = base.input("x")->rank() == 3 ? 1 : base.input("x")->shape[0];
  return view.cols() > 1 && view.rows() > batch;
}
// Elements whose two exact values are farther apart than both bounds decide; broken if they all are the whole map's and none the channels'.
PropertyResult check_not_whole_map(std::span<const PropertyRun> runs, const PropertyArgs&) {
  const PropertyRun& run = runs[0];
  const Case other = whole_map(*run.input);
  CaseBounds bounds(other, *run.contract);
  const PropertyRun wrong{&other, run.outputs, run.contract, &bounds};
  const Tensor& y = run.output("y");
  PropertyResult r = vacant();
  std::int64_t decisive = 0;
  for (const std::int64_t at : sampled_elements(*run.input, "y")) {
    const ElementBound *a = usable(run, "y", at), *b = usable(wrong, "y", at);
    if (!a || !b) continue;
    const Interval both = Interval(a->allowed) + Interval(b->allowed) + Interval(a->error) + Interval(b->error);
    if (!beyond(exact_of(*a) - exact_of(*b), both)) continue;
    ++decisive;
    const double got = y.value(at);
    if (beyond(Interval(got) - exact_of(*b), Interval(b->allowed) + Interval(b->error))) {
      PropertyResult fine;
      return fine;  // not the whole map's value: whatever it is, it is not this bug
    }
    add(r, PropertyKind::kBound, {"y", at, got, a->head, a->allowed, in_ulps(got - a->head, a->head, y.dtype)});
  }
  if (decisive > 0) r.detail = fmt::format("matches whole-map LayerNorm at all {} elements that tell it from channel LayerNorm", decisive);
  return r;
}

// ---- permutations of rows ----

std::vector<std::int64_t> permutation(const RowView& view, const PropertyArgs& args) {
  std::vector<std::int64_t> rows = in_order(view);
  Draw draw(static_cast<std::uint64_t>(integer_arg(args, "seed").value_or(0)));
  for (std::int64_t i = view.rows() - 1; i > 0; --i)
    std::swap(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(draw.between(0, i))]);
  return rows;
}
bool permutation_meets(const Case& base, const PropertyArgs& args) {
  return integer_arg(args, "seed") && small_and_finite(base, args) && rows_of(base).rows() > 1;
}
std::optional<PropertyArgs> choose_permutation(const Case& base, std::uint64_t state) {
  PropertyArgs args = {{"seed", std::to_string(Draw(state).next() >> 32)}};
  return permutation_meets(base, args) ? std::optional<PropertyArgs>(std::move(args)) : std::nullopt;
}
std::vector<Case> derive_permuted(const Case& base, const PropertyArgs& args) {
  const RowView view = rows_of(base);
  return {row_case(base, base.op, in_order(view)), row_case(base, base.op, permutation(view, args))};
}
// Contracting the reindexed Jacobian with a cotangent is contracting the Jacobian with the cotangent reindexed the other way.
PropertyResult check_permuted(std::span<const PropertyRun> runs, const PropertyArgs& args) {
  const RowView view = rows_of(*runs[1].input);
  const std::vector<std::int64_t> rows = permutation(view, args);
  std::vector<std::int64_t> place(static_cast<std::size_t>(view.rows() * view.cols()));
  for (std::size_t to = 0; to < rows.size(); ++to)
    for (std::int64_t i = 0; i < view.cols(); ++i)
      place[static_cast<std::size_t>(rows[to] * view.cols() + i)] = static_cast<std::int64_t>(to) * view.cols() + i;
  PropertyResult r = equal_enclosures(runs[1], runs[2], "dx of permuted rows", through(std::move(place)), "dx");
  if (r.broken > 0 || !runs[1].input->input("weight")) return r;
  PropertyResult sums = equal_enclosures(runs[1], runs[2], "dweight of permuted rows", same_place, "dweight");
  return sums.broken > 0 || r.state == PropertyResult::State::kVoid ? sums : r;
}

// ---- fused updates ----

bool update_meets(const Case& base, const PropertyArgs& args) { return has_weight(base, args) && base.input("dy"); }
bool bias_update_meets(const Case& base, const PropertyArgs& args) { return update_meets(base, args) && base.input("bias"); }
std::vector<Case> derive_backward(const Case& base, const PropertyArgs&) {
  Case c = bare(base);
  c.op = c.op.substr(0, c.op.size() - std::string_view("_sgd").size()) + "_backward";
  c.params.erase("learning_rate");
  std::erase_if(c.inputs, [](const auto& input) { return input.first == "bias"; });
  return {std::move(c)};
}
PropertyResult check_update(std::span<const PropertyRun> runs, std::string_view parameter) {
  const std::string updated = std::string(parameter) + "_new", gradient = "d" + std::string(parameter);
  const Case& c = *runs[0].input;
  const Tensor &before = *c.input(parameter), &after = runs[0].output(updated), &slope = runs[1].output(gradient);
  const Interval rate(c.number("learning_rate", 0));
  PropertyResult r = vacant();
  for (std::int64_t i = 0, n = std::min<std::int64_t>(after.size(), 1024); i < n; ++i) {
    const ElementBound *a = usable(runs[0], updated, i), *b = usable(runs[1], gradient, i);
    if (!a || !b) continue;
    compare(r, updated, i, Interval(after.value(i)), Interval(before.value(i)) - rate * Interval(slope.value(i)),
            Interval(a->allowed) + abs(rate) * Interval(b->allowed), after.dtype, "the update against the gradient");
  }
  return r;
}

// ---- one feature ----

bool one_feature_meets(const Case& base, const PropertyArgs& args) {
  return base.input("x") && rows_of(base).cols() == 1 && base.epsilon() > 0 && small_and_finite(base, args);
}
bool one_feature_weight_meets(const Case& base, const PropertyArgs& args) { return one_feature_meets(base, args) && base.input("weight"); }

// The public repro's sizes, x [1, 1] and parameters [1], from the first numbers of the case.
Case single(const Case& base, std::string_view op) {
  Case c;
  c.op = op;
  c.params["epsilon"] = base.epsilon();
  c.provenance = base.provenance;
  const auto one = [&](const char* from, std::vector<std::int64_t> shape) {
    Tensor t = Tensor::zeros(base.dtype(), std::move(shape));
    const Tensor* source = base.input(from);
    t.set_value(0, source ? source->value(0) : 1);
    return t;
  };
  c.set_input("x", one("x", {1, 1}));
  if (op == "layer_norm_backward") c.set_input("dy", one("dy", {1, 1}));
  c.set_input("weight", one("weight", {1}));
  if (op == "layer_norm") c.set_input("bias", one("dy", {1}));
  return c;
}
bool spec_meets(const Case& base, const PropertyArgs& args) {
  return small_and_finite(base, args) && base.input("dy") && base.epsilon() > 0;
}
std::vector<Case> derive_spec(const Case& base, const PropertyArgs&) {
  return {single(base, "layer_norm"), single(base, "layer_norm_backward")};
}
// y = bias, dx = 0, dweight = 0, dbias = dy: within the bounds; each is exact by its own law (ln.one_feature_*).
PropertyResult check_spec(std::span<const PropertyRun> runs, const PropertyArgs&) {
  PropertyResult r = vacant();
  const DType d = runs[0].input->dtype();
  const auto is = [&](const PropertyRun& run, std::string_view output, double expected) {
    const ElementBound* b = usable(run, output, 0);
    if (b) compare(r, output, 0, Interval(run.output(output).value(0)), Interval(expected), Interval(b->allowed), d, "one feature");
  };
  is(runs[1], "y", runs[1].input->input("bias")->value(0));
  is(runs[2], "dx", 0);
  is(runs[2], "dweight", 0);
  is(runs[2], "dbias", runs[2].input->input("dy")->value(0));
  return r;
}

}  // namespace
}  // namespace theorems

using namespace theorems;

extern const Property kOneFeatureDweight = {
    .id = "ln.one_feature_dweight",
    .lean = "one_feature_layernorm_scale_grad_contract",
    .source = "seed 001",
    .premises = "n = 1; all inputs finite; epsilon > 0; the contract excludes folding and one-pass moments",
    .statement = "dweight = 0 exactly",
    .does_not_prove = "anything about rows of more than one feature",
    .caught = "kernel of the tests with a folded backward",
    .kind = PropertyKind::kExact,
    .ops = {"layer_norm_backward", "channel_layer_norm_backward"},
    .regimes = {"one_feature"},
    .elsewhere = "harness/judge.cc, on every case",
    .choose = choose_if<one_feature_weight_meets>,
    .meets = one_feature_weight_meets,
};

extern const Property kOneFeatureDx = {
    .id = "ln.one_feature_dx",
    .lean = "one_feature_layernorm_input_grad_contract",
    .source = "seed 001",
    .premises = "n = 1; all inputs finite; epsilon > 0; the contract excludes folding and one-pass moments",
    .statement = "dx = 0 exactly",
    .does_not_prove = "anything about rows of more than one feature",
    .caught = "kernel of the tests with a folded backward",
    .kind = PropertyKind::kExact,
    .ops = {"layer_norm_backward", "channel_layer_norm_backward"},
    .regimes = {"one_feature"},
    .elsewhere = "harness/judge.cc, on every case",
    .choose = choose_if<one_feature_meets>,
    .meets = one_feature_meets,
};

extern const Property kOneFeatureSpec = {
    .id = "ln.one_feature_spec_values",
    .lean = "one_feature_layernorm_scalar_contract and its gradients",
    .source = "seed 001, the sizes of the public report: [1, 1] and [1]",
    .premises = "all inputs finite; epsilon > 0",
    .statement = "y = bias, dx = 0, dweight = 0, dbias = dy, forward and backward in one entry",
    .does_not_prove = "that the zeros are exact: see ln.one_feature_dx, ln.one_feature_dweight",
    .caught = "kernel whose dbias is 0",
    .kind = PropertyKind::kBound,
    .ops = {"layer_norm_backward"},
    .choose = choose_if<spec_meets>,
    .meets = spec_meets,
    .derive = derive_spec,
    .check = check_spec,
};

extern const Property kChannelEqualsRows = {
    .id = "chan.equals_rows",
    .lean = "chanLNTensor3_eq_rows",
    .source = "seed 002",
    .premises = "all inputs finite",
    .statement =
        "channel LayerNorm on NCHW or NHWC is row LayerNorm on the transposed view, read back: within both bounds; bit for bit "
        "where channel_equals_rows is claimed",
    .does_not_prove = "that row LayerNorm is right",
    .caught = "kernel whose rows of an activation round otherwise",
    .kind = PropertyKind::kBound,
    .claim = "channel_equals_rows",
    .ops = {"channel_layer_norm"},
    .choose = choose_if<small_and_finite>,
    .meets = small_and_finite,
    .derive = derive_rows,
    .check = check_equals_rows,
    .check_oracle = check_rows_oracle,
};

extern const Property kRowAffine = {
    .id = "chan.row_affine",
    .lean = "rowLN_affine_eq",
    .source = "seed 002",
    .premises = "a weight or a bias; all inputs finite",
    .statement = "normalizing without parameters, then scaling, then adding the bias is the normalization with them: within both bounds",
    .does_not_prove = "that the normalized values are right",
    .caught = "mutant shifted_weight",
    .kind = PropertyKind::kBound,
    .ops = {"layer_norm", "rms_norm", "channel_layer_norm"},
    .choose = choose_if<affine_meets>,
    .meets = affine_meets,
    .derive = derive_plain,
    .check = check_affine,
};

extern const Property kNotWholeMap = {
    .id = "chan.not_whole_map",
    .lean = "own",
    .source = "seed 002, the incumbent as control (relative difference 0.82)",
    .premises = "c > 1, h w > 1; the two exact values differ by more than both bounds somewhere; all inputs finite",
    .statement = "channel LayerNorm is not whole-map LayerNorm: a target that matches the latter everywhere they differ has this bug",
    .does_not_prove = "that channel LayerNorm is right: its own bound says that",
    .caught = "mutant whole_map",
    .kind = PropertyKind::kBound,
    .ops = {"channel_layer_norm"},
    .choose = choose_if<whole_map_meets>,
    .meets = whole_map_meets,
    .check = check_not_whole_map,
};

extern const Property kReindexContract = {
    .id = "chan.reindex_contract",
    .lean = "pdiv_reindexOut_contract",
    .source = "seed 002",
    .premises = "more than one row; all inputs finite",
    .statement = "sum_j d(f o sigma)_ij cot_j = sum_o df_io cot(sigma^-1 o) for random permutations of the rows: the enclosures meet",
    .does_not_prove = "anything about a kernel",
    .caught = "oracle whose sum forgets a row",
    .kind = PropertyKind::kOracle,
    .ops = {"layer_norm_backward", "channel_layer_norm_backward"},
    .choose = choose_permutation,
    .meets = permutation_meets,
    .derive = derive_permuted,
    .check_oracle = check_permuted,
};

extern const Property kGammaContract = {
    .id = "chan.gamma_contract",
    .lean = "chanLN_gamma_contract",
    .source = "seed 002",
    .premises = "a weight; all inputs finite",
    .statement = "dweight from the activation layout equals dweight from the row layout within both bounds",
    .does_not_prove = "that either is right",
    .caught = "kernel whose sums over an activation are wrong",
    .kind = PropertyKind::kBound,
    .ops = {"channel_layer_norm_backward"},
    .choose = choose_if<has_weight>,
    .meets = has_weight,
    .derive = derive_rows,
    .check = [](std::span<const PropertyRun> runs, const PropertyArgs&) { return gradients_equal(runs, "dweight"); },
};

extern const Property kBetaContract = {
    .id = "chan.beta_contract",
    .lean = "chanLN_beta_contract",
    .source = "seed 002",
    .premises = "a weight; all inputs finite",
    .statement = "dbias from the activation layout equals dbias from the row layout within both bounds",
    .does_not_prove = "that either is right",
    .caught = "kernel whose sums over an activation are wrong",
    .kind = PropertyKind::kBound,
    .ops = {"channel_layer_norm_backward"},
    .choose = choose_if<has_weight>,
    .meets = has_weight,
    .derive = derive_rows,
    .check = [](std::span<const PropertyRun> runs, const PropertyArgs&) { return gradients_equal(runs, "dbias"); },
};

extern const Property kSgdGamma = {
    .id = "chan.sgd_gamma",
    .lean = "cnx_render_chlngamma_certified",
    .source = "seed 002",
    .premises = "all inputs finite",
    .statement =
        "the fused update of the weight is weight - learning_rate dweight within the update's bound and learning_rate times the "
        "gradient's",
    .does_not_prove = "that the gradient is right",
    .caught = "kernel that steps uphill",
    .kind = PropertyKind::kBound,
    .ops = {"channel_layer_norm_sgd", "layer_norm_sgd", "rms_norm_sgd"},
    .choose = choose_if<update_meets>,
    .meets = update_meets,
    .derive = derive_backward,
    .check = [](std::span<const PropertyRun> runs, const PropertyArgs&) { return check_update(runs, "weight"); },
};

extern const Property kSgdBeta = {
    .id = "chan.sgd_beta",
    .lean = "cnx_render_chlnbeta_certified",
    .source = "seed 002",
    .premises = "a bias; all inputs finite",
    .statement =
        "the fused update of the bias is bias - learning_rate dbias within the update's bound and learning_rate times the gradient's",
    .does_not_prove = "that the gradient is right",
    .caught = "kernel that steps uphill",
    .kind = PropertyKind::kBound,
    .ops = {"channel_layer_norm_sgd", "layer_norm_sgd"},
    .choose = choose_if<bias_update_meets>,
    .meets = bias_update_meets,
    .derive = derive_backward,
    .check = [](std::span<const PropertyRun> runs, const PropertyArgs&) { return check_update(runs, "bias"); },
};

}  // namespace normfuzz
