// known.toml: what it says arrives; every fault is an error that names file, line, field and expectation.
#include "harness/life_cycle/waiver.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

const std::string kWhole = R"(# comment
[[known]]
name = "one pass"
op = ["layer_norm", "group_norm"]
dtype = "f32"
law = "*"
class = ["wrong", "nan"]
needs = ["mean offset", "columns"]
versions = ">=1.2,<1.4"
reason = "documented"
source = "owner/repository#1"
count = 2
entry = "slug"
)";

class Waivers : public ::testing::Test {
 protected:
  Result<std::vector<Waiver>> read(const std::string& text) {
    EXPECT_TRUE(write_file_atomically(path(), text));
    return read_waivers(path());
  }
  std::string path() const { return directory_.file("known.toml"); }
  TemporaryDirectory directory_;
};

Signature signature() { return {"t", "layer_norm", DType::kF32, "standard", FailureClass::kWrong, {"columns", "mean offset"}}; }

TEST_F(Waivers, WhatTheySay) {
  const auto waivers = read(kWhole);
  ASSERT_TRUE(waivers) << waivers.error();
  ASSERT_EQ(waivers->size(), 1U);
  const Waiver& w = waivers->front();
  EXPECT_EQ(w.name, "one pass");
  EXPECT_EQ(w.versions.text(), ">=1.2,<1.4");
  EXPECT_EQ(w.reason, "documented");
  EXPECT_EQ(w.source, "owner/repository#1");
  EXPECT_EQ(w.count, 2);
  EXPECT_EQ(w.entry, "slug");
  EXPECT_EQ(w.where, path() + ": line 2");
}

TEST_F(Waivers, NameSignaturesByTheirParts) {
  const auto named = [&](const std::string& text, const Signature& s) {
    const auto waivers = read(text);
    EXPECT_TRUE(waivers) << waivers.error();
    return waivers && waivers->front().names(s);
  };
  const auto with = [](auto&& change) {
    Signature s = signature();
    change(s);
    return s;
  };
  EXPECT_TRUE(named(kWhole, signature()));
  EXPECT_TRUE(named(kWhole, with([](Signature& s) { s.op = "group_norm"; })));
  EXPECT_TRUE(named(kWhole, with([](Signature& s) { s.law = "ln.one_feature_forward"; })));
  EXPECT_FALSE(named(kWhole, with([](Signature& s) { s.op = "rms_norm"; })));
  EXPECT_FALSE(named(kWhole, with([](Signature& s) { s.dtype = DType::kF16; })));
  EXPECT_FALSE(named(kWhole, with([](Signature& s) { s.failure = FailureClass::kInf; })));
  EXPECT_FALSE(named(kWhole, with([](Signature& s) { s.needs = {"columns"}; }))) << "a list of needs is the whole set";
  const auto needing = [](const std::string& needs) {
    std::string text = kWhole;
    const std::string from = "[\"mean offset\", \"columns\"]";
    return text.replace(text.find(from), from.size(), needs);
  };
  EXPECT_TRUE(named(needing("\"*\""), signature()));
  EXPECT_TRUE(named(needing("[\"mean offset\", \"*\"]"), signature())) << "and others";
  EXPECT_FALSE(named(needing("[\"mean offset\", \"*\"]"), with([](Signature& s) { s.needs = {"columns"}; })));
  EXPECT_FALSE(named(needing("[]"), signature()));
  EXPECT_TRUE(named(needing("[]"), with([](Signature& s) { s.needs = {}; })));
  EXPECT_TRUE(named(needing("\"rows\""), with([](Signature& s) { s.needs = {"rows"}; })));
  EXPECT_TRUE(named(needing("[[\"rows\"], [\"columns\", \"mean offset\"]]"), signature()));
  EXPECT_TRUE(named("[[known]]\ntarget = [\"s\", \"t\"]\n" + kWhole.substr(kWhole.find("name")), signature()));
  EXPECT_FALSE(named("[[known]]\ntarget = \"s\"\n" + kWhole.substr(kWhole.find("name")), signature()));
}

