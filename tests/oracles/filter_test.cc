// The filter may only say "certified" where MPFR agrees, and must say it for ordinary rows.
#include "oracles/filter.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>

#include "harness/generate/generator.h"
#include "tests/oracles/make_case.h"

namespace normfuzz {
namespace {

// What an accurate kernel would return, with every `step`-th element moved by `shift` times its allowed error.
std::vector<double> computed(const std::vector<ElementBound>& bounds, DType storage, double shift, std::size_t step) {
  std::vector<double> y;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double moved = bounds[i].head + (i % step == 0 && std::isfinite(bounds[i].allowed) ? shift * bounds[i].allowed : 0);
    y.push_back(value_from_bits(storage, bits_from_value(storage, moved)));
  }
  return y;
}

struct Count {
  long rows = 0, certified = 0, refused_by_mpfr = 0, contradictions = 0;
};

// Every rung, and one with two more casts.
std::vector<Contract> contracts_of(DType d) {
  std::vector<Contract> all;
  for (const auto rung : contract_ladder()) all.push_back(*contract_named(rung, d));
  all.push_back(*contract_named("standard", d));
  EXPECT_TRUE(apply_modifier(all.back(), "before_weight", "yes"));
  return all;
}

// Rows of generated cases, with errors around the bound.
Count compare(std::uint64_t seed, int cases, const std::vector<double>& shifts) {
  Count count;
  for (int i = 0; i < cases; ++i)
    for (const char* op : {"layer_norm", "rms_norm"})
      for (const DType d : {DType::kF32, DType::kF16, DType::kBF16}) {
        GeneratorOptions options;
        options.max_elements = 600;
        options.large_shapes = false;
        const Case c = generate(seed, op, d, static_cast<std::uint64_t>(i), options);
        const CaseRows rows(c);
        for (const Contract& contract : contracts_of(d)) {
          if (!filter_applies(rows, contract) || !rows.finite(0)) continue;
          const auto bounds = slice_bounds(rows, 0, contract);
          for (const double shift : shifts) {
            const auto y = computed(bounds, d, shift, 3);
            bool within = true;
            for (std::size_t k = 0; k < y.size(); ++k) within = within && certify(y[k], bounds[k], contract, d) == ElementVerdict::kWithin;
            const bool certified = filter_row(rows, 0, y.data(), contract).certified;
            ++count.rows;
            count.certified += certified;
            count.refused_by_mpfr += !within;
            count.contradictions += certified && !within;
          }
        }
      }
  return count;
}

TEST(Filter, NeverCertifiesWhatMpfrRefuses) {
  const Count c = compare(11, 60, {0, 0.5, 0.999, -0.9999, 1.0001, -1.01, 2});
  EXPECT_EQ(c.contradictions, 0);
  EXPECT_GT(c.refused_by_mpfr, c.rows / 20);  // the shifted rows did reach beyond the bound
  EXPECT_GT(c.certified, c.rows / 4);
}

TEST(Filter, EveryDispatchTargetAgrees) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    const Count c = compare(12, 6, {0, 0.999, 1.001});
    EXPECT_EQ(c.contradictions, 0) << hwy::TargetName(target);
    EXPECT_GT(c.certified, 0) << hwy::TargetName(target);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Filter, DoubleOutputsAreForMpfr) {
  const auto applies = [](const char* op, DType d, const char* contract) {
    return filter_applies(CaseRows(testing::case_of(op, d, 1, {1, 2}, testing::kEpsilon)), *contract_named(contract, d));
  };
  EXPECT_FALSE(applies("layer_norm", DType::kF64, "standard"));
  EXPECT_TRUE(applies("layer_norm", DType::kF32, "standard"));
  EXPECT_FALSE(applies("layer_norm", DType::kF16, "native_accumulate"));
  EXPECT_FALSE(applies("rms", DType::kF32, "standard"));
}

TEST(Filter, ANaNIsNeverCertified) {
  const Case c = generate(1, "layer_norm", DType::kF32, 0, {"gaussian"});
  const CaseRows rows(c);
  const Contract contract = *contract_named("standard", DType::kF32);
  auto y = computed(slice_bounds(rows, 0, contract), DType::kF32, 0, 1);
  ASSERT_TRUE(filter_row(rows, 0, y.data(), contract).certified);
  for (double& v : y) {
    const double saved = v;
    v = std::nan("");
    EXPECT_FALSE(filter_row(rows, 0, y.data(), contract).certified);
    v = saved;
  }
}

}  // namespace
}  // namespace normfuzz
