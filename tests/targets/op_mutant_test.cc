// Kernels with known bugs of the operators beside layer_norm and rms_norm, in process: each bug shows on generated cases, no control does.
#include "targets/mutants/op_mutant.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "harness/generate/generator.h"
#include "harness/judge.h"
#include "oracles/ops/geometry.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kSeed = 1;

std::vector<double> values_or(const Case& c, const char* name, std::size_t count, double absent) {
  const Tensor* t = c.input(name);
  return t ? t->values() : std::vector<double>(count, absent);
}

OpInputs inputs_of(const Case& c) {
  const OpInfo& op = *find_op(c.op);
  const Tensor& x = *c.inputs.front().second;
  OpInputs in;
  in.op = op.name;
  in.storage = x.dtype;
  in.shape = x.shape;
  in.channels_last = c.text("layout", "nchw") == "nhwc";
  const bool channels = c.op.starts_with("channel_");
  const bool weighted = op.affine() || op.forward_map();
  std::int64_t axis = c.integer(weighted ? "normalized_axis" : "axis", -1);
  if (channels) axis = in.channels_last ? -1 : x.rank() == 3 ? 0 : 1;
  in.batch_in_row = c.op.starts_with("batch_norm");
  if (in.batch_in_row) in.groups = x.shape[static_cast<std::size_t>(geometry::image_channel_axis(c))];
  in.training = c.integer("training", 0) == 1;
  in.sample_variance = c.text("variance", "population") == "sample";
  in.running_mean = values_or(c, "running_mean", 0, 0);
  in.running_variance = values_or(c, "running_var", 0, 0);
  in.momentum = c.number("momentum", 0);
  if (c.op.starts_with("group_norm")) in.groups = c.integer("groups", 1);
  if (c.op.starts_with("instance_norm")) in.groups = x.shape[static_cast<std::size_t>(geometry::image_channel_axis(c))];
  in.first = axis < 0 ? axis + x.rank() : axis;
  in.end = weighted && !channels ? x.rank() : in.first + 1;
  in.x = x.values();
  for (const char* name : {"dy", "b", "residual"})
    if (const Tensor* other = c.input(name)) in.other = other->values();
  const auto parameters = static_cast<std::size_t>(op.rows(c).parameters());
  in.weight = values_or(c, c.input("q") ? "q_weight" : "weight", parameters, 1);
  if (const Tensor* k = c.input("k")) {
    in.key_shape = k->shape;
    in.k = k->values();
    in.k_weight = values_or(c, "k_weight", parameters, 1);
  }
  in.bias = values_or(c, "bias", parameters, 0);
  in.epsilon = c.epsilon();
  in.weight_offset = c.number("weight_offset", 0);
  in.p = c.number("p", 2);
  in.learning_rate = c.number("learning_rate", 0);
  in.epsilon_mode = epsilon_mode_from_name(c.text("epsilon_mode", "none"));
  in.pattern = graph_pattern_from_name(c.text("pattern", "exact"));
  return in;
}

Judgement judged(OpBug bug, const MutantPolicy& policy, const Case& c) {
  Outcome outcome;
  outcome.kind = OutcomeKind::kOk;
  outcome.outputs = find_op(c.op)->output_layouts(c);
  for (const auto& [name, values] : run_op_mutant(bug, policy, inputs_of(c)))
    for (auto& [output, tensor] : outcome.outputs)
      if (output == name)
        for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_value(i, values[static_cast<std::size_t>(i)]);
  return CaseJudge(c).judge(outcome, *contract_named("standard", c.dtype()));
}

GeneratorOptions small_cases() { return {.max_elements = 512, .large_shapes = false}; }

// Issue: within 10,000 cases.
TEST(OpMutants, EachIsCaught) {
  for (const OpMutant& mutant : op_mutants())
    for (const std::string_view op : mutant.ops) {
      std::uint64_t index = 0;
      const DType dtype = mutant.dtypes.empty() ? DType::kF32 : mutant.dtypes.front();
      while (index < 10000 && !is_violation(judged(mutant.defect, {}, generate(kSeed, op, dtype, index, small_cases())).verdict)) ++index;
      EXPECT_LT(index, 10000u) << mutant.name << ' ' << op;
      RecordProperty(std::string(mutant.name) + "_" + std::string(op), std::to_string(index));
    }
}

TEST(OpMutants, NoControlIsCaught) {
  for (const Mutant& control : all_mutants()) {
    if (!control.control()) continue;
    for (const OpInfo* op : all_ops()) {
      if (op->name == "layer_norm" || op->name == "rms_norm") continue;
      for (const DType dtype : kAllDTypes)
        for (std::uint64_t index = 0; index < 100; ++index) {
          const Judgement j = judged(OpBug::kNone, control.policy, generate(kSeed, op->name, dtype, index, small_cases()));
          ASSERT_FALSE(is_violation(j.verdict)) << control.name << ' ' << op->name << ' ' << name_of(dtype) << " case " << index << ": "
                                                << j.law << (j.evidence.empty() ? "" : " at " + std::to_string(j.evidence[0].index));
        }
    }
  }
}

TEST(OpMutants, EachNamesItsBugAndItsReports) {
  for (const OpMutant& mutant : op_mutants()) {
    EXPECT_EQ(find_op_mutant(mutant.name), &mutant);
    EXPECT_EQ(find_mutant(mutant.name), nullptr);
    for (const std::string_view text : {mutant.family, mutant.bug, mutant.references}) EXPECT_FALSE(text.empty()) << mutant.name;
    for (const std::string_view op : mutant.ops) EXPECT_NE(find_op(op), nullptr) << op;
  }
  EXPECT_EQ(find_op_mutant("no_such_mutant"), nullptr);
}

}  // namespace
}  // namespace normfuzz
