#include "harness/generate/plan.h"

#include <algorithm>
#include <numeric>

#include "harness/generate/parameters.h"

namespace normfuzz {
namespace {

// Rows are the last `trailing` dimensions, as in layer_norm.
Geometry trailing_dimensions(Stream s, Extent extent, Case& c) {
  const std::uint64_t p = s.below(100), q = s.below(100);
  int leading = p < 62 ? 1 : p < 84 ? 2 : p < 94 ? 3 : 4;
  if (extent.rows == 1 && s.chance(30)) leading = 0;
  const int trailing = std::min(q < 80 ? 1 : q < 94 ? 2 : 3, 5 - leading);
  std::vector<std::int64_t> shape = split_extent(s, extent.rows, leading);
  const std::vector<std::int64_t> row_shape = split_extent(s, extent.cols, trailing);
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  // -1 is the default and mostly left out; positive axes mean the same as negative ones.
  const bool positive = s.chance(15), explicit_default = s.chance(20);
  if (trailing > 1 || positive || explicit_default) c.params["normalized_axis"] = static_cast<std::int64_t>(positive ? leading : -trailing);
  return {std::move(shape), leading, RowView({{extent.rows, extent.cols}}, {{extent.cols, 1}}), row_shape};
}

// `outer` with the columns as dimension `axis`.
Geometry with_axis(const std::vector<std::int64_t>& outer, std::size_t axis, std::int64_t cols) {
  std::vector<std::int64_t> shape = outer;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), cols);
  const auto strides = dense_strides(shape);
  std::vector<Axis> outer_axes, inner_axes;
  for (std::size_t i = 0; i < shape.size(); ++i) (i == axis ? inner_axes : outer_axes).push_back({shape[i], strides[i]});
  return {std::move(shape), static_cast<int>(axis), RowView(std::move(outer_axes), std::move(inner_axes)), {cols}};
}

// A row lies along one dimension, often not the last one: rows are not contiguous then.
Geometry one_dimension(Stream s, Extent extent, Case& c) {
  const std::uint64_t p = s.below(100);
  int outer = p < 50 ? 1 : p < 75 ? 2 : p < 90 ? 3 : 4;
  if (extent.rows == 1 && s.chance(40)) outer = 0;
  const std::vector<std::int64_t> outer_shape = split_extent(s, extent.rows, outer);
  const int axis = s.chance(50) ? outer : static_cast<int>(s.below(static_cast<std::uint64_t>(outer) + 1));
  const bool positive = s.chance(40), explicit_default = s.chance(30);
  if (axis != outer || positive || explicit_default) c.params["axis"] = static_cast<std::int64_t>(positive ? axis : axis - outer - 1);
  return with_axis(outer_shape, static_cast<std::size_t>(axis), extent.cols);
}

// Channels of images: dimension 1 of nchw (of rank 3, CHW: 0), the last one of nhwc. The memory of an nchw tensor may be channels-last.
Geometry channels(Stream s, Extent extent, Case& c) {
  const std::uint64_t p = s.below(100);
  const int rank = p < 12 ? 2 : p < 32 ? 3 : p < 86 ? 4 : 5;
  const std::vector<std::int64_t> outer_shape = split_extent(s, extent.rows, rank - 1);
  const bool last = s.chance(45), explicit_default = s.chance(60);
  if (last)
    c.params["layout"] = std::string("nhwc");
  else if (explicit_default)
    c.params["layout"] = std::string("nchw");
  const std::size_t axis = last ? static_cast<std::size_t>(rank) - 1 : rank == 3 ? 0 : 1;
  Geometry g = with_axis(outer_shape, axis, extent.cols);
  if (!last && s.chance(12)) {
    g.memory_order = {axis};
    for (std::size_t i = static_cast<std::size_t>(rank); i-- > 0;)
      if (i != axis) g.memory_order.push_back(i);
  }
  return g;
}

