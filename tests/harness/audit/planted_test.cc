// The mutants that random cases hardly ever show: each shows on the case that it is made for and on no neighbour of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "harness/examine.h"
#include "harness/run/manifest.h"
#include "targets/mutants/catalogue.h"

namespace normfuzz {
namespace {

const Target& mutants_target() {
  static const Target target = *load_target_file(NORMFUZZ_BINARY_DIR "/targets/mutants/mutants.so");
  return target;
}

bool shows(const std::string& name, const Case& c) {
  for (const Variant& v : mutants_target().variants) {
    if (v.name != name) continue;
    const auto worker = Worker::create({mutants_target(), v}, {});
    const Examination e = examine(*worker, mutants_target(), std::span(&c, 1), {}).front();
    EXPECT_EQ(e.outcome.kind, OutcomeKind::kOk) << name << ' ' << e.outcome.message;
    return is_violation(e.judgement.verdict);
  }
  ADD_FAILURE() << "no variant " << name;
  return false;
}

Case make_case(const std::string& op, std::vector<std::int64_t> shape, double epsilon, const std::function<double(std::int64_t)>& x) {
  Case c;
  c.op = op;
  c.params["epsilon"] = epsilon;
  Tensor t = Tensor::zeros(DType::kF32, std::move(shape));
  for (std::int64_t i = 0; i < t.size(); ++i) t.set_value(i, x(i));
  c.set_input("x", t);
  c.set_input("weight", std::nullopt);
  c.set_input("bias", std::nullopt);
  return c;
}

TEST(Planted, RareWidth) {
  const auto row = [](std::int64_t cols, double mean) {
    return make_case("layer_norm", {1, cols}, 0x1p-20, [=](std::int64_t i) { return mean + static_cast<double>(i % 3); });
  };
  EXPECT_TRUE(shows("rare_width", row(1536, 40000)));
  EXPECT_TRUE(shows("rare_width", row(1551, 40000)));
  EXPECT_FALSE(shows("rare_width", row(1535, 40000)));
  EXPECT_FALSE(shows("rare_width", row(1552, 40000)));
  EXPECT_FALSE(shows("rare_width", row(1536, 500)));
}

TEST(Planted, RareRows) {
  const auto rows = [](std::int64_t count) {
    return make_case("layer_norm", {count, 2}, 0x1p-20, [](std::int64_t i) { return static_cast<double>(i % 2); });
  };
  EXPECT_TRUE(shows("rare_rows", rows(65536)));
  EXPECT_FALSE(shows("rare_rows", rows(65537)));
  Case weighted = rows(65536);
  Tensor weight = Tensor::zeros(DType::kF32, {2});
  weight.set_value(0, 1);
  weighted.set_input("weight", weight);
  EXPECT_FALSE(shows("rare_rows", weighted));
}

TEST(Planted, RareEpsilon) {
  const auto row = [](const char* op, std::int64_t cols, double epsilon) {  // mean square 4, variance 4 up to the last column
    return make_case(op, {1, cols}, epsilon, [](std::int64_t i) { return i % 2 == 0 ? 2.0 : -2.0; });
  };
  EXPECT_TRUE(shows("rare_epsilon", row("rms_norm", 13, 4)));
  EXPECT_TRUE(shows("rare_epsilon", row("rms_norm", 5, 4.03125)));
  EXPECT_TRUE(shows("rare_epsilon", row("layer_norm", 101, 4)));
  EXPECT_FALSE(shows("rare_epsilon", row("rms_norm", 12, 4)));
  EXPECT_FALSE(shows("rare_epsilon", row("rms_norm", 13, 4.25)));
}

// Not planted, and yet no matter for a search by small cases.
TEST(Planted, RowCountIn16Bits) {
  const auto rows = [](std::int64_t count) {
    return make_case("rms_norm", {count, 1}, 0x1p-20, [](std::int64_t i) { return static_cast<double>(i % 7); });
  };
  EXPECT_TRUE(shows("row_count_in_16_bits", rows(65537)));
  EXPECT_FALSE(shows("row_count_in_16_bits", rows(65535)));
}

TEST(Planted, TheManifestMarksWhatTheListDoes) {
  std::size_t rare = 0;
  for (const MutantEntry& m : mutant_catalogue()) {
    const auto& variants = mutants_target().variants;
    const auto v = std::find_if(variants.begin(), variants.end(), [&](const Variant& candidate) { return candidate.name == m.name; });
    ASSERT_NE(v, variants.end()) << m.name;
    EXPECT_EQ(v->rare, m.rare) << m.name;
    rare += m.rare;
    if (!m.family.empty()) {
      EXPECT_FALSE(m.bug.empty() || m.references.empty() || m.ops.empty()) << m.name;
    }
    for (const std::string_view op : m.ops) EXPECT_NE(find_op(op), nullptr) << op;
  }
  EXPECT_EQ(rare, 3u);
}

// Each op has a mutant of its own, and there are enough of them.
TEST(Catalogue, CoversEveryOp) {
  std::size_t mutants = 0;
  std::vector<std::string_view> ops;
  for (const MutantEntry& m : mutant_catalogue()) {
    mutants += !m.family.empty() && !m.rare;
    ops.insert(ops.end(), m.ops.begin(), m.ops.end());
  }
  EXPECT_GE(mutants, 50u);
  for (const OpInfo* op : all_ops()) EXPECT_NE(std::find(ops.begin(), ops.end(), op->name), ops.end()) << op->name;
}

}  // namespace
}  // namespace normfuzz
