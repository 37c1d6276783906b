// Statistics taken over the wrong elements.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "harness/explain/alternatives.h"
#include "harness/shrink/edit.h"
#include "oracles/case_bounds.h"
#include "oracles/ops/geometry.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

using Indices = std::vector<std::int64_t>;

// Elements of x that share a statistic, and which element of weight and bias each of them gets.
struct Group {
  Indices elements, parameters;
};

// Position along every dimension.
Indices coordinates(const Tensor& x, std::int64_t index) {
  Indices at(x.shape.size());
  for (std::size_t i = at.size(); i-- > 0; index /= x.shape[i]) at[i] = index % x.shape[i];
  return at;
}

// Elements in logical order, grouped by a key.
std::vector<Group> grouped(const Tensor& x, const auto& key, const auto& parameter) {
  std::map<Indices, Group> groups;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const Indices at = coordinates(x, i);
    Group& g = groups[key(at)];
    g.elements.push_back(i);
    g.parameters.push_back(parameter(at, static_cast<std::int64_t>(g.elements.size()) - 1));
  }
  std::vector<Group> out;
  for (auto& [k, g] : groups) out.push_back(std::move(g));
  return out;
}

// The weight of every element.
Indices own_parameters(const Case& c) {
  const RowView view = view_of(c);
  Indices parameters(static_cast<std::size_t>(main_input(c).size()));
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i) parameters[static_cast<std::size_t>(view.index(r, i))] = view.parameter(r, i);
  return parameters;
}

std::string plain_op(const Case& c) {
  const OpInfo& op = *find_op(c.op);
  return std::string(op.centred() ? "layer_norm" : "rms_norm") + (op.shape == OutputShape::kGradients ? "_backward" : "");
}

// A group as a case of one row.
Case case_of(const Case& c, const Group& g) {
  const auto n = static_cast<std::int64_t>(g.elements.size());
  Case out;
  out.op = plain_op(c);
  for (const char* name : {"epsilon", "weight_offset"})
    if (const auto it = c.params.find(name); it != c.params.end()) out.params.insert(*it);
  for (const auto& [name, t] : c.inputs) {
    if (!t) continue;
    Tensor part = Tensor::zeros(t->dtype, is_row_input(name) ? Indices{1, n} : Indices{n});
    const Indices& from = is_row_input(name) ? g.elements : g.parameters;
    for (std::int64_t i = 0; i < n; ++i) part.set_bits(i, t->bits(from[static_cast<std::size_t>(i)]));
    out.set_input(name, std::move(part));
  }
  return out;
}

// Bounds of y or dx when the groups are the rows.
AlternativeBounds bounds_by_groups(const Case& c, const Contract& contract, std::vector<Group> groups) {
  struct State {
    std::vector<Group> groups;
    std::vector<std::pair<std::int64_t, std::int64_t>> place;  // group and position of every element
    std::map<std::int64_t, std::vector<ElementBound>> bounds;
  };
  auto state = std::make_shared<State>();
  state->place.resize(static_cast<std::size_t>(main_input(c).size()));
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].elements.size(); ++i)
      state->place[static_cast<std::size_t>(groups[g].elements[i])] = {static_cast<std::int64_t>(g), static_cast<std::int64_t>(i)};
  state->groups = std::move(groups);
  return [state, &c, contract](std::string_view output, std::int64_t index) -> std::optional<ElementBound> {
    if (output != "y" && output != "dx") return std::nullopt;
    const auto [group, position] = state->place[static_cast<std::size_t>(index)];
    const auto [it, fresh] = state->bounds.try_emplace(group);
    if (fresh) it->second = slice_bounds(CaseRows(case_of(c, state->groups[static_cast<std::size_t>(group)])), 0, contract);
    return it->second[static_cast<std::size_t>(position)];
  };
}

// A channel op's first dimension is the batch; of rank 3, CHW or HWC, there is none.
bool batched(const Case& c) { return main_input(c).rank() != 3; }
std::int64_t batch_of(const Case& c) { return batched(c) ? main_input(c).shape[0] : 1; }

}  // namespace

