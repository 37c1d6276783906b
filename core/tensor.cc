#include "core/tensor.h"

#include <algorithm>
#include <cstring>

namespace normfuzz {

std::int64_t checked_size(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return -1;
  return product;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  return strides;
}

Tensor dense(Tensor t) {
  t.strides = dense_strides(t.shape);
  t.offset = 0;
  t.misalign = 0;
  return t;
}

bool same_bits(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
  return a.bits(i) == b.bits(j) || (is_nan_bits(a.dtype, a.bits(i)) && is_nan_bits(b.dtype, b.bits(j)));
}

Tensor Tensor::zeros(DType dtype, std::vector<std::int64_t> shape) {
  Tensor t;
  t.dtype = dtype;
  t.strides = dense_strides(shape);
  t.shape = std::move(shape);
  t.data.resize(static_cast<std::size_t>(t.size()) * t.element_bytes());
  return t;
}

std::int64_t Tensor::size() const { return checked_size(shape); }

bool Tensor::dense() const { return offset == 0 && misalign == 0 && strides == dense_strides(shape); }

namespace {

// All 65,536 values of a 16-bit format, as floats: exact, and one load where a conversion would branch.
std::vector<float> table_of(DType d) {
  std::vector<float> table(65536);
  for (std::uint32_t b = 0; b < 65536; ++b) table[b] = static_cast<float>(value_from_bits(d, b));
  return table;
}

template <class Stored, class F>
void decode(const std::byte* at, std::int64_t count, double* out, F value) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored s;
    std::memcpy(&s, at + static_cast<std::size_t>(i) * sizeof s, sizeof s);
    out[i] = value(s);
  }
}

}  // namespace

void Tensor::values(std::int64_t first, std::int64_t count, double* out) const {
  static const std::vector<float> kHalf = table_of(DType::kF16);
  const std::byte* at = data.data() + static_cast<std::size_t>(first) * element_bytes();
  switch (dtype) {
    case DType::kF64:
      return decode<double>(at, count, out, [](double v) { return v; });
    case DType::kF32:
      return decode<float>(at, count, out, [](float v) { return static_cast<double>(v); });
    case DType::kF16:
      return decode<std::uint16_t>(at, count, out, [](std::uint16_t b) { return static_cast<double>(kHalf[b]); });
    case DType::kBF16:
      return decode<std::uint16_t>(at, count, out,
                                   [](std::uint16_t b) { return static_cast<double>(std::bit_cast<float>(std::uint32_t{b} << 16)); });
  }
}

std::vector<double> Tensor::values() const {
  std::vector<double> out(static_cast<std::size_t>(size()));
  values(0, size(), out.data());
  return out;
}

std::int64_t Tensor::extent() const {
  if (size() == 0) return offset;
  std::int64_t last = offset;
  for (std::size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return last + 1;
}

std::vector<std::int64_t> Tensor::element_offsets() const {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(size()));
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t at = offset;
  for (auto& out : offsets) {
    out = at;
    for (std::size_t d = shape.size(); d-- > 0;) {  // odometer
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return offsets;
}

}  // namespace normfuzz
