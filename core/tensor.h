// A tensor as a case stores it: exact elements in logical row-major order, and the layout a target will see them in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/dtype.h"

namespace normfuzz {

// Rank at most 8: what the worker protocol's fixed records hold.
inline constexpr int kMaxRank = 8;

struct Tensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;    // extents; an empty shape is a scalar
  std::vector<std::int64_t> strides;  // elements; same length as shape; 0 allowed on inputs only
  std::int64_t offset = 0;            // elements between the base of the buffer and element [0, ..., 0]
  int misalign = 0;             // bytes modulo 64 by which the base address is off a 64-byte boundary (a multiple of the element size)
  std::vector<std::byte> data;  // size() elements, logical row-major order, dense

  // A dense tensor of zeros.
  static Tensor zeros(DType dtype, std::vector<std::int64_t> shape);

  std::int64_t size() const;
  int rank() const { return static_cast<int>(shape.size()); }
  bool dense() const;  // strides are the row-major ones and offset and misalign are 0

  std::uint64_t bits(std::int64_t index) const { return load_bits(dtype, &data[static_cast<std::size_t>(index) * element_bytes()]); }
  void set_bits(std::int64_t index, std::uint64_t b) { store_bits(dtype, &data[static_cast<std::size_t>(index) * element_bytes()], b); }
  double value(std::int64_t index) const { return value_from_bits(dtype, bits(index)); }
  // All elements in logical order, exactly; or `count` of them from `first` on, into `out`.
  std::vector<double> values() const;
  void values(std::int64_t first, std::int64_t count, double* out) const;
  // Rounds to nearest even into the dtype.
  void set_value(std::int64_t index, double v) { set_bits(index, bits_from_value(dtype, v)); }
  std::size_t element_bytes() const { return static_cast<std::size_t>(format_of(dtype).bytes); }

  // Elements from the buffer's base to one past the last addressed element (offset included).
  std::int64_t extent() const;
  // Offset in elements, from the base, of each logical index in turn.
  std::vector<std::int64_t> element_offsets() const;

  bool operator==(const Tensor&) const = default;
};

// Row-major strides of a dense tensor.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

// The same elements, dense, at offset 0, aligned.
Tensor dense(Tensor t);

// Two elements hold the same bits; NaNs are equal whatever their payloads.
bool same_bits(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j);

// Product of the extents, or -1 if an extent is negative or the product leaves 63 bits.
std::int64_t checked_size(const std::vector<std::int64_t>& shape);

}  // namespace normfuzz
