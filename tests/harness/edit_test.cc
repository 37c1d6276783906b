// Edits of a case of any op: valid again, and the same rows where an edit promises them.
#include "harness/shrink/edit.h"

#include <gtest/gtest.h>

#include "harness/shrink/passes.h"
#include "harness/shrink/simplicity.h"
#include "tests/harness/broken_ops.h"

namespace normfuzz {
namespace {

using namespace testing;

// One case of every op and of every way that its rows can lie.
std::vector<Case> cases() {
  std::vector<Case> out;
  const auto add = [&](const OpInfo* op, std::vector<std::int64_t> shape, std::map<std::string, ParamValue> params) {
    out.push_back(random_case_of(std::string(op->name), DType::kF32, std::move(shape), std::move(params), out.size() + 1));
    ASSERT_TRUE(validate(out.back())) << op->name << ": " << validate(out.back()).error();
  };
  for (const OpInfo* op : all_ops()) {
    if (op->name.starts_with("channel")) {
      for (const char* layout : {"nchw", "nhwc"})
        for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2, 3}, {2, 3, 4}, {2, 3, 1, 2}, {1, 2, 1, 3, 2}})
          add(op, shape, {{"layout", std::string(layout)}});
    } else if (op->name == "qk_norm") {
      add(op, {2, 3, 2, 4}, {});
      add(op, {1, 1, 3, 4}, {});
    } else if (op->name.starts_with("group") || op->name.starts_with("instance") || op->name.starts_with("batch")) {
      const bool groups = op->name.starts_with("group");
      for (const char* layout : {"nchw", "nhwc"})
        for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2, 4, 4}, {2, 4, 1, 4}, {1, 2, 1, 3, 2}}) {
          std::map<std::string, ParamValue> params = {{"layout", std::string(layout)}};
          if (groups) params["groups"] = std::int64_t{2};
          add(op, shape, params);
        }
      if (groups) add(op, {3, 4}, {{"groups", std::int64_t{4}}});
      if (op->shape == OutputShape::kStatistics) add(op, {2, 3, 4}, {{"training", std::int64_t{1}}, {"momentum", 0.25}});
    } else if (op->affine() || op->forward_map() || op->formula == Formula::kLayerNormGraph) {
      add(op, {2, 3, 4}, {});
      add(op, {2, 1, 4}, {});
      if (op->formula == Formula::kAddRmsNorm || op->formula == Formula::kLayerNormGraph) continue;
      Case c = out.back();
      c.params["normalized_axis"] = std::int64_t{1};
      for (const char* name : {"weight", "bias"})
        if (Tensor* t = c.input(name)) *t = Tensor::zeros(DType::kF32, {1, 4});
      EXPECT_TRUE(validate(c)) << validate(c).error();
      out.push_back(std::move(c));
    } else {
      for (const std::int64_t axis : {-1, 0, 1}) add(op, {2, 1, 3}, {{"axis", axis}});
    }
  }
  return out;
}

// The weight or bias of every element, row by row.
std::vector<double> parameter_by_row(const Case& c, std::string_view name) {
  const RowView view = view_of(c);
  std::vector<double> out;
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t i = 0; i < view.cols(); ++i) out.push_back(c.input(name)->value(view.parameter(r, i)));
  return out;
}

std::string name(const Case& c) { return c.op + " " + std::to_string(main_input(c).rank()) + " " + c.text("layout", ""); }

TEST(Edit, SelectKeepsACaseAndTheRowsThatStay) {
  for (const Case& c : cases())
    for (int axis = 0; axis < main_input(c).rank(); ++axis) {
      const std::int64_t last = main_input(c).shape[static_cast<std::size_t>(axis)] - 1;
      const Case one = select(c, axis, std::span(&last, 1));
      ASSERT_TRUE(validate(one)) << name(c) << " axis " << axis << ": " << validate(one).error();
      // The last element of the last row stays what it was, in every row input.
      for (const auto& [input, t] : c.inputs)
        if (t && is_row_input(input)) {
          EXPECT_EQ(values_by_row(one, input).back(), values_by_row(c, input).back()) << name(c) << " " << input;
        }
    }
}

TEST(Edit, ArrangedHoldsTheSameRowsInEveryForm) {
  for (const Case& c : cases())
    for (const Form form : forms_of(c)) {
      const Case other = arranged(c, form);
      ASSERT_TRUE(validate(other)) << name(c) << ": " << validate(other).error();
      EXPECT_EQ(form_of(other), form) << name(c);
      EXPECT_EQ(shape_of(other).cols, shape_of(c).cols) << name(c);
      for (const auto& [input, t] : c.inputs) {
        if (!t) continue;
        if (is_row_input(input))
          EXPECT_EQ(values_by_row(other, input), values_by_row(c, input)) << name(c) << " " << input;
        else if (row_kind(c) == RowKind::kGroups)
          EXPECT_EQ(parameter_by_row(other, input), parameter_by_row(c, input)) << name(c) << " " << input;
        else
          EXPECT_EQ(other.input(input)->values(), t->values()) << name(c) << " " << input;
      }
    }
}

