#include "reports/bugzoo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/case_io.h"
#include "core/hex_float.h"
#include "core/json_document.h"
#include "tests/harness/broken_ops.h"
#include "tests/temporary_directory.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;
using namespace testing;

std::string text_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}
std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename().string());
  return names;
}
void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

Finding finding_of(const Case& c, const Probe& probe, const std::string& target) {
  ShrinkResult r = shrunk(c, probe);
  const Explanation e = explain(r, *contract_named("standard", c.dtype()), probe);
  Finding f;
  f.target = target;
  f.version = target + " 1.2.3";
  f.variants = {"", "avx2"};
  f.op = c.op;
  f.dtype = c.dtype();
  f.law = r.examination.judgement.law;
  f.verdict = r.examination.judgement.verdict;
  f.failure = r.examination.judgement.failure;
  f.needs = e.needs;
  f.explanation = e.sentence;
  f.admitted_by = e.admitted_by;
  f.bug_family = e.bug_family;
  f.shrunk = r.shrunk;
  f.judgement = r.examination.judgement;
  f.outcome = r.examination.outcome;
  f.occurrences = 3;
  f.first_seed = 7;
  f.first_index = 11;
  f.first_regime = "one_feature";
  f.slug = slug_of(f);
  return f;
}

Finding one_feature(const std::string& target) {
  return finding_of(random_case("layer_norm", DType::kF16, {3, 1}, 60000, 1), probe_of(departing({.folded_fma = true})), target);
}

// A folder of targets whose 'framework' has a template in C++, layer_norm in Python, and a manifest with a variant.
std::string targets_folder(const TemporaryDirectory& place) {
  fs::create_directories(place.file("targets/framework"));
  std::ofstream(place.file("targets/framework/repro.cc.in")) << "@TITLE@\n@COMMON@int main() {\n@ENVIRONMENT@}\n// @OP@\n";
  std::ofstream(place.file("targets/framework/repro.py"))
      << "import framework\nfrom normfuzz_target import op\n\n\n@op(\"layer_norm\")\n"
         "def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):\n    return framework.norm(x, weight, bias, epsilon)\n";
  std::ofstream(place.file("targets/framework/unavailable.txt")) << "a test\n";
  std::ofstream(place.file("targets/framework/manifest.toml"))
      << "[target]\nname = \"framework\"\nkind = \"native\"\ndescription = \"d\"\nsource = \"s\"\n[[variant]]\nname = \"wide\"\nenv = { "
         "ISA = \"WIDE\" }\nrequires = \"avx2\"\n"
         "[[op]]\nname = \"layer_norm\"\ndtypes = [\"f16\", \"f32\"]\ncontract = \"two_pass\"\nsemantics = \"s\"\nsource = \"s\"\n";
  return place.file("targets");
}

TEST(BugZoo, EntryIsComplete) {
  const TemporaryDirectory place;
  Finding f = one_feature("framework");
  f.variant = "wide";
  ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
  EXPECT_EQ(names_in(place.file("zoo")), std::set<std::string>{f.slug});
  const std::string entry = place.file("zoo/" + f.slug) + "/";
  EXPECT_EQ(names_in(entry), (std::set<std::string>{"README.md", "case.json", "contract.lean", "repro.cc", "repro.py", "status.json"}));

  const auto stored = read_case(entry + "case.json");
  ASSERT_TRUE(stored) << stored.error();
  EXPECT_EQ(digest(*stored), digest(f.shrunk));
  EXPECT_EQ(stored->provenance, f.shrunk.provenance);

  const std::string readme = text_of(entry + "README.md");
  for (const char* heading : {"## Bug family", "## Bad pattern", "## Trusted contract", "## Theorem", "## Got, exact, allowed",
                              "## Versions", "## First seen", "## Reproduce"})
    expect_contains(readme, heading);
  for (const char* part : {"one_feature_layernorm_scalar_contract", "What it proves:", "What it does not prove:", "two_pass",
                           "| y[0] (!) |", "framework 1.2.3", "default, avx2", "Seed 7, index 11, regime one_feature, seen 3 times",
                           "--targets framework:wide", "folded affine"})
    expect_contains(readme, part);

  const std::string lean = text_of(entry + "contract.lean");
  expect_contains(lean, "no Lean tool has read this file");
  expect_contains(lean, "def contract : Prop :=\n  layerNorm [(");
  expect_contains(lean, " : ℝ)] (2748779 / 274877906944 : ℝ) [(1 : ℝ)] [(0 : ℝ)] 0 = (0 : ℝ)");  // float32(1e-5) = 2748779 / 2^38

  const std::string status = text_of(entry + "status.json");
  ASSERT_TRUE(JsonDocument::parse(status, "status.json")) << status;
  for (const char* part : {"\"status\": \"new\"", "\"law\": \"ln.one_feature_forward\"", "\"class\": \"wrong\"", "\"isa\": \"avx2\"",
                           "[\"columns\", \"mean offset\"]"})
    expect_contains(status, part);
}

