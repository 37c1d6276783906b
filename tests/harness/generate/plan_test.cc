// Every op has a plan, every case of it is one that validation accepts, and what the issue asks of the parameters, second rows and
// cotangents occurs.
#include "harness/generate/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "harness/generate/regime.h"
#include "oracles/ops/op.h"
#include "tests/harness/generate/rows_of.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kSeed = 20240501;

TEST(Plans, EveryOpHasOneInTheOpsOrder) {
  ASSERT_EQ(op_plans().size(), all_ops().size());
  for (std::size_t i = 0; i < all_ops().size(); ++i) EXPECT_EQ(op_plans()[i].name, all_ops()[i]->name);
  for (const OpPlan& plan : op_plans()) {
    const OpInfo& op = *find_op(plan.name);
    ASSERT_EQ(plan.inputs.size(), op.inputs.size()) << plan.name;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) EXPECT_EQ(plan.inputs[i].name, op.inputs[i].name) << plan.name;
  }
}

TEST(Plans, EveryCaseOfEveryRegimeValidates) {
  for (const OpPlan& plan : op_plans())
    for (const DType dtype : kAllDTypes)
      for (const RegimeInfo& regime : all_regimes())
        for (std::uint64_t i = 0; i < 30; ++i) {
          const Case c = generate(kSeed, plan.name, dtype, i, {.regime = std::string(regime.name), .max_elements = 4096});
          const Status status = validate(c);
          ASSERT_TRUE(static_cast<bool>(status))
              << plan.name << " " << name_of(dtype) << " " << regime.name << " " << i << ": " << status.error();
          ASSERT_LE(c.inputs.front().second->size(), 4096);
          // Finite numbers only, but where the regime is made of others; float32 parameters beside 16-bit rows included.
          if (regime.name == "special_values") continue;
          for (const auto& [name, tensor] : c.inputs) {
            if (!tensor) continue;
            for (const double v : tensor->values())
              ASSERT_TRUE(std::isfinite(v)) << name << " of " << plan.name << " " << name_of(dtype) << " " << regime.name << " " << i;
          }
        }
}

TEST(Plans, NewOpsAreSmall) {
  constexpr int kDraws = 4000;
  for (const OpPlan& plan : op_plans()) {
    if (plan.sizes == Sizes::kAll) continue;
    double sum = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i)
      sum += static_cast<double>(generate(kSeed, plan.name, DType::kF32, i).inputs.front().second->size());
    EXPECT_LE(sum / kDraws, 300) << plan.name;
  }
}

TEST(Plans, ReducedAxesAreOfEveryRankAndPlace) {
  std::set<std::pair<int, int>> seen;
  int strided = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Case c = generate(kSeed, "lp_normalize", DType::kF32, i);
    const int rank = c.input("x")->rank();
    const auto axis = static_cast<int>(c.integer("axis", -1));
    seen.insert({rank, axis < 0 ? axis + rank : axis});
    const RowView rows = find_op(c.op)->rows(c);
    strided += !rows.contiguous() && rows.cols() > 1;
  }
  for (int rank = 1; rank <= 5; ++rank)
    for (int axis = 0; axis < rank; ++axis) EXPECT_TRUE(seen.count({rank, axis})) << rank << " " << axis;
  EXPECT_GT(strided, 400);
}

TEST(Plans, ChannelsOfBothLayoutsAndEveryRank) {
  std::map<std::string, int> seen;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Case c = generate(kSeed, "channel_layer_norm", DType::kF32, i);
    const Tensor& x = *c.input("x");
    const RowView rows = find_op(c.op)->rows(c);
    ++seen[c.text("layout", "nchw") + std::to_string(x.rank())];
    if (rows.rows() == 1) ++seen["one position"];
    if (rows.cols() == 1) ++seen["one channel"];
    if (rows.rows() > 1 && rows.cols() > 1) ++seen["a map"];
    if (x.rank() == 4 && c.text("layout", "nchw") == "nchw" && x.shape[1] > 1 && x.shape[2] > 1 && x.strides[1] == 1 &&
        x.strides[3] == x.shape[1])
      ++seen["channels last in memory"];
  }
  for (const char* what : {"nchw2", "nchw3", "nchw4", "nchw5", "nhwc2", "nhwc3", "nhwc4", "nhwc5", "one position", "one channel"})
    EXPECT_GT(seen[what], 80) << what;
  EXPECT_GT(seen["a map"], 2000);
  EXPECT_GT(seen["channels last in memory"], 40);
}

