// Manifests: what they say arrives; every fault is an error that names file, key and expectation.
#include "harness/run/manifest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

class Manifest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("normfuzz_manifest_" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  // The one target of a folder "t" with this manifest.
  Target load(const std::string& manifest) const {
    write("t/manifest.toml", manifest);
    write("t/t.so", "");
    const auto targets = load_targets(root_.string());
    EXPECT_TRUE(targets) << targets.error();
    EXPECT_EQ(targets->size(), 1u);
    return targets->at(0);
  }
  fs::path root_;
};

const std::string kHead = "[target]\nname = \"t\"\nkind = \"native\"\n";
const std::string kOp = "[[op]]\nname = \"layer_norm\"\ndtypes = [\"f32\", \"f16\"]\n";

TEST_F(Manifest, EveryFieldArrives) {
  const Target t = load(kHead + R"(
description = "d"
source = "s"
resources = { GPU = 1, a100 = 0.5 }
[[variant]]
name = "fast"
env = { A = "1", B = 2, C = true }
modifiers = { moments = "welford_tree", daz = "no" }
[[op]]
name = "layer_norm"
dtypes = ["f64", "bf16"]
contract = "one_pass"
modifiers = { affine = "folded", rsqrt_ulps = 8, daz = "yes" }
semantics = "m"
claims = ["determinism", "layout"]
zero_denominator = "nan"
source = "o"
[[op]]
name = "rms_norm_backward"
dtypes = ["f32"]
)");
  EXPECT_EQ(t.unavailable, "");
  EXPECT_EQ(t.name, "t");
  EXPECT_EQ(t.description, "d");
  EXPECT_EQ(t.source, "s");
  EXPECT_EQ(t.resources, (std::map<std::string, double>{{"GPU", 1}, {"a100", 0.5}}));
  EXPECT_EQ(t.module_path, (root_ / "t/t.so").string());
  ASSERT_EQ(t.variants.size(), 2u);
  EXPECT_EQ(t.variants[0].name, "");
  EXPECT_EQ(t.variants[1].name, "fast");
  EXPECT_EQ(t.variants[1].env, (std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}, {"C", "yes"}}));
  ASSERT_NE(t.promise("layer_norm", DType::kBF16), nullptr);
  EXPECT_EQ(t.promise("layer_norm", DType::kF32), nullptr);
  EXPECT_EQ(t.promise("rms_norm", DType::kF32), nullptr);
  EXPECT_EQ(t.promise("layer_norm", DType::kF64)->semantics, "m");
  const auto contract = t.contract("layer_norm", DType::kF64);
  ASSERT_TRUE(contract) << contract.error();
  EXPECT_EQ(contract->name, "one_pass");
  EXPECT_TRUE(contract->folded_affine);
  EXPECT_TRUE(contract->denormals_are_zero);
  EXPECT_EQ(contract->rsqrt_ulps, 8);
  EXPECT_EQ(contract->zero_denominator, ZeroDenominator::kNan);
  EXPECT_TRUE(contract->claimed("layout"));
  EXPECT_FALSE(contract->claimed("alignment"));
  const auto fast = TargetChoice(t, t.variants[1]).target.contract("layer_norm", DType::kF64);
  ASSERT_TRUE(fast) << fast.error();
  EXPECT_EQ(fast->moments, kWelfordTree);
  EXPECT_FALSE(fast->denormals_are_zero);
  EXPECT_TRUE(fast->folded_affine);
  const auto undeclared = t.contract("layer_norm", DType::kF32);
  ASSERT_TRUE(undeclared);
  EXPECT_EQ(undeclared->name, "standard");
  EXPECT_TRUE(undeclared->claimed("determinism"));
  EXPECT_TRUE(t.contract("rms_norm_backward", DType::kF32)->claimed("determinism"));  // unless the manifest says otherwise
}

TEST_F(Manifest, NoClaimsAtAllWithdrawsTheDefault) {
  EXPECT_FALSE(load(kHead + kOp + "claims = []\n").contract("layer_norm", DType::kF32)->claimed("determinism"));
}

struct Fault {
  const char* name;
  std::string manifest, expected;
};
class ManifestFault : public Manifest, public testing::WithParamInterface<Fault> {};