TEST(BugZoo, ProgramsCarryTheCase) {
  const TemporaryDirectory place;
  Finding f = one_feature("framework");
  f.variant = "wide";
  ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
  const std::string entry = place.file("zoo/" + f.slug) + "/";
  const std::string cpp = text_of(entry + "repro.cc"), python = text_of(entry + "repro.py");
  EXPECT_EQ(cpp.find('@'), std::string::npos) << cpp;
  expect_contains(cpp, f.explanation);
  expect_contains(cpp, "layer_norm");
  expect_contains(cpp, fmt::format("{:#x}", f.shrunk.input("x")->bits(0)));
  expect_contains(cpp, "0x1.4f8b58p-17");
  expect_contains(cpp, "setenv(\"ISA\", \"WIDE\", 1);");
  expect_contains(cpp, "const Input weight = {};");
  expect_contains(python, "os.environ[\"ISA\"] = \"WIDE\"");
  expect_contains(python, "weight = None");
  expect_contains(python, "result = layer_norm(x=x, weight=weight, bias=bias, epsilon=9.999999747378752e-06");
  expect_contains(python, hex_from_value(f.shrunk.input("x")->value(0)));
  expect_contains(python, hex_from_value(f.judgement.evidence[0].exact));
}

// A version and an explanation come from a target: no line of a program may be theirs.
TEST(BugZoo, ProgramsQuoteWhatATargetSays) {
  const TemporaryDirectory place;
  Finding f = one_feature("mine");
  f.version = "1.0\necho version \\";
  f.explanation = "needs\r\necho explanation \\";
  f.variant = "a'; echo variant; '";
  ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
  const std::string script = text_of(place.file("zoo/" + f.slug) + "/repro.sh");
  for (const char* line : {"\necho version", "\necho explanation", "\\\n"}) EXPECT_EQ(script.find(line), std::string::npos) << script;
  expect_contains(script, "--target 'mine:a'\\''; echo variant; '\\'''\n");
}

TEST(BugZoo, TargetsWithoutTemplateAreRunByNormfuzz) {
  const TemporaryDirectory place;
  const Finding f = one_feature("mine");
  ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
  const std::string script = place.file("zoo/" + f.slug) + "/repro.sh";
  expect_contains(text_of(place.file("zoo/" + f.slug) + "/README.md"), "no stand-alone program: the target is not written in Python.");
  expect_contains(text_of(script), "repro \"$(dirname \"$0\")/case.json\" --target 'mine'");
  EXPECT_NE(fs::status(script).permissions() & fs::perms::owner_exec, fs::perms::none);
}

TEST(BugZoo, ATargetByPathHasItsProgram) {
  const TemporaryDirectory place;
  fs::copy_file(targets_folder(place) + "/framework/repro.py", place.file("mine.py"));
  const auto mine = load_target_file(place.file("mine.py"));
  ASSERT_TRUE(mine) << mine.error();
  ASSERT_TRUE(write_entry(one_feature("mine"), place.file("zoo"), place.file("none"), {TargetChoice(*mine, mine->variants[0])}));
  const std::string entry = place.file("zoo/" + slug_of(one_feature("mine")));
  expect_contains(text_of(entry + "/repro.py"), "import framework");
  expect_contains(text_of(entry + "/README.md"), "--target " + mine->module_path);
}

TEST(BugZoo, NumbersOfAContract) {
  const TemporaryDirectory place;
  const Finding f = finding_of(random_case("layer_norm", DType::kF32, {2, 9}, 0, 2), probe_of(departing({.divisor_loss = 1})), "framework");
  ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
  const std::string entry = place.file("zoo/" + f.slug) + "/";
  expect_contains(text_of(entry + "contract.lean"), "def divergence : Prop :=\n  (");
  expect_contains(text_of(entry + "README.md"), "| y[1]");
  expect_contains(text_of(entry + "README.md"), "none, a law of this project");
}