TEST(Plans, ExponentsAndEpsilonModes) {
  std::map<std::string, int> modes;
  std::set<double> exponents;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Case c = generate(kSeed, "lp_normalize", DType::kF32, i);
    ++modes[c.text("epsilon_mode", "none")];
    exponents.insert(c.number("p", 2));
    ++modes["cosine " + generate(kSeed, "cosine", DType::kF32, i).text("epsilon_mode", "none")];
    const double rms = generate(kSeed, "rms", DType::kF32, i).epsilon();
    ++modes[rms == 0 ? "rms without" : "rms with"];
  }
  for (const char* mode : {"none", "add_inside", "add_outside", "max_norm", "max_square", "cosine none", "cosine max_norm"})
    EXPECT_GT(modes[mode], 200) << mode;
  for (const char* mode : {"rms without", "rms with"}) EXPECT_GT(modes[mode], 1500) << mode;
  for (const double p : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, HUGE_VAL}) EXPECT_TRUE(exponents.count(p)) << p;
}

TEST(Plans, SecondRowsInEveryRelation) {
  std::map<std::string, int> seen;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Case c = generate(kSeed, "cosine", DType::kF32, i);
    const Tensor &a = *c.input("a"), &b = *c.input("b");
    const RowView rows = find_op(c.op)->rows(c);
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      bool equal = true, opposite = true, near = true;
      double largest = 0, dot = 0;
      for (std::int64_t k = 0; k < rows.cols(); ++k) {
        const double u = a.value(rows.index(r, k)), v = b.value(rows.index(r, k));
        equal = equal && u == v;
        opposite = opposite && u == -v;
        near = near && std::fabs(u - v) <= 0x1p-18 * std::fabs(u);
        largest = std::max(largest, std::fabs(u));
        dot += u * v;
      }
      if (!(largest > 0)) continue;
      ++seen[equal ? "equal" : opposite ? "negated" : near ? "near" : dot == 0 ? "orthogonal" : "other"];
    }
  }
  for (const char* what : {"equal", "negated", "near", "orthogonal", "other"}) EXPECT_GT(seen[what], 200) << what;
}

TEST(Plans, CotangentsAreNotAllOnes) {
  std::map<std::string, int> seen;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Case c = generate(kSeed, "layer_norm_backward", DType::kF32, i);
    const std::vector<double> dy = c.input("dy")->values();
    int zeros = 0, ones = 0, not_finite = 0;
    double sum = 0, magnitudes = 0;
    for (const double v : dy) {
      zeros += v == 0;
      ones += v == 1;
      not_finite += !std::isfinite(v);
      sum += v;
      magnitudes += std::fabs(v);
    }
    const auto n = static_cast<int>(dy.size());
    ++seen[n > 1 && zeros == n - 1 ? "one-hot" : ones == n ? "ones" : zeros == n ? "zero" : not_finite > 0 ? "special" : "other"];
    if (n > 4 && zeros < n && std::fabs(sum) <= 0x1p-40 * magnitudes) ++seen["cancelling"];
  }
  for (const char* what : {"one-hot", "ones", "zero", "special", "cancelling"}) EXPECT_GT(seen[what], 20) << what;
  EXPECT_GT(seen["other"], 2800);
}

TEST(Plans, UpdatesHaveAWeightAndARate) {
  std::set<double> rates;
  for (std::uint64_t i = 0; i < 2000; ++i)
    for (const char* op : {"layer_norm_sgd", "rms_norm_sgd", "channel_layer_norm_sgd"}) {
      const Case c = generate(kSeed, op, DType::kBF16, i);
      ASSERT_NE(c.input("weight"), nullptr);
      rates.insert(c.number("learning_rate", -1));
    }
  for (const double rate : {0.0, 1.0, 0.5, static_cast<double>(0.1F), static_cast<double>(1e-3F)}) EXPECT_TRUE(rates.count(rate)) << rate;
  EXPECT_FALSE(rates.count(-1));
}

// What a shrinker may try: numbers that are no parameter's are refused by validation, not first by the file that would hold them.
TEST(Plans, ParametersOutsideTheirRangeAreRefused) {
  const Case c = generate(kSeed, "distance", DType::kF32, 0);
  for (const auto& [p, valid] : {std::pair{-2.0, false}, {0.5, false}, {std::nan(""), false}, {1.0, true}, {HUGE_VAL, true}}) {
    Case edited = c;
    edited.params["p"] = p;
    EXPECT_EQ(static_cast<bool>(validate(edited)), valid) << p;
  }
}

}  // namespace
}  // namespace normfuzz