TEST(Edit, SelectingChannelsKeepsTheGroupsTheyComeFrom) {
  const Case c = random_case_of("group_norm", DType::kF32, {2, 6, 2}, {{"groups", std::int64_t{3}}}, 1);
  const auto groups_after = [&](std::initializer_list<std::int64_t> keep) {
    const Case kept = select(c, 1, std::vector<std::int64_t>(keep));
    EXPECT_TRUE(validate(kept)) << validate(kept).error();
    EXPECT_EQ(kept.input("weight")->value(0), c.input("weight")->value(*keep.begin()));
    return kept.integer("groups", 0);
  };
  EXPECT_EQ(groups_after({2, 3, 4, 5}), 2);
  EXPECT_EQ(groups_after({1, 3, 5}), 3);
  EXPECT_EQ(groups_after({4}), 1);
  EXPECT_EQ(groups_after({1, 2, 3}), 1);  // a group and a half
}

TEST(Edit, ADimensionOfOneGoesWithoutChangingRows) {
  int gone = 0;
  for (const Case& c : cases())
    for (int axis = 0; axis < main_input(c).rank(); ++axis) {
      const auto without = without_axis(c, axis);
      if (!without) continue;
      ++gone;
      ASSERT_TRUE(validate(*without)) << name(c) << " axis " << axis << ": " << validate(*without).error();
      EXPECT_EQ(values_by_row(*without, main_name(c)), values_by_row(c, main_name(c))) << name(c) << " axis " << axis;
      EXPECT_EQ(shape_of(*without).cols, shape_of(c).cols) << name(c) << " axis " << axis;
    }
  EXPECT_GE(gone, 20);
}

TEST(Edit, PlacesOfEveryOutputElement) {
  for (const Case& c : cases()) {
    const CaseRows rows(c);
    for (std::int64_t s = 0; s < rows.slices(); ++s)
      for (std::int64_t i = 0; i < rows.slice_size(s); ++i) {
        const OutputElement e = rows.element(s, i);
        const Place p = place_of(c, rows.outputs()[static_cast<std::size_t>(e.output)], e.index);
        const bool statistics = rows.is_sums(s) && rows.info().shape == OutputShape::kStatistics;  // of their rows
        EXPECT_EQ(p.row, statistics ? e.index : rows.is_sums(s) ? 0 : s) << name(c);
        EXPECT_EQ(p.col, statistics ? 0 : rows.is_sums(s) ? e.index : i) << name(c);
      }
  }
}

// Whatever a pass proposes can be asked for its validity; most proposals are cases.
TEST(Passes, ProposalsOfEveryOpAreMostlyValid) {
  for (const Case& c : cases()) {
    const Focus focus{shape_of(c).rows - 1, shape_of(c).cols - 1};
    std::size_t valid = 0, all = 0;
    for (const auto& proposals : {shorter_axes(c, focus), tiny_relatives(c, focus), simpler_shapes(c), simpler_layouts(c),
                                  simpler_parameters(c), simpler_tensors(c, focus)})
      for (const Case& p : proposals) {
        ++all;
        if (!validate(p)) continue;
        ++valid;
        simplicity(p);
      }
    EXPECT_GT(valid, all * 3 / 4) << name(c);
  }
}

TEST(Passes, ParametersOfEveryKindGetSimpler) {
  Case c = random_case_of("lp_normalize", DType::kF32, {3, 2}, {{"p", 3.5}, {"axis", std::int64_t{0}}}, 1);
  c.params["epsilon"] = 0.25;
  c.params["epsilon_mode"] = std::string("max_norm");
  ASSERT_TRUE(validate(c));
  const auto proposed = [&](const Case& from, const auto& is) {
    for (const Case& p : simpler_parameters(from))
      if (validate(p) && simplicity(p) < simplicity(from) && is(p)) return true;
    return false;
  };
  EXPECT_TRUE(proposed(c, [](const Case& p) { return !p.params.count("p"); }));
  EXPECT_TRUE(proposed(c, [](const Case& p) { return p.number("p", 2) == 1; }));
  EXPECT_TRUE(proposed(c, [](const Case& p) { return !p.params.count("epsilon_mode") && p.epsilon() == 0; }));
  EXPECT_TRUE(proposed(c, [](const Case& p) { return p.text("epsilon_mode", "") == "add_outside"; }));
  EXPECT_LT(simplicity(arranged(c, Form::kRows)), simplicity(c));  // along the last axis
  const Case sgd = random_case_of("rms_norm_sgd", DType::kF32, {3, 2}, {{"learning_rate", 0x1.8p-7}}, 1);
  EXPECT_TRUE(proposed(sgd, [](const Case& p) { return p.number("learning_rate", 0) == 1; }));
  const Case nhwc = random_case_of("channel_layer_norm", DType::kF32, {1, 2, 2, 3}, {{"layout", std::string("nhwc")}}, 1);
  EXPECT_LT(simplicity(arranged(nhwc, Form::kColumns)), simplicity(nhwc));
}

}  // namespace
}  // namespace normfuzz
