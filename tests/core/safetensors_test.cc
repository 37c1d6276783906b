#include "core/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "core/files.h"
#include "tests/core/cross_check.h"
#include "tests/generators.h"

namespace normfuzz {
namespace {

std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + std::string(data_bytes, '\0');
}

RC_GTEST_PROP(SafetensorsProperty, WritingAndReadingKeepsEveryBit, ()) {
  TensorList tensors;
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) {
    Tensor t = *testing::any_tensor();
    t = [&] {  // the format has no layout
      Tensor dense = Tensor::zeros(t.dtype, t.shape);
      dense.data = t.data;
      return dense;
    }();
    tensors.emplace_back(std::string(1, static_cast<char>('a' + i)) + *testing::any_text(), t);
  }
  std::vector<std::pair<std::string, const Tensor*>> pointers;
  for (const auto& [name, t] : tensors) pointers.emplace_back(name, &t);
  const std::string bytes = write_safetensors(pointers);
  Result<TensorList> back = parse_safetensors(bytes, "f");
  if (!back) RC_FAIL(back.error());
  std::sort(back->begin(), back->end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  RC_ASSERT(*back == tensors);
  // Every truncation is refused.
  const auto shorter = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT(!parse_safetensors(std::string_view(bytes).substr(0, shorter), "f"));
}

TEST(Safetensors, RefusesNamingFileFieldAndExpectation) {
  const struct {
    std::string bytes, message;
  } refusals[] = {
      {"", "f: file: 0 bytes, expected at least 8, the header's length"},
      {file_of("{}", 0).substr(0, 9), "f: header: 2 bytes, expected at most 1, the rest of the file"},
      {std::string(8, '\xff') + "{}", "f: header: 18446744073709551615 bytes, expected at most 2, the rest of the file"},
      {file_of("[]", 0), "f: header: something else, expected a JSON object"},
      {file_of("{}", 4), "f: data: 4 bytes, expected 0 (the end of the last tensor)"},
      {file_of(R"({"x":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8),
       R"(f: "x".dtype: the string "I64", expected F64, F32, F16 or BF16)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
       R"(f: "x".data_offsets: 4 bytes, expected the size of shape and dtype)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
       R"(f: "x".data_offsets: an array of 2, expected [begin, end] in bytes)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4),
       R"(f: "x".data_offsets: an array of 2, expected [begin, end] in bytes)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), R"(f: "x".data_offsets: begins at 4, expected 0)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
       R"(f: "y".data_offsets: begins at 0, expected 4)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5),
       "f: data: 5 bytes, expected 4 (the end of the last tensor)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 0),
       R"(f: "x".shape: an array of 1, expected an array of integers >= 1)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4),
       R"(f: "x".shape: an array of 1, expected an array of integers >= 1)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4),
       R"(f: "x".shape: a product beyond 64 bits, expected one below 2^63)"},
      {file_of(R"({"x":{"dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8]}})", 8),
       R"(f: "x".data_offsets: 8 bytes, expected the size of shape and dtype)"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"z":1}})", 4),
       R"(f: "x": other fields, expected dtype, shape, data_offsets)"},
      {file_of(R"({"x":7})", 0), R"(f: "x": the integer 7, expected an object)"},
      {file_of(R"({"__metadata__":{"a":1}})", 0), "f: __metadata__: the integer 1, expected strings only"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
       R"(f: document: field "x" twice in one object, expected once)"},
  };
  for (const auto& refusal : refusals) {
    const Result<TensorList> r = parse_safetensors(refusal.bytes, "f");
    ASSERT_FALSE(r) << refusal.message;
    EXPECT_EQ(r.error(), refusal.message);
  }
  EXPECT_TRUE(parse_safetensors(file_of(R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  )", 4), "f"));
}

// (TensorSpec: from version 0.8 of the package on.) Files of ours read by the PyPI package, files of the package read by us: every f16 and
// bf16 pattern, and what the other dtypes have.
TEST(Safetensors, AgreesWithThePackage) {
  NORMFUZZ_NEED_CROSS_CHECK_PYTHON();
  const testing::TemporaryDirectory directory;
  TensorList tensors = {{"h", Tensor::zeros(DType::kF16, {256, 256})},
                        {"b", Tensor::zeros(DType::kBF16, {65536})},
                        {"f", Tensor::zeros(DType::kF32, {2, 3})},
                        {"d", Tensor::zeros(DType::kF64, {})}};
  for (auto& [name, t] : tensors)
    for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, static_cast<std::uint64_t>(i) * (t.element_bytes() == 2 ? 1 : 0x01234567));
  std::vector<std::pair<std::string, const Tensor*>> pointers;
  for (const auto& [name, t] : tensors) pointers.emplace_back(name, &t);
  ASSERT_TRUE(write_file_atomically(directory.file("ours.safetensors"), write_safetensors(pointers)));
  ASSERT_TRUE(run_python(directory, R"(
import numpy as np
from safetensors import TensorSpec, deserialize, safe_open, serialize_file
raw = dict(deserialize(open("ours.safetensors", "rb").read()))
def bits(name, dtype, shape, np_type):
    assert raw[name]["dtype"] == dtype and raw[name]["shape"] == shape, raw[name]["dtype"]
    return np.frombuffer(raw[name]["data"], np_type)
assert (bits("h", "F16", [256, 256], "u2") == np.arange(65536)).all()
assert (bits("b", "BF16", [65536], "u2") == np.arange(65536)).all()
assert (bits("f", "F32", [2, 3], "u4") == np.arange(6) * 0x01234567).all()
assert (bits("d", "F64", [], "u8") == [0]).all()
with safe_open("ours.safetensors", framework="np") as f:
    assert f.get_tensor("h").dtype == np.float16
arrays = {n: np.frombuffer(bytes(raw[n]["data"]), "u1") for n in raw}
names = {"f": "float32", "h": "float16", "d": "float64", "b": "bfloat16"}
serialize_file({n: TensorSpec(dtype=names[n], shape=raw[n]["shape"], data_ptr=a.ctypes.data, data_len=a.nbytes)
                for n, a in arrays.items()}, "theirs.safetensors", {"a": "b"})
)"));
  Result<TensorList> theirs = read_safetensors(directory.file("theirs.safetensors"));
  ASSERT_TRUE(theirs) << theirs.error();
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(theirs->begin(), theirs->end(), by_name);
  std::sort(tensors.begin(), tensors.end(), by_name);
  EXPECT_EQ(*theirs, tensors);
}

}  // namespace
}  // namespace normfuzz