// Batches of images, [N, C, positions..] or [N, positions.., C]. `samples` times the channels' `groups` rows of `members` channels each.
Geometry images(Stream& s, Case& c, std::int64_t samples, std::int64_t groups, std::int64_t members, std::int64_t positions, int least_rank,
                bool batch_in_row = false) {
  const std::uint64_t p = s.below(100);
  int rank = p < 15 ? 2 : p < 45 ? 3 : p < 88 ? 4 : 5;
  if (positions > 1) rank = std::max(rank, 3);
  rank = std::max(rank, least_rank);
  const bool last = s.chance(40), explicit_default = s.chance(40);
  if (last)
    c.params["layout"] = std::string("nhwc");
  else if (explicit_default)
    c.params["layout"] = std::string("nchw");
  std::vector<std::int64_t> shape = rank > 2 ? split_extent(s, positions, rank - 2) : std::vector<std::int64_t>{};
  const std::size_t channel = last ? static_cast<std::size_t>(rank) - 1 : 1;
  shape.insert(shape.begin(), samples);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(channel), groups * members);
  const auto strides = dense_strides(shape);
  std::vector<Axis> outer, inner;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == channel) {
      outer.push_back({groups, members * strides[i]});
      inner.push_back({members, strides[i]});
    } else {
      (i == 0 && !batch_in_row ? outer : inner).push_back({shape[i], strides[i]});
    }
  }
  // Dimensions before the first one that a row goes along.
  const int leading = batch_in_row ? 0 : last || members > 1 ? 1 : 2;
  Geometry g{shape, leading, RowView(std::move(outer), std::move(inner)), {groups * members}, {}, {}};
  if (!last && rank > 2 && s.chance(12)) {  // channels last in memory
    g.memory_order = {channel};
    for (std::size_t i = static_cast<std::size_t>(rank); i-- > 0;)
      if (i != channel) g.memory_order.push_back(i);
  }
  return g;
}

// A divisor of n: 1, n, or what one factor of a random split is.
std::int64_t draw_divisor(Stream& s, std::int64_t n) {
  const std::uint64_t kind = s.below(100);
  const std::vector<std::int64_t> parts = split_extent(s, n, 2);
  return kind < 20 ? 1 : kind < 40 ? n : parts[s.below(2)];
}

// Rows are groups of channels: one group and one channel per group are both common.
Geometry channel_groups(Stream s, Extent extent, Case& c) {
  const std::int64_t groups = draw_divisor(s, extent.rows), members = draw_divisor(s, extent.cols);
  c.params["groups"] = groups;
  return images(s, c, extent.rows / groups, groups, members, extent.cols / members, 2);
}

// Rows are the positions of one channel of one sample.
Geometry single_channels(Stream s, Extent extent, Case& c) {
  const std::int64_t channels = draw_divisor(s, extent.rows);
  return images(s, c, extent.rows / channels, channels, 1, extent.cols, 3);
}

// Rows are one channel of all samples.
Geometry channels_of_batch(Stream s, Extent extent, Case& c) {
  const std::int64_t samples = draw_divisor(s, extent.cols);
  return images(s, c, samples, extent.rows, 1, extent.cols / samples, 2, true);
}

// With a running variance, which a channel of one number has no sample of.
Geometry channels_of_running_batch(Stream s, Extent extent, Case& c) {
  if (extent.cols < 2) c.params["variance"] = std::string("population");
  return channels_of_batch(s, extent, c);
}

// Rows are the heads of q; k has as many heads, one, or another number.
Geometry query_heads(Stream s, Extent extent, Case&) {
  const std::vector<std::int64_t> outer = split_extent(s, extent.rows, 3);
  const std::uint64_t kind = s.below(100), other = s.below(4);
  const std::int64_t key_heads = kind < 40 ? outer[2] : kind < 70 ? 1 : static_cast<std::int64_t>(1 + other);
  Geometry g{
      {outer[0], outer[1], outer[2], extent.cols}, 3, RowView({{extent.rows, extent.cols}}, {{extent.cols, 1}}), {extent.cols}, {}, {}};
  g.second_shape = {outer[0], outer[1], key_heads, extent.cols};
  return g;
}

// Rows are the last dimension.
Geometry last_dimension(Stream s, Extent extent, Case&) {
  const int leading = static_cast<int>(1 + s.below(3));
  std::vector<std::int64_t> shape = split_extent(s, extent.rows, leading);
  shape.push_back(extent.cols);
  return {std::move(shape), leading, RowView({{extent.rows, extent.cols}}, {{extent.cols, 1}}), {extent.cols}, {}, {}};
}

}  // namespace

