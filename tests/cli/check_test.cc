#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/case_io.h"
#include "core/npy.h"
#include "oracles/oracle.h"
#include "tests/cli/run_program.h"
#include "tests/harness/broken_ops.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

// The exact output of a public case as arrays beside its inputs.
class Check : public ::testing::TestWithParam<const char*> {
 protected:
  void save(const std::string& name, const Tensor& t) { ASSERT_TRUE(write_file_atomically(directory_.file(name), write_npy(t))); }
  Ran check(std::vector<std::string> more = {}) {
    std::vector<std::string> a = {"check",
                                  "--op",
                                  case_.op,
                                  "--x",
                                  directory_.file("x.npy"),
                                  "--y",
                                  directory_.file("y.npy"),
                                  "--epsilon",
                                  hex_from_value(case_.epsilon())};
    if (case_.dtype() == DType::kBF16) a.insert(a.end(), {"--dtype", "bf16"});
    for (const char* name : {"weight", "bias"})
      if (const Tensor* t = case_.input(name)) {
        save(std::string(name) + ".npy", *t);
        a.insert(a.end(), {std::string("--") + name, directory_.file(std::string(name) + ".npy")});
      }
    if (case_.number("weight_offset", 0) != 0) a.insert(a.end(), {"--param", "weight_offset=1"});
    a.insert(a.end(), more.begin(), more.end());
    return run_program(a);
  }
  void load(const std::string& name) {
    case_ = *read_case(public_case(name));
    save("x.npy", *case_.input("x"));
    save("y.npy", case_.expect.at("y"));
  }
  Case case_;
  TemporaryDirectory directory_;
};

TEST_P(Check, CertifiesTheExactOutputAndNoOther) {
  load(GetParam());
  const Ran exact = check({"--contract", "faithful"});
  EXPECT_EQ(exact.status, 0) << exact.out << exact.err;
  EXPECT_NE(exact.out.find("certified"), std::string::npos);
  Tensor y = case_.expect.at("y");
  y.set_value(1, y.value(1) + 1);
  save("y.npy", y);
  const Ran wrong = check({"--contract", "faithful", "--json"});
  EXPECT_EQ(wrong.status, 1) << wrong.out << wrong.err;
  const JsonDocument document = json_of(wrong);
  EXPECT_NE(document.root().find("verdict")->text(), "certified");
  EXPECT_EQ(document.root().find("elements")->count(), y.size());
}

INSTANTIATE_TEST_SUITE_P(PublicCases, Check,
                         ::testing::Values("ln-large-mean-40000", "ln-constant-row-beta", "rms-bf16-one-plus-weight",
                                           "rms-f16-row-over-256"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(Check, WhatDoesNotFitIsRefusedByOption) {
  load("ln-three-features");
  save("y.npy", Tensor::zeros(DType::kF64, {1, 3}));
  EXPECT_NE(check().err.find("--y"), std::string::npos);
  EXPECT_EQ(check().status, 2);
  save("y.npy", Tensor::zeros(DType::kF32, {3, 1}));
  EXPECT_NE(check().err.find("shape [3,1], expected [1,3]"), std::string::npos);
  save("y.npy", case_.expect.at("y"));
  EXPECT_EQ(check().status, 0);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--contract", "generous"},
                                                {"--param", "epsilon"},
                                                {"--param", "axes=1"},
                                                {"--param", "normalized_axis=x"},
                                                {"--param", "normalized_axis=7"},
                                                {"--modifier", "affine"},
                                                {"--modifier", "affine=bent"},
                                                {"--weight", "/nowhere.npy"},
                                                {"--dtype", "f17"}}) {
    const Ran ran = check(wrong);
    EXPECT_EQ(ran.status, 2) << wrong[0] << " " << wrong[1];
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

// A contract that allows more certifies what a stricter one refuses.
TEST_F(Check, ContractsAndModifiersMatter) {
  load("ln-constant-row-beta");
  Tensor y = case_.expect.at("y");
  y.set_value(0, 1 + 0x1p-20);
  save("y.npy", y);
  EXPECT_EQ(check({"--contract", "faithful"}).status, 1);
  EXPECT_EQ(check({"--contract", "standard"}).status, 0);
}

// Ops with other inputs or several outputs: each array by its option; the exact outputs are certified, a wrong one is named.
class CheckOp : public Check {
 protected:
  Ran checked(const std::vector<std::string>& more = {}) {
    std::vector<std::string> a = {"check", "--op", case_.op, "--contract", "faithful"};
    const auto add = [&](const std::string& name, const Tensor& t) {
      std::string option = "--" + name;
      std::replace(option.begin(), option.end(), '_', '-');
      save(name + ".npy", t);
      a.insert(a.end(), {option, directory_.file(name + ".npy")});
    };
    for (const auto& [name, t] : case_.inputs)
      if (t) add(name, *t);
    for (const auto& [name, t] : outputs_) add(name, t);
    for (const auto& [name, value] : case_.params) a.insert(a.end(), {"--param", name + "=" + hex_from_value(std::get<double>(value))});
    a.insert(a.end(), more.begin(), more.end());
    return run_program(a);
  }
  std::map<std::string, Tensor> outputs_;
};

TEST_P(CheckOp, TakesItsInputsAndOutputs) {
  case_ = testing::random_case_of(GetParam(), DType::kF32, {2, 3}, {}, 1);
  if (find_op(case_.op)->shape == OutputShape::kUpdate) case_.params["learning_rate"] = 0.5;
  outputs_ = *exact_outputs(case_);
  const Ran exact = checked();
  EXPECT_EQ(exact.status, 0) << exact.out << exact.err;
  auto& [name, last] = *outputs_.rbegin();
  last.set_value(0, last.value(0) + 1);
  const Ran wrong = checked();
  EXPECT_EQ(wrong.status, 1) << wrong.out << wrong.err;
  EXPECT_NE(wrong.out.find(name + "[0]"), std::string::npos) << wrong.out;
  const std::string first = outputs_.begin()->first;
  outputs_.erase(outputs_.begin());
  const Ran missing = checked();
  EXPECT_EQ(missing.status, 2) << missing.out;
  EXPECT_NE(missing.err.find("missing, expected the output " + first), std::string::npos) << missing.err;
}

INSTANTIATE_TEST_SUITE_P(Ops, CheckOp,
                         ::testing::Values("layer_norm_backward", "channel_layer_norm_sgd", "rms_norm_sgd", "distance", "cosine", "lp_norm",
                                           "lp_normalize"));

TEST_F(Check, ArraysThatTheOpDoesNotHaveAreRefused) {
  load("ln-three-features");
  save("dy.npy", *case_.input("x"));
  const Ran input = check({"--dy", directory_.file("dy.npy")});
  EXPECT_EQ(input.status, 2);
  EXPECT_NE(input.err.find("--dy: not an input of layer_norm"), std::string::npos) << input.err;
  const Ran output = check({"--dx", directory_.file("dy.npy")});
  EXPECT_EQ(output.status, 2);
  EXPECT_NE(output.err.find("--dx: not an output of this layer_norm"), std::string::npos) << output.err;
  const Ran none = run_program({"check", "--op", "distance", "--b", directory_.file("dy.npy"), "--y", directory_.file("y.npy")});
  EXPECT_NE(none.err.find("--a: missing"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace normfuzz::testing
