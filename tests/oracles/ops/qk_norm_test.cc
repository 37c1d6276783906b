// qk_norm: two calls of rms_norm, each head a row, the rows of k behind those of q.
#include <gtest/gtest.h>

#include "oracles/bound.h"
#include "oracles/ops/op.h"
#include "oracles/oracle.h"
#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

using testing::tensor;

Tensor counted(std::vector<std::int64_t> shape, double first) {
  Tensor t = Tensor::zeros(DType::kF32, std::move(shape));
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_value(i, first + static_cast<double>((i * 29) % 31));
  return t;
}

Case heads() {
  Case c;
  c.op = "qk_norm";
  c.params["epsilon"] = testing::kEpsilon;
  c.set_input("q", counted({2, 3, 4, 5}, -12));
  c.set_input("k", counted({2, 3, 2, 5}, -7));
  c.set_input("q_weight", counted({5}, 1));
  c.set_input("k_weight", counted({5}, -3));
  return c;
}

TEST(QkNorm, IsRmsNormOfEveryHead) {
  const Case c = heads();
  ASSERT_TRUE(validate(c)) << validate(c).error();
  const auto outputs = *exact_outputs(c);
  for (const std::string name : {"q", "k"}) {
    Case alone;
    alone.op = "rms_norm";
    alone.params["epsilon"] = testing::kEpsilon;
    alone.set_input("x", *c.input(name));
    alone.set_input("weight", *c.input(name + "_weight"));
    alone.set_input("bias", std::nullopt);
    EXPECT_EQ(outputs.at(name + "_out").values(), exact_outputs(alone)->at("y").values()) << name;
  }
}

TEST(QkNorm, RowsOfKFollowThoseOfQ) {
  const CaseRows rows(heads());
  EXPECT_EQ(rows.rows(), 2 * 3 * 4 + 2 * 3 * 2);
  EXPECT_EQ(rows.slices(), rows.rows());
  EXPECT_EQ(rows.elements(), rows.rows() * 5);
  const OutputElement last_of_q = rows.element(23, 4), first_of_k = rows.element(24, 0);
  EXPECT_EQ(last_of_q.output, 0);
  EXPECT_EQ(last_of_q.index, 119);
  EXPECT_EQ(first_of_k.output, 1);
  EXPECT_EQ(first_of_k.index, 0);
  EXPECT_EQ(rows.row(24).x[0], -7);
  EXPECT_EQ(rows.row(24).weight[0], -3);
}

TEST(QkNorm, ErrorsNameTheField) {
  const auto error_with = [](const char* name, const Tensor& t) {
    Case c = heads();
    c.set_input(name, t);
    return validate(c) ? std::string() : validate(c).error();
  };
  EXPECT_EQ(error_with("k", counted({2, 3, 2, 4}, 0)), "inputs.k.shape: [2,3,2,4], expected q's shape but for the heads, [2,3,2,5]");
  EXPECT_EQ(error_with("q", counted({3, 4, 5}, 0)), "inputs.q.shape: rank 3, expected 4 (batch, position, head, feature)");
  EXPECT_EQ(error_with("k_weight", counted({4}, 0)), "inputs.k_weight.shape: [4], expected the features of a head [5]");
}

}  // namespace
}  // namespace normfuzz
