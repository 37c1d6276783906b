// The kernels with known bugs against the bound of the default contract, in process: each bug shows on generated cases, no control does.
#include "targets/mutants/mutant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "harness/generate/generator.h"
#include "oracles/bound.h"
#include "targets/mutants/call_mutant.h"
#include "targets/mutants/op_mutant.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kSeed = 1;

// Small cases: MPFR judges every element here. The campaign judges the large ones with the filter first.
GeneratorOptions small_cases(const Mutant& mutant) {
  GeneratorOptions options;
  options.max_elements = mutant.policy.half_of_middle || mutant.policy.f16_count ? 1 << 13 : 256;
  options.large_shapes = false;
  return options;
}

// The first element of a case that is provably outside its bound.
std::optional<std::string> violation(const Mutant& mutant, const Case& c, const Contract& contract) {
  const CaseRows rows(c);
  for (std::int64_t r = 0; r < rows.rows(); ++r) {
    const std::vector<double> y = run_mutant(mutant.policy, c.op, rows.storage(), rows.row(r));
    const std::vector<ElementBound> bounds = slice_bounds(rows, r, contract);
    for (std::size_t i = 0; i < y.size(); ++i)
      if (certify(y[i], bounds[i], contract, rows.storage()) == ElementVerdict::kViolation)
        return "row " + std::to_string(r) + ", column " + std::to_string(i) + ": got " + std::to_string(y[i]) + ", exact " +
               std::to_string(bounds[i].head);
  }
  return std::nullopt;
}

// channel_layer_norm has the kernel of layer_norm.
std::vector<std::string> ops_of(const Mutant& mutant) {
  std::vector<std::string> ops;
  for (const std::string_view op : mutant.ops)
    if (op != "channel_layer_norm") ops.emplace_back(op);
  return ops;
}

// Issue: within 10,000 cases.
TEST(Mutants, EachIsCaught) {
  for (const Mutant& mutant : all_mutants()) {
    if (mutant.control()) continue;
    const DType dtype = mutant.dtypes.empty() ? DType::kF32 : mutant.dtypes.front();
    const Contract contract = *contract_named("standard", dtype);
    for (const std::string& op : ops_of(mutant)) {
      std::uint64_t index = 0;
      while (index < 10000 && !violation(mutant, generate(kSeed, op, dtype, index, small_cases(mutant)), contract)) ++index;
      EXPECT_LT(index, 10000u) << mutant.name << ' ' << op;
    }
  }
}

TEST(Mutants, NoControlIsCaught) {
  for (const Mutant& mutant : all_mutants()) {
    if (!mutant.control()) continue;
    for (const std::string& op : ops_of(mutant))
      for (const DType dtype : kAllDTypes) {
        const Contract contract = *contract_named("standard", dtype);
        for (std::uint64_t index = 0; index < 200; ++index) {
          const auto found = violation(mutant, generate(kSeed, op, dtype, index, small_cases(mutant)), contract);
          ASSERT_FALSE(found) << mutant.name << ' ' << op << ' ' << name_of(dtype) << " case " << index << ", " << *found;
        }
      }
  }
}

TEST(Mutants, EachNamesItsBugAndItsReports) {
  for (const Mutant& mutant : all_mutants()) {
    EXPECT_EQ(find_mutant(mutant.name), &mutant);
    EXPECT_FALSE(mutant.bug.empty());
    EXPECT_EQ(mutant.references.empty(), mutant.control()) << mutant.name;
  }
  EXPECT_EQ(std::count_if(all_mutants().begin(), all_mutants().end(), [](const Mutant& m) { return !m.control(); }), 25);
  EXPECT_EQ(find_mutant("no_such_mutant"), nullptr);
}

// One variant of the manifest per mutant, under its name.
TEST(Mutants, ManifestListsThem) {
  std::ifstream file(NORMFUZZ_SOURCE_DIR "/targets/mutants/manifest.toml");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::size_t variants = 0;
  for (std::size_t at = text.find("[[variant]]"); at != std::string::npos; at = text.find("[[variant]]", at + 1)) ++variants;
  EXPECT_EQ(variants, all_mutants().size() + op_mutants().size() + call_mutants().size());
  std::vector<std::string> names;
  for (const Mutant& mutant : all_mutants()) names.emplace_back(mutant.name);
  for (const OpMutant& mutant : op_mutants()) names.emplace_back(mutant.name);
  for (const CallMutant& mutant : call_mutants()) names.emplace_back(mutant.name);
  for (const std::string& name : names) {
    EXPECT_NE(text.find("name = \"" + name + "\"\nenv = { NORMFUZZ_MUTANT = \"" + name + "\" }"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace normfuzz
