#include "core/npy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/files.h"
#include "tests/core/cross_check.h"
#include "tests/generators.h"

namespace normfuzz {
namespace {

std::string file_of(const std::string& header, std::size_t data_bytes, char version = 1) {
  std::string out = "\x93NUMPY";
  out += version;
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  out += header;
  for (std::size_t i = 0; i < data_bytes; ++i) out += static_cast<char>(i);
  return out;
}

RC_GTEST_PROP(NpyProperty, WritingAndReadingKeepsEveryBit, ()) {
  const Tensor t = *testing::any_tensor();
  const std::string bytes = write_npy(t);
  const Result<Tensor> back = parse_npy(bytes, "f", t.dtype);
  if (!back) RC_FAIL(back.error());
  RC_ASSERT(back->shape == t.shape);
  RC_ASSERT(back->data == t.data);
  RC_ASSERT(back->dense());
  const auto shorter = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT(!parse_npy(std::string_view(bytes).substr(0, shorter), "f", t.dtype));
}

TEST(Npy, FortranOrderBecomesStrides) {
  const Result<Tensor> t = parse_npy(file_of("{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }\n", 12), "f");
  ASSERT_TRUE(t) << t.error();
  EXPECT_EQ(t->strides, (std::vector<std::int64_t>{1, 2}));
  // Stored elements, as 16-bit little-endian: 0x0100 0x0302 0x0504 ...; element [0, 1] is the third of them.
  EXPECT_EQ(t->bits(0), 0x0100u);
  EXPECT_EQ(t->bits(1), 0x0504u);
  EXPECT_EQ(t->bits(3), 0x0302u);
  EXPECT_EQ(t->bits(5), 0x0b0au);
}

TEST(Npy, RefusesNamingFileFieldAndExpectation) {
  const auto header = [](const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
  };
  const struct {
    std::string bytes, message;
  } refusals[] = {
      {"", "f: file: does not begin with NumPy's magic, expected a .npy file"},
      {"PK\x03\x04 an .npz file", "f: file: does not begin with NumPy's magic, expected a .npy file"},
      {file_of("{}", 0, 4), "f: version: 4, expected 1 to 3"},
      {file_of(header("<f4", "(1,)"), 4).substr(0, 20), "f: header: truncated at 20 bytes, expected a whole header"},
      {file_of("{}", 0), R"(f: header: "{}", expected a dictionary of descr, fortran_order, shape)"},
      {file_of(header(">f4", "(1,)"), 4), R"(f: descr: ">f4", expected <f8, <f4, <f2, or <u2 with dtype bf16)"},
      {file_of(header("<i4", "(1,)"), 4), R"(f: descr: "<i4", expected <f8, <f4, <f2, or <u2 with dtype bf16)"},
      {file_of(header("<u2", "(1,)"), 2), R"(f: descr: "<u2", expected <f8, <f4, <f2, or <u2 with dtype bf16)"},
      {file_of(header("<f4", "(0,)"), 0), "f: shape: extent 0, expected at least 1"},
      {file_of(header("<f4", "(-1,)"), 4), "f: shape: extent -1, expected at least 1"},
      {file_of(header("<f4", "(1,1,1,1,1,1,1,1,1)"), 4), "f: shape: rank 9, expected at most 8"},
      {file_of(header("<f4", "(4294967296,4294967296)"), 4), "f: shape: a product beyond 64 bits, expected one below 2^63 bytes"},
      {file_of(header("<f4", "(2305843009213693953,)"), 4), "f: shape: a product beyond 64 bits, expected one below 2^63 bytes"},
      {file_of(header("<f4", "(2,)"), 7), "f: data: 7 bytes, expected 8 (shape and dtype)"},
      {file_of(header("<f4", "(2,)"), 9), "f: data: 9 bytes, expected 8 (shape and dtype)"},
  };
  for (const auto& refusal : refusals) {
    const Result<Tensor> r = parse_npy(refusal.bytes, "f");
    ASSERT_FALSE(r) << refusal.message;
    EXPECT_EQ(r.error(), refusal.message);
  }
  for (const char* text :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (1L,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"}) {
    EXPECT_FALSE(parse_npy(file_of(text, 4), "f")) << text;
  }
}

TEST(Npy, DtypeMustBeTheFiles) {
  const std::string f32 = write_npy(Tensor::zeros(DType::kF32, {2})), bf16 = write_npy(Tensor::zeros(DType::kBF16, {2}));
  EXPECT_TRUE(parse_npy(f32, "f", DType::kF32));
  EXPECT_EQ(parse_npy(f32, "f", DType::kF64).error(), R"(f: descr: "<f4", expected f64)");
  EXPECT_EQ(parse_npy(f32, "f", DType::kBF16).error(), R"(f: descr: "<f4", expected bf16)");
  EXPECT_EQ(parse_npy(bf16, "f", DType::kBF16)->dtype, DType::kBF16);
  EXPECT_FALSE(parse_npy(bf16, "f", DType::kF16));
}

TEST(Npy, AgreesWithNumPy) {
  NORMFUZZ_NEED_CROSS_CHECK_PYTHON();
  const testing::TemporaryDirectory directory;
  for (const DType d : kAllDTypes) {
    Tensor t = Tensor::zeros(d, {3, 5, 2});
    for (std::int64_t i = 0; i < t.size(); ++i) t.set_value(i, static_cast<double>(i) - 7);
    ASSERT_TRUE(write_file_atomically(directory.file("ours_" + std::string(name_of(d)) + ".npy"), write_npy(t)));
  }
  ASSERT_TRUE(write_file_atomically(directory.file("scalar.npy"), write_npy(Tensor::zeros(DType::kF64, {}))));
  ASSERT_TRUE(run_python(directory, R"(
import numpy as np
expected = np.arange(30.0).reshape(3, 5, 2) - 7
for name, dtype in (("f64", "f8"), ("f32", "f4"), ("f16", "f2")):
    a = np.load(f"ours_{name}.npy")
    assert a.dtype == dtype and a.shape == (3, 5, 2) and (a == expected).all()
    np.save(f"c_{name}.npy", a)
    np.save(f"fortran_{name}.npy", np.asfortranarray(a))
    with open(f"v2_{name}.npy", "wb") as f:
        np.lib.format.write_array(f, a, version=(2, 0))
b = np.load("ours_bf16.npy")
assert b.dtype == "u2" and ((b.astype("u4") << 16).view("f4") == expected).all()
np.save("c_bf16.npy", b)
assert np.load("scalar.npy").shape == ()
)"));
  for (const char* prefix : {"c_", "fortran_", "v2_"}) {
    for (const DType d : kAllDTypes) {
      if (d == DType::kBF16 && std::string(prefix) != "c_") continue;
      const Result<Tensor> t = read_npy(directory.file(prefix + std::string(name_of(d)) + ".npy"), d);
      ASSERT_TRUE(t) << t.error();
      EXPECT_EQ(t->shape, (std::vector<std::int64_t>{3, 5, 2}));
      EXPECT_EQ(t->dense(), std::string(prefix) != "fortran_");
      for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(t->value(i), static_cast<double>(i) - 7);
    }
  }
}

}  // namespace
}  // namespace normfuzz