TEST_P(ManifestFault, NamesFileKeyAndExpectation) {
  const Target t = load(GetParam().manifest);
  EXPECT_EQ(t.name, "t");  // the folder's
  EXPECT_EQ(t.unavailable, (root_ / "t/manifest.toml").string() + ": " + GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    , ManifestFault,
    testing::Values(
        Fault{"NoTarget", "", "target: missing, expected a table [target]"},
        Fault{"UnknownTable", kHead + "[extra]\n", "extra: unknown, expected [target], [[variant]] or [[op]]"},
        Fault{"NoName", "[target]\nkind = \"native\"\n", "target.name: missing, expected a value"},
        Fault{"OtherName", "[target]\nname = \"u\"\nkind = \"native\"\n", "target.name: is \"u\", expected the folder's name"},
        Fault{"BadName", "[target]\nname = \"a:b\"\nkind = \"native\"\n",
              "target.name: expected a word without ':', ',', '*', '/' and blanks"},
        Fault{"NameOfAnotherType", "[target]\nname = 3\nkind = \"native\"\n", "target.name: expected a string"},
        Fault{"NoKind", "[target]\nname = \"t\"\n", "target.kind: missing, expected a value"},
        Fault{"BadKind", "[target]\nname = \"t\"\nkind = \"rust\"\n", "target.kind: is \"rust\", expected native or python"},
        Fault{"UnknownKey", kHead + "colour = \"red\"\n",
              "target.colour: unknown, expected one of name, kind, description, source, resources"},
        Fault{"NoResource", kHead + "resources = { GPU = 0 }\n", "target.resources.GPU: is 0, expected a number above 0"},
        Fault{"VariantNoTable", "variant = 3\n" + kHead, "variant: expected [[variant]] tables"},
        Fault{"VariantNoName", kHead + "[[variant]]\n", "variant[0].name: missing, expected a value"},
        Fault{"VariantBadName", kHead + "[[variant]]\nname = \"*\"\n", "variant[0].name: expected a word without ':', ',', '*' and blanks"},
        Fault{"VariantEnvNoTable", kHead + "[[variant]]\nname = \"v\"\nenv = 1\n", "variant[0].env: expected a table"},
        Fault{"VariantEnvNested", kHead + "[[variant]]\nname = \"v\"\nenv = { A = [1] }\n",
              "variant[0].env.A: expected a string, a number or a boolean"},
        Fault{"VariantTwice", kHead + "[[variant]]\nname = \"v\"\n[[variant]]\nname = \"v\"\n", "variant: two with the name \"v\""},
        Fault{"VariantModifier", kHead + "[[variant]]\nname = \"v\"\nmodifiers = { ftz = \"maybe\" }\n" + kOp,
              "variant v: contract field ftz: 'maybe', expected no or yes"},
        Fault{"OpUnknown", kHead + "[[op]]\nname = \"softmax\"\ndtypes = []\n",
              "op[0].name: is \"softmax\", expected one of layer_norm, rms_norm, channel_layer_norm, lp_norm, rms, distance, cosine, "
              "lp_normalize, group_norm, instance_norm, batch_norm, add_rms_norm, qk_norm, layer_norm_graph, also with _backward or _sgd"},
        Fault{"OpNoDtypes", kHead + "[[op]]\nname = \"rms_norm\"\n", "op[0].dtypes: missing, expected a value"},
        Fault{"OpDtype", kHead + "[[op]]\nname = \"rms_norm\"\ndtypes = [\"f8\"]\n",
              "op[0].dtypes: holds \"f8\", expected f64, f32, f16 or bf16"},
        Fault{"OpDtypesNoArray", kHead + "[[op]]\nname = \"rms_norm\"\ndtypes = \"f32\"\n", "op[0].dtypes: expected an array of strings"},
        Fault{"OpContract", kHead + kOp + "contract = \"best\"\n",
              "op[0].contract: contract field contract: 'best', expected faithful, f64_accumulate, robust, two_pass, standard, one_pass or "
              "native_accumulate"},
        Fault{"OpModifier", kHead + kOp + "modifiers = { affine = \"loose\" }\n",
              "op[0].contract: contract field affine: 'loose', expected centred or folded"},
        Fault{"OpClaim", kHead + kOp + "claims = [\"speed\"]\n",
              "op[0].claims: holds \"speed\", expected some of determinism, row_independence, batch_invariance, power_of_two_scale, "
              "sign_symmetry, exact_constant_row, layout, alignment, thread_count, identity_parameters"},
        Fault{"OpZeroDenominator", kHead + kOp + "zero_denominator = \"one\"\n",
              "op[0].zero_denominator: is \"one\", expected zero, nan or any"},
        Fault{"OpTwice", kHead + kOp + kOp, "op: layer_norm is promised twice for f32"}),
    [](const auto& info) { return info.param.name; });

TEST_F(Manifest, SyntaxErrorsNameTheLine) {
  const std::string expected = (root_ / "t/manifest.toml").string() + ": line 2: ";  // then the parser's own words
  EXPECT_EQ(load("[target]\nname = \n").unavailable.substr(0, expected.size()), expected);
}

TEST_F(Manifest, OneBrokenTargetLeavesTheOthers) {
  write("a/manifest.toml", "[target]\nname = \"a\"\nkind = \"native\"\n");
  write("a/a.so", "");
  write("b/manifest.toml", "not toml at all");
  write("c/manifest.toml", "[target]\nname = \"c\"\nkind = \"native\"\n");
  write("c/unavailable.txt", "not installed: ./normfuzz setup c\n");
  write("d/manifest.toml", "[target]\nname = \"d\"\nkind = \"python\"\n");
  write("d/target.py", "");
  write("d/python.txt", "/nonexistent/python\n");
  write("e/manifest.toml", "[target]\nname = \"e\"\nkind = \"native\"\n");
  write("not_a_target/readme", "");
  const auto targets = load_targets(root_.string());
  ASSERT_TRUE(targets) << targets.error();
  ASSERT_EQ(targets->size(), 5u);
  EXPECT_EQ(targets->at(0).unavailable, "");
  EXPECT_NE(targets->at(1).unavailable.find("b/manifest.toml: line 1: "), std::string::npos);
  EXPECT_EQ(targets->at(2).unavailable, "not installed: ./normfuzz setup c");
  EXPECT_EQ(targets->at(3).unavailable, "/nonexistent/python: missing, the interpreter of this target");
  EXPECT_EQ(targets->at(4).unavailable, (root_ / "e/e.so").string() + ": missing, build it first");
  EXPECT_FALSE(load_targets((root_ / "nowhere").string()));
}

std::string labels(const Result<std::vector<TargetChoice>>& choices) {
  if (!choices) return choices.error();
  std::string text;
  for (const TargetChoice& c : *choices) text += (text.empty() ? "" : " ") + c.label();
  return text;
}

TEST_F(Manifest, Choosing) {
  write("a/manifest.toml",
        "[target]\nname = \"a\"\nkind = \"native\"\n[[variant]]\nname = \"x\"\n[[variant]]\nname = \"y\"\nrequires = \"no_such_flag\"\n");
  write("a/a.so", "");
  write("b/manifest.toml", "[target]\nname = \"b\"\nkind = \"native\"\n");
  write("b/unavailable.txt", "not installed: ./normfuzz setup b\n");
  const auto known = load_targets(root_.string());
  ASSERT_TRUE(known);
  EXPECT_EQ(labels(choose_targets(*known, "a")), "a");
  EXPECT_EQ(labels(choose_targets(*known, "a:x, a")), "a:x a");
  EXPECT_EQ(labels(choose_targets(*known, "a:*")), "a a:x");  // y needs a flag that no processor has
  EXPECT_EQ(labels(choose_targets(*known, "a,a:default,a:*")), "a a:x");
  EXPECT_EQ(labels(choose_targets(*known, "a:y")), "target 'a:y': this processor has no no_such_flag");
  EXPECT_EQ(labels(choose_targets(*known, "a:z")), "target 'a': no variant 'z', expected * or one of default, x, y");
  EXPECT_EQ(labels(choose_targets(*known, "b")), "target 'b': not available: not installed: ./normfuzz setup b");
  EXPECT_EQ(labels(choose_targets(*known, "q")), "target 'q': unknown, expected one of a, b (or a file by --target)");
  EXPECT_EQ(labels(choose_targets(*known, " ,")), "targets ' ,': expected names with commas between them, such as cpu,onednn:avx2");
}

TEST_F(Manifest, TargetsByPath) {
  write("p/my_kernels.py", "");
  write("q/lib.so", "");
  write("q/manifest.toml", "[target]\nname = \"mine\"\nkind = \"native\"\n" + kOp + "contract = \"two_pass\"\n");
  const auto python = load_target_file((root_ / "p/my_kernels.py").string());
  ASSERT_TRUE(python) << python.error();
  EXPECT_EQ(python->name, "my_kernels");
  EXPECT_EQ(python->kind, TargetKind::kPython);
  EXPECT_TRUE(python->by_path);
  EXPECT_FALSE(python->python.empty());
  EXPECT_EQ(python->contract("layer_norm", DType::kF32)->name, "standard");
  ASSERT_EQ(python->variants.size(), 1u);
  const auto native = load_target_file((root_ / "q/lib.so").string());
  ASSERT_TRUE(native) << native.error();
  EXPECT_EQ(native->name, "mine");
  EXPECT_FALSE(native->by_path);
  EXPECT_EQ(native->contract("layer_norm", DType::kF32)->name, "two_pass");
  write("r/lib.txt", "");
  EXPECT_EQ(load_target_file((root_ / "r/lib.txt").string()).error(),
            "target " + (root_ / "r/lib.txt").string() + ": expected a name that ends in .so or .py");
  EXPECT_EQ(load_target_file("/nonexistent.so").error(), "target /nonexistent.so: no such file, expected a .so or a .py");
}

// The manifests of the repository itself.
TEST(Manifests, OfThisProjectAreInOrder) {
  const auto targets = load_targets(NORMFUZZ_SOURCE_DIR "/targets");
  ASSERT_TRUE(targets) << targets.error();
  EXPECT_GE(targets->size(), 4u);
  for (const Target& t : *targets) {
    EXPECT_EQ(t.unavailable.find("manifest.toml"), std::string::npos) << t.unavailable;
    for (const OpPromise& p : t.promises) EXPECT_FALSE(p.semantics.empty()) << t.name << " " << p.op;
  }
}

}  // namespace
}  // namespace normfuzz