const std::vector<OpPlan>& op_plans() {
  constexpr InputPlan kX{"x", Role::kRows}, kDy{"dy", Role::kCotangent}, kWeight{"weight", Role::kWeight},
      kPresentWeight{.name = "weight", .role = Role::kWeight, .required = true}, kBias{"bias", Role::kBias, 45},
      kRareBias{"bias", Role::kBias, 92}, kRunningMean{"running_mean", Role::kRunningMean},
      kRunningVariance{"running_var", Role::kRunningVariance}, kResidual{"residual", Role::kSecondRows}, kQ{"q", Role::kRows},
      kK{"k", Role::kKeys}, kQWeight{"q_weight", Role::kWeight}, kKWeight{"k_weight", Role::kWeight}, kA{"a", Role::kRows},
      kB{"b", Role::kSecondRows};
  static const std::vector<OpPlan> plans = {
      {"layer_norm", {kX, kWeight, kBias}, trailing_dimensions, layer_norm_parameters},
      {"rms_norm", {kX, kWeight, kRareBias}, trailing_dimensions, rms_norm_parameters},
      {"channel_layer_norm", {kX, kWeight, kBias}, channels, layer_norm_parameters, Sizes::kSpatial},
      {"lp_norm", {kX}, one_dimension, lp_norm_parameters, Sizes::kSmall},
      {"rms", {kX}, one_dimension, rms_parameters, Sizes::kSmall},
      {"distance", {kA, kB}, one_dimension, lp_norm_parameters, Sizes::kSmall},
      {"cosine", {kA, kB}, one_dimension, cosine_parameters, Sizes::kSmall},
      {"lp_normalize", {kX}, one_dimension, lp_normalize_parameters, Sizes::kSmall},
      {"layer_norm_backward", {kX, kDy, kWeight}, trailing_dimensions, layer_norm_parameters, Sizes::kSmall},
      {"rms_norm_backward", {kX, kDy, kWeight}, trailing_dimensions, rms_norm_parameters, Sizes::kSmall},
      {"channel_layer_norm_backward", {kX, kDy, kWeight}, channels, layer_norm_parameters, Sizes::kSpatial},
      {"layer_norm_sgd", {kX, kDy, kPresentWeight, kBias}, trailing_dimensions, layer_norm_sgd_parameters, Sizes::kSmall},
      {"rms_norm_sgd", {kX, kDy, kPresentWeight}, trailing_dimensions, rms_norm_sgd_parameters, Sizes::kSmall},
      {"channel_layer_norm_sgd", {kX, kDy, kPresentWeight, kBias}, channels, layer_norm_sgd_parameters, Sizes::kSpatial},
      {"group_norm", {kX, kWeight, kBias}, channel_groups, layer_norm_parameters, Sizes::kSpatial},
      {"instance_norm", {kX, kWeight, kBias}, single_channels, layer_norm_parameters, Sizes::kSpatial},
      {"batch_norm", {kX, kWeight, kBias, kRunningMean, kRunningVariance}, channels_of_running_batch, batch_norm_parameters, Sizes::kSmall},
      {"add_rms_norm", {kX, kResidual, kWeight}, last_dimension, rms_norm_parameters, Sizes::kSmall},
      {"qk_norm", {kQ, kK, kQWeight, kKWeight}, query_heads, layer_norm_parameters, Sizes::kSmall},
      {"group_norm_backward", {kX, kDy, kWeight}, channel_groups, layer_norm_parameters, Sizes::kSpatial},
      {"instance_norm_backward", {kX, kDy, kWeight}, single_channels, layer_norm_parameters, Sizes::kSpatial},
      {"batch_norm_backward", {kX, kDy, kWeight}, channels_of_batch, layer_norm_parameters, Sizes::kSmall},
      {"layer_norm_graph", {kX, kWeight, kBias}, last_dimension, layer_norm_graph_parameters, Sizes::kSmall},
  };
  return plans;
}

const OpPlan* find_plan(std::string_view op) {
  const auto& plans = op_plans();
  const auto it = std::find_if(plans.begin(), plans.end(), [&](const OpPlan& p) { return p.name == op; });
  return it == plans.end() ? nullptr : &*it;
}

Extent draw_op_extent(const Stream& root, const OpPlan& plan, const Regime& regime, const GeneratorOptions& options) {
  if (plan.sizes == Sizes::kAll) return draw_extent(root.sub("extent"), regime, options);
  // Powers of two, so that a width cut to the limit is still one that a vector loop ends at. The mean stays below 300 elements.
  Stream s = root.sub("size limit");
  const std::uint64_t p = s.below(1000);
  std::int64_t limit = p < 750 ? 256 : p < 950 ? 1024 : p < 996 ? 4096 : 65536;
  limit = std::min(std::max(limit, regime.cols * std::max<std::int64_t>(2, regime.min_rows)), options.max_elements);
  GeneratorOptions limited = options;
  limited.max_elements = limit;
  Extent e = draw_extent(root.sub("extent"), regime, limited);
  if (e.rows < regime.min_rows && limit >= regime.min_rows) {  // one row was all that the limit left
    e.rows = regime.min_rows;
    e.cols = std::min(e.cols, limit / e.rows);
  }
  if (plan.sizes == Sizes::kSpatial && e.rows < 4 && s.chance(70)) {
    const std::int64_t positions = s.between(2, 12);
    if (e.rows * e.cols * positions <= limit) e.rows *= positions;
  }
  return e;
}

}  // namespace normfuzz
