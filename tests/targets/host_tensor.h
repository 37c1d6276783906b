// A tensor in host memory with shape, strides and alignment of the test's choice, between guard bytes, and a call over such tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "normfuzz/target.h"

namespace normfuzz::test {

enum class Type { kF64, kF32, kF16, kBF16 };

class HostTensor {
 public:
  // Row-major when `strides` is empty; `misalign` bytes (a multiple of the element size) past a multiple of 64. All bytes are poison.
  explicit HostTensor(Type type, std::vector<int64_t> shape, std::vector<int64_t> strides = {}, size_t misalign = 0);

  int64_t count() const;
  // By row-major index. Values are exact in every type that the tests use them with.
  double get(int64_t index) const;
  void set(int64_t index, double value);
  void fill(const std::vector<double>& values);
  std::vector<double> values() const;

  DLTensor* dl();
  const std::vector<unsigned char>& bytes() const { return storage_; }
  // Whether every byte that belongs to no element is still poison.
  bool padding_untouched() const;

 private:
  size_t byte_offset(int64_t index) const;

  Type type_;
  size_t item_size_;
  std::vector<int64_t> shape_, strides_;
  std::vector<unsigned char> storage_;
  size_t begin_;  // of element [0, ..., 0], in storage_
  DLTensor dl_{};
};

struct Argument {
  const char* name;
  HostTensor* tensor;  // null: absent
};

struct CallResult {
  nf_status status;
  std::string message;
};

// Runs one call. Fails the current test if an input's bytes changed or a byte outside an output's elements did.
CallResult run(const nf_target& target, const char* op, const std::vector<Argument>& inputs, const std::vector<Argument>& outputs,
               const std::vector<nf_param>& params);

inline nf_param number(const char* name, double value) { return {name, NF_NUMBER, value, 0, nullptr}; }
inline nf_param integer(const char* name, int64_t value) { return {name, NF_INTEGER, 0, value, nullptr}; }

}  // namespace normfuzz::test
