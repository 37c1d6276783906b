// The list of properties as a whole: complete, well formed, never broken by a correctly rounded kernel, never vacuous.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "core/case_io.h"
#include "tests/oracles/theorems/run_property.h"

namespace normfuzz {
namespace {

using namespace testing;

// The ids of the table of theorems; two of them name more than one theorem there.
constexpr const char* kIds[] = {"rms.scale_moves_epsilon",
                                "rms.power_of_two_scale",
                                "rms.scale_drift",
                                "ln.one_feature_forward",
                                "ln.one_feature_dweight",
                                "ln.one_feature_dx",
                                "ln.one_feature_spec_values",
                                "ln.constant_row",
                                "ln.normalized_bounded",
                                "chan.reassoc_fwd_index",
                                "chan.reassoc_back_index",
                                "chan.rows_index_inverse",
                                "chan.rows_permutation",
                                "chan.rows_reindex",
                                "chan.equals_rows",
                                "chan.row_affine",
                                "chan.transpose_involution",
                                "chan.not_whole_map",
                                "chan.vjp",
                                "chan.differentiable",
                                "chan.reindex_contract",
                                "chan.gamma_contract",
                                "chan.beta_contract",
                                "chan.sgd_gamma",
                                "chan.sgd_beta",
                                "graph.cast_index",
                                "graph.reassoc",
                                "graph.unassoc",
                                "norm.homogeneous",
                                "norm.triangle",
                                "norm.l2_l1_sqrt_n",
                                "norm.p_family",
                                "norm.distance",
                                "norm.rms_definition",
                                "unit.length_one",
                                "cosine.unit_dot",
                                "rms.output_rms_one",
                                "ln.output_length",
                                "rms.scale_invariant",
                                "bit.sign_symmetry",
                                "bit.row_independence",
                                "bit.containment",
                                "bit.determinism",
                                "bit.layout",
                                "bit.alignment",
                                "bit.thread_count",
                                "bit.memory",
                                "bit.identity_parameters"};

TEST(Properties, EveryRowOfTheTableOnce) {
  std::set<std::string_view> listed;
  for (const Property* p : all_properties()) EXPECT_TRUE(listed.insert(p->id).second) << p->id;
  for (const char* id : kIds) EXPECT_TRUE(find_property(id)) << id;
  EXPECT_EQ(listed.size(), std::size(kIds));
}

TEST(Properties, AreWellFormed) {
  for (const Property* p : all_properties()) {
    for (const std::string_view text : {p->lean, p->source, p->premises, p->statement, p->does_not_prove, p->caught})
      EXPECT_FALSE(text.empty()) << p->id;
    EXPECT_TRUE(p->check || p->check_oracle || p->check_index || !p->elsewhere.empty()) << p->id;
    EXPECT_TRUE((p->choose && p->meets) || !(p->check || p->check_oracle || p->check_index)) << p->id;
    for (const std::string_view op : p->ops) EXPECT_TRUE(find_op(op)) << p->id << ' ' << op;
    for (const std::string_view regime : p->regimes) {
      const auto& all = all_regimes();
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const RegimeInfo& r) { return r.name == regime; })) << p->id << ' ' << regime;
    }
  }
}

TEST(Properties, TheDocumentSaysWhatEachCatches) {
  std::ostringstream text;
  text << std::ifstream(NORMFUZZ_SOURCE_DIR "/docs/theorems.md").rdbuf();
  for (const Property* p : all_properties()) {
    const std::string line = "| " + std::string(p->id) + " | " + std::string(p->caught) + " |\n";
    EXPECT_NE(text.str().find(line), std::string::npos) << line;
  }
}