std::vector<Alternative> other_rows(const Case& c, const Contract& contract) {
  const OpInfo& op = *find_op(c.op);
  if (!op.affine() || op.shape == OutputShape::kUpdate || op.second_rows || geometry::normalizes_by_running_statistics(c)) return {};
  const Tensor& x = main_input(c);
  const RowKind kind = row_kind(c);
  const int own = row_axis(c), rank = x.rank();
  const auto [rows, cols] = shape_of(c);
  const Indices parameters = own_parameters(c), strides = dense_strides(x.shape);
  const auto own_parameter = [&](const Indices& at, std::int64_t) {
    return parameters[static_cast<std::size_t>(std::inner_product(at.begin(), at.end(), strides.begin(), std::int64_t{0}))];
  };
  std::vector<Alternative> out;
  const auto add = [&](std::string name, const char* family, std::vector<Group> groups) {
    out.push_back({std::move(name), family, bounds_by_groups(c, contract, std::move(groups))});
  };
  if (kind == RowKind::kChannels && rows > batch_of(c)) {  // some space
    add("whole-map LayerNorm", "axis and layout",
        grouped(
            x, [&](const Indices& at) { return batched(c) ? Indices{at[0]} : Indices{}; }, own_parameter));
    // The same memory read as the other layout: of every batch cols x positions instead of positions x cols.
    const std::int64_t positions = rows / batch_of(c), map = positions * cols;
    const bool channels_last = own == rank - 1;
    const auto linear = [&](const Indices& at) { return std::inner_product(at.begin(), at.end(), strides.begin(), std::int64_t{0}); };
    if (cols > 1)
      add(channels_last ? "NHWC read as NCHW" : "NCHW read as NHWC", "axis and layout",
          grouped(
              x,
              [&](const Indices& at) {
                const std::int64_t i = linear(at), in_map = i % map;
                return Indices{i / map, channels_last ? in_map % positions : in_map / cols};
              },
              [&](const Indices&, std::int64_t position) { return position; }));
  }
  if (kind == RowKind::kGroups) {
    const auto channel = static_cast<std::size_t>(own);
    const std::int64_t channels = x.shape[channel], groups = c.integer("groups", channels), members = channels / groups;
    add("channel c in group c modulo the groups", "axis and layout",
        grouped(
            x,
            [&](const Indices& at) {
              return Indices{at[0], at[channel] % groups};
            },
            own_parameter));
    add("statistics over the whole sample", "axis and layout",
        grouped(
            x, [&](const Indices& at) { return Indices{at[0]}; }, own_parameter));
    add("statistics of every channel", "axis and layout",
        grouped(
            x,
            [&](const Indices& at) {
              return Indices{at[0], at[channel]};
            },
            own_parameter));
    add("statistics over the batch", "axis and layout",
        grouped(
            x, [&](const Indices& at) { return Indices{at[channel] / members}; }, own_parameter));
    if (c.input("weight") || c.input("bias"))
      add("the weight of the channel's position within its group", "parameters",
          grouped(
              x,
              [&](const Indices& at) {
                return Indices{at[0], at[channel] / members};
              },
              [&](const Indices& at, std::int64_t) { return at[channel] % members; }));
  }
  if (rows > 1 && !(kind == RowKind::kChannels && batch_of(c) == 1))
    add(kind == RowKind::kChannels && rank == 2 ? "whole-map LayerNorm" : "statistics over the whole tensor", "axis and layout",
        grouped(
            x, [](const Indices&) { return Indices{}; }, own_parameter));
  for (int axis = 0; axis < rank; ++axis) {
    const bool is_own = kind == RowKind::kTrailing ? axis >= own && cols == x.shape[static_cast<std::size_t>(axis)] : axis == own;
    const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
    if (is_own || x.size() == extent) continue;
    const auto without = [axis](Indices at) {
      at.erase(at.begin() + axis);
      return at;
    };
    const std::string name =
        fmt::format("normalization over axis {} instead of {}", axis, kind == RowKind::kChannels ? "the channels" : "its own");
    add(name, "axis and layout", grouped(x, without, own_parameter));
    if (extent == view_of(c).parameters() && (c.input("weight") || c.input("bias")))
      add(name, "axis and layout", grouped(x, without, [](const Indices&, std::int64_t position) { return position; }));
  }
  return out;
}

}  // namespace normfuzz
