#include "core/case_io.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "core/safetensors.h"
#include "tests/generators.h"
#include "tests/public_cases.h"
#include "tests/temporary_directory.h"

namespace normfuzz {
namespace {

// Equal in every bit, which == on a parameter of -0 or NaN would not show.
bool identical(const Case& a, const Case& b) { return a == b && digest(a) == digest(b); }

constexpr std::string_view kValid = R"({"schema":"normfuzz.case/1","op":"layer_norm","params":{"epsilon":"0x1p-10"},)"
                                    R"("inputs":{"x":{"dtype":"f32","shape":[1,4],"data":["0x1p+0","0x1p+1",3,-0.5]},"weight":null},)"
                                    R"("source":"s","note":"","expect":{"y":{"dtype":"f32","shape":[1],"data":["nan"]}},)"
                                    R"("provenance":{"generator_version":1,"seed":"18446744073709551615","index":7,"regime":"gaussian"},)"
                                    R"("property":{"id":"p","args":{"c":"2"}}})";

// The valid text with one thing replaced; the thing must be there.
std::string edited(std::string_view from, std::string_view to) {
  std::string text(kValid);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CaseIo, ReadsEveryField) {
  const Result<Case> r = parse_case(kValid, "f");
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->op, "layer_norm");
  EXPECT_EQ(r->epsilon(), 0x1p-10);
  ASSERT_EQ(r->inputs.size(), 2u);
  const Tensor& x = *r->input("x");
  EXPECT_EQ(x.shape, (std::vector<std::int64_t>{1, 4}));
  EXPECT_TRUE(x.dense());
  EXPECT_EQ(x.value(2), 3);
  EXPECT_EQ(x.value(3), -0.5);
  EXPECT_EQ(r->inputs[1].first, "weight");
  EXPECT_FALSE(r->inputs[1].second);
  EXPECT_TRUE(std::isnan(r->expect.at("y").value(0)));
  EXPECT_EQ(*r->provenance, (Provenance{1, ~std::uint64_t{0}, 7, "gaussian"}));
  EXPECT_EQ(*r->property, (PropertyRef{"p", {{"c", "2"}}}));
}

TEST(CaseIo, ReadsALayout) {
  const Result<Case> r = parse_case(edited(R"("shape":[1,4],)", R"("shape":[1,4],"strides":[0,3],"offset":2,"misalign":60,)"), "f");
  ASSERT_TRUE(r) << r.error();
  const Tensor& x = *r->input("x");
  EXPECT_EQ(x.strides, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(x.offset, 2);
  EXPECT_EQ(x.misalign, 60);
}

TEST(CaseIo, NegativeZeroAsANumberKeepsItsSign) {
  const Result<Case> r = parse_case(edited("3,-0.5", "-0,-0.0"), "f");
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->input("x")->bits(2), 0x80000000u);
  EXPECT_EQ(r->input("x")->bits(3), 0x80000000u);
}

struct Refusal {
  std::string_view from, to, message;
};

// One line each: file, field, what was found, what was expected.
constexpr Refusal kRefusals[] = {
    {"normfuzz.case/1", "normfuzz.case/2", R"(f: schema: "normfuzz.case/2", expected "normfuzz.case/1")"},
    {R"("schema":"normfuzz.case/1",)", "", R"(f: schema: missing, expected "normfuzz.case/1")"},
    {R"("op":"layer_norm",)", "", "f: op: missing, expected a value"},
    {R"("layer_norm")", R"("Layer Norm")", R"(f: op: "Layer Norm", expected the name of an operator)"},
    {R"("layer_norm")", "7", "f: op: the integer 7, expected a string"},
    {R"("note":"")", R"("notes":"")",
     "f: notes: unknown field, expected one of schema, op, params, inputs, source, note, expect, provenance, property"},
    {R"("note":"")", R"("source":"")", R"(f: document: field "source" twice in one object, expected once)"},
    // Parameters.
    {R"("0x1p-10")", R"("nan")", R"(f: params.epsilon: the string "nan", expected a finite number >= 0 that float32 represents exactly)"},
    {R"("0x1p-10")", R"("inf")", R"(f: params.epsilon: the string "inf", expected a finite number >= 0 that float32 represents exactly)"},
    {R"("0x1p-10")", "-1", "f: params.epsilon: the integer -1, expected a finite number >= 0 that float32 represents exactly"},
    {R"("0x1p-10")", R"("0x1.000001p-10")",
     R"(f: params.epsilon: the string "0x1.000001p-10", expected a finite number >= 0 that float32 represents exactly)"},
    {R"("0x1p-10")", "1e-5", "f: params.epsilon: 1e-5, expected a number that f64 holds exactly (write it in hexadecimal)"},
    {R"("0x1p-10")", "null", "f: params.epsilon: null, expected a finite number >= 0 that float32 represents exactly"},
    {R"("0x1p-10")", R"("1e-5")", R"(f: params.epsilon: "1e-5", expected a C hexadecimal float, "inf", "-inf" or "nan")"},
    {R"("epsilon":)", R"("eps":)", "f: params.eps: unknown parameter, expected a parameter of docs/case-format.md"},
    {R"("epsilon":"0x1p-10")", R"("axis":1.0)", "f: params.axis: the number 1.0, expected an axis from -rank to rank-1"},
    {R"("epsilon":"0x1p-10")", R"("axis":"0x1p+0")", R"(f: params.axis: the string "0x1p+0", expected an axis from -rank to rank-1)"},
    {R"("epsilon":"0x1p-10")", R"("axis":9223372036854775808)",
     "f: params.axis: the integer 9223372036854775808, expected an axis from -rank to rank-1"},
    {R"("epsilon":"0x1p-10")", R"("groups":0)", "f: params.groups: the integer 0, expected an integer >= 1"},
    {R"("epsilon":"0x1p-10")", R"("training":true)", "f: params.training: true, expected 0 or 1"},
    {R"("epsilon":"0x1p-10")", R"("layout":"ncwh")", R"(f: params.layout: "ncwh", expected "nchw" or "nhwc")"},
    {R"("epsilon":"0x1p-10")", R"("p":"0x1p-1")", R"(f: params.p: the string "0x1p-1", expected a number >= 1 or "inf")"},
    {R"("epsilon":"0x1p-10")", R"("p":9223372036854775808)",
     "f: params.p: the integer 9223372036854775808, expected a number >= 1 or \"inf\""},
    {R"("epsilon":"0x1p-10")", R"("p":9007199254740993)",
     "f: params.p: the integer 9007199254740993, expected a number that f64 holds exactly"},
    {R"("epsilon":"0x1p-10")", R"("p":9223372036854775807)",
     "f: params.p: the integer 9223372036854775807, expected a number that f64 holds exactly"},
    // Tensors.
    {R"({"dtype":"f32","shape":[1],"data":["nan"]})", "null", "f: expect.y: null, expected a tensor"},
    {R"("f32","shape":[1,4])", R"("float32","shape":[1,4])", R"(f: inputs.x.dtype: "float32", expected f64, f32, f16 or bf16)"},
    {R"("dtype":"f32","shape":[1,4],)", R"("dtype":"f32",)", "f: inputs.x.shape: missing, expected an array of extents"},
    {"[1,4]", "[1,0]", "f: inputs.x.shape[1]: 0, expected an integer >= 1"},
    {"[1,4]", "[-1,4]", "f: inputs.x.shape[0]: -1, expected an integer >= 1"},
    {"[1,4]", "[1,4.0]", "f: inputs.x.shape[1]: the number 4.0, expected an integer >= 1"},
    {"[1,4]", "4", "f: inputs.x.shape: the integer 4, expected an array of extents"},
    {"[1,4]", "[1,1,1,1,1,1,1,1,4]", "f: inputs.x.shape: rank 9, expected at most 8"},
    {"[1,4]", "[4294967296,4294967296]", "f: inputs.x.shape: a product beyond 64 bits, expected one below 2^63"},
    {"[1,4]", "[18446744073709551616]", "f: inputs.x.shape[0]: the number 18446744073709551616, expected an integer >= 1"},
    {"[1,4]", "[65536,65536]", "f: inputs.x: a layout that spans more than 4 GiB, expected shape, strides and offset that stay below it"},
    {"[1,4]", "[1,5]", "f: inputs.x.data: 4 elements, expected 5 (the product of the shape)"},
    {"[1,4]", R"([1,4],"strides":[1])", "f: inputs.x.strides: 1 strides, expected 2, one per extent"},
    {"[1,4]", R"([1,4],"strides":[4,-1])", "f: inputs.x.strides[1]: -1, expected an integer >= 0 (elements)"},
    {"[1,4]", R"([1,4],"strides":[4,4611686018427387904])",
     "f: inputs.x: a layout that spans more than 4 GiB, expected shape, strides and offset that stay below it"},
    {"[1,4]", R"([1,4],"offset":-1)", "f: inputs.x.offset: -1, expected an integer >= 0 (elements)"},
    {"[1,4]", R"([1,4],"offset":9223372036854775807)",
     "f: inputs.x: a layout that spans more than 4 GiB, expected shape, strides and offset that stay below it"},
    {"[1,4]", R"([1,4],"misalign":2)", "f: inputs.x.misalign: 2, expected a multiple of the element's 4 bytes from 0 to 63"},
    {"[1,4]", R"([1,4],"misalign":64)", "f: inputs.x.misalign: 64, expected a multiple of the element's 4 bytes from 0 to 63"},
    {"[1,4]", R"([1,4],"stride":[4,1])",
     "f: inputs.x.stride: unknown field, expected one of dtype, shape, data, strides, offset, misalign"},
    {R"("shape":[1],)", R"("shape":[1],"strides":[0],)",
     "f: expect.y.strides[0]: 0, expected an integer >= 1 (0 repeats elements: inputs only)"},
    {R"("x":)", R"("X y":)", R"(f: inputs."X y": not a name, expected lower-case letters, digits and _, at most 31)"},
    // Elements.
    {R"("0x1p+1")", R"("0x1.000001p+1")", "f: inputs.x.data[1]: 0x1.000001p+1, expected a value that f32 represents exactly"},
    {R"("0x1p+1")", R"("0x1p+128")", "f: inputs.x.data[1]: 0x1p+128, expected a value that f32 represents exactly"},
    {R"("0x1p+1")", R"("0x1p-150")", "f: inputs.x.data[1]: 0x1p-150, expected a value that f32 represents exactly"},
    {R"("0x1p+1")", "16777217", "f: inputs.x.data[1]: 0x1.000001p+24, expected a value that f32 represents exactly"},
    {R"("0x1p+1")", "9223372036854775808",
     "f: inputs.x.data[1]: the integer 9223372036854775808, expected a number or a hexadecimal string"},
    {R"("0x1p+1")", "0.1", "f: inputs.x.data[1]: 0.1, expected a number that f64 holds exactly (write it in hexadecimal)"},
    {R"("0x1p+1")", R"("two")", R"(f: inputs.x.data[1]: "two", expected a C hexadecimal float, "inf", "-inf" or "nan")"},
    {R"("0x1p+1")", "null", "f: inputs.x.data[1]: null, expected a number or a hexadecimal string"},
    {R"("0x1p+1")", R"(["0x1p+1"])", "f: inputs.x.data[1]: an array of 1, expected a number or a hexadecimal string"},
    {R"(["nan"])", R"({"safetensors":"y","digest":"0"})",
     "f: expect.y.data: data kept in another file, expected data in the text, which has no directory"},
    {R"(["nan"])", R"({"file":"y"})", "f: expect.y.data: an object of 1, expected an array, or an object of safetensors and digest"},
    // The rest.
    {R"("generator_version":1,)", "", "f: provenance.generator_version: missing, expected a value"},
    {R"("generator_version":1,)", R"("generator_version":2147483648,)",
     "f: provenance.generator_version: 2147483648, expected an integer from 0 to 2^31-1"},
    {"18446744073709551615", "18446744073709551616",
     R"(f: provenance.seed: the string "18446744073709551616", expected an integer from 0 to 2^64-1, as a string of decimal digits or a number)"},
    {R"("index":7)", R"("index":-7)",
     "f: provenance.index: the integer -7, expected an integer from 0 to 2^64-1, as a string of decimal digits or a number"},
    {R"("regime")", R"("regimes")", "f: provenance.regime: missing, expected a value"},
    {R"("id":"p")", R"("id":"")", "f: property.id: empty, expected the identifier of a property"},
    {R"({"c":"2"})", R"({"c":2})", "f: property.args.c: the integer 2, expected a string"},
};

TEST(CaseIo, RefusesNamingFileFieldAndExpectation) {
  for (const Refusal& refusal : kRefusals) {
    const Result<Case> r = parse_case(edited(refusal.from, refusal.to), "f");
    ASSERT_FALSE(r) << refusal.to;
    EXPECT_EQ(r.error(), refusal.message);
  }
}

TEST(CaseIo, RefusesWhatIsNotADocument) {
  EXPECT_EQ(parse_case("", "f").error(), "f: document: empty, expected JSON");
  EXPECT_EQ(parse_case("[]", "f").error(), "f: document: an array of 0, expected an object");
  EXPECT_EQ(parse_case(std::string(kMaxCaseBytes + 1, ' '), "f").error(), "f: document: 67108865 bytes, expected at most 67108864");
}

TEST(CaseIo, RefusesEveryTruncation) {
  for (std::size_t n = 0; n < kValid.size(); ++n) {
    const Result<Case> r = parse_case(kValid.substr(0, n), "f");
    ASSERT_FALSE(r) << n;
    EXPECT_TRUE(r.error().starts_with("f: document: ")) << r.error();
  }
}

TEST(CaseIo, PublicCasesAreReadAndKept) {
  for (const std::string& file : testing::public_case_files()) {
    const Result<Case> c = read_case(file);
    ASSERT_TRUE(c) << c.error();
    EXPECT_FALSE(c->inputs.empty());
    EXPECT_FALSE(c->expect.empty());
    const Result<Case> back = parse_case(write_case(*c), "back");
    ASSERT_TRUE(back) << back.error();
    EXPECT_TRUE(identical(*back, *c)) << file;
  }
}

RC_GTEST_PROP(CaseIoProperty, WritingAndReadingKeepsEveryBit, ()) {
  const Case c = *testing::any_case();
  const Result<Case> back = parse_case(write_case(c), "back");
  if (!back) RC_FAIL(back.error());
  RC_ASSERT(identical(*back, c));
  RC_ASSERT(write_case(*back) == write_case(c));
}

// Random damage is refused or read, never worse (the fuzzer's driver looks harder).
RC_GTEST_PROP(CaseIoProperty, DamagedTextGivesOneLineOrACase, ()) {
  std::string text = write_case(*testing::any_case());
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::arbitrary<char>();
  const Result<Case> r = parse_case(text, "f");
  if (!r) RC_ASSERT(r.error().find('\n') == std::string::npos);
}

TEST(CaseIo, WritesOneLinePerTensorAndLeavesOutWhatIsDefault) {
  Case c;
  c.op = "rms_norm";
  c.params["epsilon"] = 0.0;
  Tensor x = Tensor::zeros(DType::kBF16, {2});
  x.set_value(0, -0.0);
  x.set_value(1, 40000);
  c.set_input("x", x);
  c.set_input("weight", std::nullopt);
  EXPECT_EQ(write_case(c),
            "{\"schema\":\"normfuzz.case/1\",\"op\":\"rms_norm\",\n \"params\":{\"epsilon\":\"0x0p+0\"},\n \"inputs\":{\n"
            "  \"x\":{\"dtype\":\"bf16\",\"shape\":[2],\"data\":[\"-0x0p+0\",\"0x1.38p+15\"]},\n  \"weight\":null\n }}\n");
}

Case large_case() {
  Case c;
  c.op = "layer_norm";
  c.params["epsilon"] = 0x1p-20;
  Tensor x = Tensor::zeros(DType::kF16, {3, 2000});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set_value(i, static_cast<double>(i % 1000) - 500);
  x.strides = {2048, 1};
  x.offset = 3;
  c.set_input("x", x);
  c.set_input("weight", std::nullopt);
  c.expect["y"] = Tensor::zeros(DType::kF64, {3, 2000});
  return c;
}

TEST(SavedCase, SmallOnesAreOneFile) {
  const testing::TemporaryDirectory directory;
  const Case c = *parse_case(kValid, "f");
  ASSERT_TRUE(save_case(c, directory.file("case.json")));
  EXPECT_EQ(directory.entries(), 1u);
  EXPECT_TRUE(identical(*read_case(directory.file("case.json")), c));
}

TEST(SavedCase, LargeOnesKeepTheirDataBeside) {
  const testing::TemporaryDirectory directory;
  const Case c = large_case();
  const std::string path = directory.file("case.json");
  ASSERT_TRUE(save_case(c, path));
  EXPECT_EQ(directory.entries(), 2u);
  EXPECT_LT(std::filesystem::file_size(path), 1000u);
  EXPECT_EQ(sidecar_path(path), directory.file("case.safetensors"));
  const Result<Case> back = read_case(path);
  ASSERT_TRUE(back) << back.error();
  EXPECT_TRUE(identical(*back, c));
}

TEST(SavedCase, DataOfAnotherSaveIsRefused) {
  const testing::TemporaryDirectory directory;
  Case c = large_case();
  const std::string path = directory.file("case.json");
  ASSERT_TRUE(save_case(c, path));
  const std::string old_text = *read_file(path, kMaxCaseBytes);
  c.input("x")->set_value(0, 1);
  ASSERT_TRUE(save_case(c, path));
  ASSERT_TRUE(write_file_atomically(path, old_text));
  const Result<Case> r = read_case(path);
  ASSERT_FALSE(r);
  EXPECT_TRUE(r.error().starts_with(path + ": inputs.x.data.digest: \"")) << r.error();
}

TEST(SavedCase, MissingOrDamagedDataIsRefused) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("case.json"), beside = sidecar_path(path);
  ASSERT_TRUE(save_case(large_case(), path));
  const std::string bytes = *read_file(beside, kMaxTensorFileBytes);
  ASSERT_TRUE(write_file_atomically(beside, bytes.substr(0, bytes.size() - 1)));
  EXPECT_TRUE(read_case(path).error().starts_with(path + ": inputs.x.data: " + beside + ": data: "));
  std::filesystem::remove(beside);
  EXPECT_EQ(read_case(path).error(), path + ": inputs.x.data: " + beside + ": cannot read: No such file or directory");
}

TEST(SavedCase, NanWithAPayloadIsRefused) {
  const testing::TemporaryDirectory directory;
  Case c = *parse_case(kValid, "f");
  c.input("x")->set_bits(1, 0x7fc00001);
  const std::string path = directory.file("case.json");
  EXPECT_EQ(save_case(c, path).error(), path + ": inputs.x.data[1]: a NaN with a payload, expected the canonical NaN");
  EXPECT_EQ(directory.entries(), 0u);
}

TEST(SavedCase, ReadingNamesWhatIsWrongWithTheFile) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("case.json");
  EXPECT_EQ(read_case(path).error(), path + ": cannot read: No such file or directory");
  EXPECT_EQ(read_case(directory.path()).error(), directory.path() + ": file: a directory, expected a file");
  ASSERT_TRUE(write_file_atomically(path, ""));
  EXPECT_EQ(read_case(path).error(), path + ": document: empty, expected JSON");
  std::filesystem::resize_file(path, kMaxCaseBytes + 1);
  EXPECT_EQ(read_case(path).error(), path + ": file: 67108865 bytes, expected at most 67108864");
}

}  // namespace
}  // namespace normfuzz