TEST_F(Waivers, NoFileIsNoWaiver) {
  const auto waivers = read_waivers(directory_.file("absent.toml"));
  ASSERT_TRUE(waivers);
  EXPECT_TRUE(waivers->empty());
}

TEST_F(Waivers, ADraftLacksOnlyWhatAPersonKnows) {
  const std::string draft = waiver_draft(signature(), "some-slug", "framework 1.3.0");
  const auto refused = read(draft);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), path() + ": line 9: known[0].reason: expected why this is known and waived");
  std::string complete = draft;
  for (const char* field : {"reason = \"", "source = \""}) complete.insert(complete.find(field) + 10, "said");
  const auto waivers = read(complete);
  ASSERT_TRUE(waivers) << waivers.error();
  EXPECT_TRUE(waivers->front().names(signature()));
  EXPECT_EQ(waivers->front().versions.text(), ">=1.3.0");
  EXPECT_EQ(waivers->front().entry, "some-slug");
}

struct Fault {
  std::string from, to, expected;  // replaced in kWhole; what the error says behind the file's name
};

TEST_F(Waivers, FaultsNameLineFieldAndExpectation) {
  for (const Fault& f : std::vector<Fault>{
           {"op = [\"layer_norm\", \"group_norm\"]", "op = \"softmax\"",
            "line 4: known[0].op: holds \"softmax\", expected an op of `normfuzz ops`"},
           {"op = [\"layer_norm\", \"group_norm\"]", "op = []", "line 4: known[0].op: expected a string, an array of strings, or \"*\""},
           {"op = [\"layer_norm\", \"group_norm\"]", "op = 3", "line 4: known[0].op: expected a string, an array of strings, or \"*\""},
           {"op = [\"layer_norm\", \"group_norm\"]\n", "", "line 2: known[0].op: missing, expected a value"},
           {"\"f32\"", "\"f8\"", "line 5: known[0].dtype: holds \"f8\", expected f64, f32, f16 or bf16"},
           {"\"nan\"]", "\"bad\"]",
            "line 7: known[0].class: holds \"bad\", expected one of wrong, nan, inf, memory, signal, hang, nondeterministic"},
           {"[\"mean offset\", \"columns\"]", "[3]",
            "line 8: known[0].needs: expected a string, an array of strings, an array of such arrays, or \"*\""},
           {">=1.2,<1.4", "1.2", "line 9: known[0].versions: is \"1.2\", expected \"*\" or comparisons such as \">=2.15,<2.17\""},
           {"\"documented\"", "\" \"", "line 10: known[0].reason: expected why this is known and waived"},
           {"source = \"owner/repository#1\"\n", "", "line 2: known[0].source: missing, expected a value"},
           {"count = 2", "count = 0", "line 12: known[0].count: expected a whole number from 1"},
           {"count = 2", "count = \"2\"", "line 12: known[0].count: expected a whole number from 1"},
           {"\"slug\"", "\"../slug\"", "line 13: known[0].entry: expected the name of a folder in corpus/bugzoo"},
           {"entry", "entri",
            "line 13: known[0].entri: unknown, expected one of name, target, op, dtype, law, class, needs, versions, reason, source, "
            "count, entry"},
           {"[[known]]", "[known]", "known: expected [[known]] tables"},
           {"[[known]]", "[[waived]]", "line 2: waived: unknown, expected [[known]] tables"},
           {"name = \"one pass\"", "name = ", "line 3: "}}) {
    std::string text = kWhole;
    ASSERT_NE(text.find(f.from), std::string::npos) << f.from;
    const auto waivers = read(text.replace(text.find(f.from), f.from.size(), f.to));
    ASSERT_FALSE(waivers) << f.expected;
    EXPECT_EQ(waivers.error().substr(0, path().size() + 2 + f.expected.size()), path() + ": " + f.expected);
  }
  const auto twice = read(kWhole + kWhole);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error(), path() + ": line 16: known[1].name: is that of another one, expected a name of its own");
}

}  // namespace
}  // namespace normfuzz::testing