// Ops that no template knows: normfuzz reproduces them, and the statement is about the output concerned.
TEST(BugZoo, EntriesOfEveryOp) {
  struct Expected {
    const char* op;
    Break at;
    const char *element, *statement;
  };
  for (const Expected& x :
       {Expected{"layer_norm_backward", Break::kMeanOfG, "| dx[", "  |layerNormDx ["},
        Expected{"layer_norm_backward", Break::kLastRowOnly, "| dweight[", " - layerNormDweight [(["},
        Expected{"rms_norm_sgd", Break::kWrongSign, "| weight_new[", " : ℝ) * rmsNormDweight [(["},
        Expected{"channel_layer_norm", Break::kWholeMap, "| y[", " - layerNorm ["},
        Expected{"lp_norm", Break::kOtherP, "| y[", " - (lpNorm (2 : ℝ)) ["}, Expected{"rms", Break::kRoot, "| y[", " - rms ["},
        Expected{"distance", Break::kMagnitude, "| y[", " - distance (lpNorm (2 : ℝ)) ["},
        Expected{"cosine", Break::kLengthOfB, "| y[", " - cosine "},
        Expected{"lp_normalize", Break::kOtherP, "| y[", " - lpNormalize (lpNorm (2 : ℝ)) ["}}) {
    const TemporaryDirectory place;
    const bool channels = std::string_view(x.op).starts_with("channel");
    Case c = random_case_of(x.op, DType::kF32, channels ? std::vector<std::int64_t>{2, 3, 2, 2} : std::vector<std::int64_t>{3, 4}, {}, 1);
    if (find_op(x.op)->shape == OutputShape::kUpdate) c.params["learning_rate"] = 0.5;
    Finding f = finding_of(c, probe_of(x.at), "framework");
    if (x.at == Break::kMeanOfG) f.judgement.evidence[0].got = std::nan("");
    ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
    const std::string entry = place.file("zoo/" + f.slug) + "/", readme = text_of(entry + "README.md");
    EXPECT_EQ(names_in(entry), (std::set<std::string>{"README.md", "case.json", "contract.lean", "repro.sh", "status.json"})) << x.op;
    expect_contains(readme, x.element);
    expect_contains(readme, std::string("below a decorator that names ") + x.op + ". normfuzz reproduces it");
    expect_contains(text_of(entry + "contract.lean"), x.statement);
    expect_contains(text_of(entry + "contract.lean"), "def divergence : Prop :=");
  }
}

TEST(BugZoo, CrashHasNoNumbers) {
  const TemporaryDirectory place;
  const auto kernel = [](const RowInputs& row, double* y, Outcome& o) {
    departing({})(row, y, o);
    if (row.n == 3) o.kind = OutcomeKind::kCrashed;
    o.signal = 11;
  };
  const Finding f = finding_of(random_case("layer_norm", DType::kF32, {2, 3}, 0, 2), probe_of(kernel), "framework");
  ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
  const std::string entry = place.file("zoo/" + f.slug) + "/";
  expect_contains(text_of(entry + "contract.lean"), "nothing to state here");
  expect_contains(text_of(entry + "README.md"), "No element was judged");
  EXPECT_TRUE(fs::exists(entry + "repro.cc"));
}

TEST(BugZoo, AnEntryOfThatNameIsReplaced) {
  const TemporaryDirectory place;
  Finding f = one_feature("mine");
  ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
  std::ofstream(place.file("zoo/" + f.slug + "/stale")) << "old";
  f.explanation = "seen again";
  ASSERT_TRUE(write_entry(f, place.file("zoo"), targets_folder(place)));
  EXPECT_EQ(names_in(place.file("zoo")), std::set<std::string>{f.slug});
  EXPECT_FALSE(fs::exists(place.file("zoo/" + f.slug + "/stale")));
  expect_contains(text_of(place.file("zoo/" + f.slug + "/README.md")), "seen again");
}

TEST(BugZoo, DirectoryThatCannotBeMadeIsNamed) {
  const TemporaryDirectory place;
  std::ofstream(place.file("zoo")) << "a file";
  const Status status = write_entry(one_feature("mine"), place.file("zoo"), targets_folder(place));
  ASSERT_FALSE(status);
  expect_contains(status.error(), place.file("zoo"));
  EXPECT_EQ(names_in(place.path()), (std::set<std::string>{"targets", "zoo"}));
}

TEST(Finding, SlugIsAFileName) {
  Finding f;
  f.target = "My Kernels/v2.so";
  f.op = "layer_norm";
  f.law = "bit.memory";
  f.failure = FailureClass::kMemory;
  f.needs = {"rows", "strides"};
  EXPECT_EQ(f.signature(), "My Kernels/v2.so layer_norm f32 bit.memory memory [rows, strides]");
  EXPECT_EQ(slug_of(f), "my-kernels-v2-so-layer-norm-f32-bit-memory-memory-rows-strides");
  f.needs = {"alignment", "columns", "dtype", "epsilon", "mean offset", "rows"};
  const std::string other = slug_of(f);
  EXPECT_LE(other.size(), 80u);
  f.needs.back() = "scale";
  EXPECT_NE(slug_of(f), other);
  EXPECT_LE(slug_of(f).size(), 80u);
}

}  // namespace
}  // namespace normfuzz