class EachProperty : public ::testing::TestWithParam<const Property*> {};
INSTANTIATE_TEST_SUITE_P(List, EachProperty, ::testing::ValuesIn(all_properties()), [](const auto& info) {
  std::string name(info.param->id);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST_P(EachProperty, HoldsForACorrectlyRoundedKernel) {
  const Property& p = *GetParam();
  if (!p.check) return;  // no kernel is asked
  const Count n = over_cases(p, 1200, [&](const Case& c, const PropertyArgs& args) { return run_property(p, c, args, correct); });
  EXPECT_EQ(n.broken, 0) << n.detail;
  EXPECT_GE(100 * n.met, n.tried) << "vacuous: " << n.met << " of " << n.tried;
}

TEST_P(EachProperty, HoldsForTheOracle) {
  const Property& p = *GetParam();
  if (!p.needs_no_kernel()) return;  // a kernel is asked
  const Count n = over_cases(p, 1200, [&](const Case& c, const PropertyArgs& args) { return check_without_kernel(p, c, args); });
  EXPECT_EQ(n.broken, 0) << n.detail;
  EXPECT_GE(100 * n.met, n.tried) << "vacuous: " << n.met << " of " << n.tried;
}

// Derived calls are valid calls, the same each time, and carry no property of their own.
TEST_P(EachProperty, DerivesValidCalls) {
  const Property& p = *GetParam();
  if (!p.derive) return;  // derives none
  over_cases(p, 200, [&](const Case& c, const PropertyArgs& args) {
    const std::vector<Case> first = p.derive(c, args), second = p.derive(c, args);
    EXPECT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      const Status valid = validate(first[i]);
      EXPECT_TRUE(valid) << p.id << ": " << (valid ? "" : valid.error());
      EXPECT_EQ(digest(first[i]), digest(second[i]));
      EXPECT_FALSE(first[i].property);
    }
    return PropertyResult{};
  });
}

// Arguments of a file that somebody edited: refused, not believed.
TEST_P(EachProperty, RefusesForeignArguments) {
  const Property& p = *GetParam();
  if (!p.meets || p.elsewhere.size() > 0) return;  // has no arguments
  const Case c = generate(1, p.ops.empty() ? "layer_norm" : p.ops[0], DType::kF32, 1, {"gaussian", 48, false});
  const auto args = p.choose(c, 5);
  if (!args || args->empty()) return;  // has no arguments
  for (const char* text : {"", "nan", "-1x", "999999999999999999999999"}) {
    PropertyArgs wrong = *args;
    for (auto& [name, value] : wrong) value = text;
    EXPECT_FALSE(p.meets(c, wrong)) << p.id << " '" << text << "'";
  }
  EXPECT_FALSE(p.meets(c, {})) << p.id;
}

TEST(Properties, ACaseWithOneSurvivesItsFile) {
  Case c = generate(1, "rms_norm", DType::kF32, 2, {"gaussian", 48, false});
  const Property& p = *find_property("rms.scale_drift");
  c.property = PropertyRef{std::string(p.id), *p.choose(c, 7)};
  const auto read = parse_case(write_case(c), "case");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, c);
  EXPECT_TRUE(p.meets(*read, read->property->args));
}

TEST(Properties, TheDrawDependsOnThePlaceAlone) {
  std::set<const Property*> drawn;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t draw = property_draw(1, "layer_norm", DType::kF32, i, "property");
    EXPECT_EQ(draw, property_draw(1, "layer_norm", DType::kF32, i, "property"));
    const Property* p = draw_kernel_property("layer_norm", draw);
    ASSERT_TRUE(p);
    EXPECT_TRUE(p->needs_kernel() && p->applies_to("layer_norm"));
    drawn.insert(p);
  }
  std::size_t applying = 0;
  for (const Property* p : all_properties()) applying += p->needs_kernel() && p->applies_to("layer_norm");
  EXPECT_EQ(drawn.size(), applying);
  EXPECT_NE(property_draw(1, "layer_norm", DType::kF32, 1, "property"), property_draw(2, "layer_norm", DType::kF32, 1, "property"));
}

}  // namespace
}  // namespace normfuzz
