#include "harness/shrink.h"

#include <gtest/gtest.h>

#include "core/case_io.h"
#include "harness/shrink/edit.h"
#include "harness/shrink/simplicity.h"
#include "tests/harness/broken_kernel.h"

namespace normfuzz {
namespace {

using namespace testing;

std::vector<double> x_of(const ShrinkResult& r) { return r.shrunk.input("x")->values(); }

// What every result must be: the same failure, a valid case, nothing dearer than the original, and the same again from the same input.
void check(const Case& original, const Probe& probe, std::int64_t most_elements) {
  const ShrinkResult r = shrunk(original, probe);
  ASSERT_TRUE(r.reproduced);
  EXPECT_TRUE(is_violation(r.examination.judgement.verdict));
  EXPECT_LE(r.shrunk.input("x")->size(), most_elements) << write_case(r.shrunk);
  EXPECT_TRUE(validate(r.shrunk));
  EXPECT_LE(simplicity(r.shrunk), simplicity(original));
  EXPECT_EQ(r.shrunk.provenance, original.provenance);
  const Judgement before = probe(std::span(&original, 1))[0].judgement, after = probe(std::span(&r.shrunk, 1))[0].judgement;
  EXPECT_EQ(after.verdict, before.verdict);
  EXPECT_EQ(after.law, before.law);
  EXPECT_EQ(after.failure, before.failure);
  EXPECT_EQ(digest(shrunk(original, probe).shrunk), digest(r.shrunk));
  ::testing::Test::RecordProperty("probes", r.probes);
}

TEST(Shrink, SampleVariance) { check(random_case("layer_norm", DType::kF32, {7, 37}, 0, 1), probe_of(departing({.divisor_loss = 1})), 2); }
TEST(Shrink, EpsilonDropped) {
  Case c = random_case("layer_norm", DType::kF32, {4, 64}, 0, 2);
  c.params["epsilon"] = 1.0;
  check(c, probe_of(departing({.drop_epsilon = true})), 2);
}
TEST(Shrink, EpsilonFixed) { check(random_case("layer_norm", DType::kF32, {4, 64}, 0, 3), probe_of(departing({.fix_epsilon = true})), 2); }
TEST(Shrink, OnePassVariance) {
  Case c = random_case("layer_norm", DType::kF32, {5, 12}, 3000, 4);
  check(c, probe_of(departing({.one_pass = true})), 4);
}
TEST(Shrink, ShiftedWeight) {
  check(random_case("layer_norm", DType::kF32, {3, 129}, 0, 5), probe_of(departing({.shift_weight = true})), 2);
}
// One column would be another law.
TEST(Shrink, DroppedBias) { check(random_case("layer_norm", DType::kF32, {3, 16}, 0, 6), probe_of(departing({.drop_bias = true})), 2); }
TEST(Shrink, DroppedTailNeedsItsWidth) {
  const Case c = random_case("layer_norm", DType::kF32, {2, 61}, 0, 7);  // 61 % 8 = 5; narrower rows with that rest: 13
  const Probe probe = probe_of(departing({.tail_of = 8, .tail_is = 5}));
  check(c, probe, 13);
  EXPECT_EQ(shrunk(c, probe).shrunk.input("x")->size(), 13);
  check(c, probe_of(departing({.tail_of = 4, .tail_is = 1})), 5);
}

TEST(Shrink, OneFeature) {
  const Case c = random_case("layer_norm", DType::kF16, {9, 1}, 60000, 8);
  const Probe probe = probe_of(departing({.folded_fma = true}));
  check(c, probe, 1);
  const ShrinkResult r = shrunk(c, probe);
  EXPECT_EQ(r.examination.judgement.law, "ln.one_feature_forward");
  EXPECT_FALSE(r.shrunk.input("weight"));
  EXPECT_FALSE(r.shrunk.input("bias"));
  EXPECT_EQ(r.shrunk.epsilon(), kPlainEpsilon);
}

TEST(Shrink, NanAtLargeMean) {
  const auto kernel = [](const RowInputs& row, double* y, Outcome& o) {
    departing({})(row, y, o);
    for (std::int64_t i = 0; i < row.n; ++i)
      if (std::fabs(row.x[i]) > 1000) y[i] = std::nan("");
  };
  const Case c = random_case("layer_norm", DType::kF32, {3, 33}, 5000, 9);
  check(c, probe_of(kernel), 2);
  const ShrinkResult r = shrunk(c, probe_of(kernel));
  EXPECT_EQ(r.examination.judgement.failure, FailureClass::kNan);
  for (const double v : x_of(r)) EXPECT_TRUE(v == 0 || v == 1024) << v;
}

TEST(Shrink, CrashAtThreeColumns) {
  const auto kernel = [](const RowInputs& row, double* y, Outcome& o) {
    departing({})(row, y, o);
    if (row.n == 3) {
      o.kind = OutcomeKind::kCrashed;
      o.signal = 11;
    }
  };
  const Case c = random_case("layer_norm", DType::kF32, {16, 3}, 0, 10);
  check(c, probe_of(kernel), 3);
  for (const double v : x_of(shrunk(c, probe_of(kernel)))) EXPECT_EQ(v, 0);
}

TEST(Shrink, HangGoesInSmallSteps) {
  int cases = 0;
  const Probe probe = [&](std::span<const Case> all) {
    std::vector<Examination> out(all.size());
    cases += static_cast<int>(all.size());
    EXPECT_LE(all.size(), 2u);
    for (std::size_t i = 0; i < all.size(); ++i) {
      out[i].judgement.verdict = all[i].input("x")->shape.back() == 5 ? Verdict::kTimedOut : Verdict::kCertified;
      out[i].judgement.law = "hang";
      out[i].judgement.failure = FailureClass::kHang;
    }
    return out;
  };
  const ShrinkResult r =
      shrink(random_case("layer_norm", DType::kF32, {64, 5}, 0, 11), Verdict::kTimedOut, "hang", FailureClass::kHang, probe, {});
  EXPECT_TRUE(r.reproduced);
  EXPECT_EQ(r.shrunk.input("x")->shape, (std::vector<std::int64_t>{1, 5}));
  EXPECT_LE(cases, 60);
}

// Outer stride beyond the columns: the kernel writes into the padding. Needs two rows and a stride, nothing else.
TEST(Shrink, StridesStayWhereTheyMatter) {
  const auto memory = [](const Case& c, Outcome& o) {
    const Tensor& x = *c.input("x");
    const auto axis = static_cast<std::size_t>(x.rank() - 2);
    if (x.rank() >= 2 && x.shape[axis] > 1 && x.strides[axis] > x.shape.back()) {
      o.memory.overrun = "y";
      o.memory.detail = "y: padding changed";
    }
  };
  Case c = random_case("layer_norm", DType::kF32, {2, 3, 5, 7}, 0, 12);
  Tensor& x = *c.input("x");
  x.strides = {3 * 5 * 16 + 9, 5 * 16, 16, 2};
  x.offset = 3;
  x.misalign = 4;
  const Probe probe = probe_of(departing({}), memory);
  check(c, probe, 2);
  const ShrinkResult r = shrunk(c, probe);
  EXPECT_EQ(r.examination.judgement.law, "bit.memory.overrun");
  EXPECT_EQ(r.shrunk.input("x")->shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(r.shrunk.input("x")->strides, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(r.shrunk.input("x")->offset, 0);
  EXPECT_EQ(r.shrunk.input("x")->misalign, 0);
}

TEST(Shrink, SharedElementsStayEqual) {
  Case c = random_case("layer_norm", DType::kF32, {1, 12}, 0, 13);
  Tensor one = *c.input("x");
  one = Tensor::zeros(DType::kF32, {6, 12});
  for (std::int64_t i = 0; i < one.size(); ++i) one.set_value(i, c.input("x")->value(i % 12));
  one.strides = {0, 1};
  c.set_input("x", one);
  const auto repeated = [](const Case& k, Outcome& o) {
    const Tensor& x = *k.input("x");
    if (x.rank() == 2 && x.strides[0] == 0 && x.shape[0] > 1) {
      o.memory.overrun = "y";
      for (std::int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(x.bits(i), x.bits(i % x.shape[1]));
    }
  };
  check(c, probe_of(departing({}), repeated), 2);
}

TEST(Shrink, WeightOffsetAndMixedDtypesStayOnlyWhereNeeded) {
  Case c = random_case("rms_norm", DType::kBF16, {2, 8}, 0, 14);
  c.params["weight_offset"] = 1.0;
  c.set_input("weight", cast(*c.input("weight"), DType::kF32));
  const Probe drops_x = probe_of([](const RowInputs& row, double* y, Outcome&) { std::fill(y, y + row.n, 0.0); });
  check(c, drops_x, 1);
  const ShrinkResult plain = shrunk(c, drops_x);
  EXPECT_FALSE(plain.shrunk.input("weight"));
  EXPECT_FALSE(plain.shrunk.params.count("weight_offset"));
  const Probe needs_offset = [](std::span<const Case> cases) {
    std::vector<Examination> out(cases.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      if (cases[i].number("weight_offset", 0) == 1) {
        out[i].judgement.verdict = Verdict::kContract;
        out[i].judgement.failure = FailureClass::kWrong;
      }
    return out;
  };
  const ShrinkResult r = shrunk(c, needs_offset);
  EXPECT_EQ(r.shrunk.number("weight_offset", 0), 1);
  EXPECT_EQ(r.shrunk.input("weight")->dtype, DType::kBF16);
}

TEST(Shrink, SaysThatAFailureDidNotComeBack) {
  const Case c = random_case("layer_norm", DType::kF32, {2, 4}, 0, 15);
  const ShrinkResult r = shrink(c, Verdict::kContract, "standard", FailureClass::kWrong, probe_of(departing({})), {});
  EXPECT_FALSE(r.reproduced);
  EXPECT_EQ(digest(r.shrunk), digest(c));
}

TEST(Shrink, KeepsItsBudget) {
  int calls = 0;
  const Case c = random_case("layer_norm", DType::kF32, {7, 37}, 0, 16);
  const ShrinkResult r = shrunk(c, probe_of(departing({.divisor_loss = 1}), nullptr, &calls), {.max_probes = 50});
  EXPECT_TRUE(r.reproduced);
  EXPECT_LE(r.probes, 50);
}

TEST(Simplicity, OrdersValues) {
  const std::vector<double> order = {0, 1, -1, 1024, 3, 5, 1.0 / 3};
  for (std::size_t i = 1; i < order.size(); ++i) EXPECT_LT(value_cost(order[i - 1]), value_cost(order[i])) << order[i];
  EXPECT_LT(value_cost(1.0 / 3), value_cost(std::numeric_limits<double>::infinity()));
  for (const double v : simpler_values(40003, DType::kF32)) EXPECT_LT(value_cost(v), value_cost(40003));
  EXPECT_TRUE(simpler_values(0, DType::kF16).empty());
}

}  // namespace
}  // namespace normfuzz
