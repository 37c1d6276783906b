#include "tests/targets/host_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace normfuzz::test {
namespace {

constexpr unsigned char kPoison = 0xA5;
constexpr size_t kGuard = 256;  // bytes on either side: more than one vector of any instruction set

size_t item_size(Type type) { return type == Type::kF64 ? 8 : type == Type::kF32 ? 4 : 2; }

// A finite value that is exactly representable and normal in a format of this many fraction bits and this bias, or zero.
uint16_t encode16(double value, int fraction_bits, int bias) {
  if (value == 0) return std::signbit(value) ? 0x8000 : 0;
  int exponent;
  const double fraction = std::frexp(std::fabs(value), &exponent) * 2;  // in [1, 2)
  const auto bits = static_cast<uint16_t>(std::ldexp(fraction - 1, fraction_bits));
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | (exponent - 1 + bias) << fraction_bits | bits);
}

double decode16(uint16_t code, int fraction_bits, int bias) {
  const int exponent = (code & 0x7fff) >> fraction_bits;
  const int fraction = code & ((1 << fraction_bits) - 1);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                         : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return code & 0x8000 ? -magnitude : magnitude;  // the top exponent reads as a large number: never equal to an expected value
}

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace

HostTensor::HostTensor(Type type, std::vector<int64_t> shape, std::vector<int64_t> strides, size_t misalign)
    : type_(type),
      item_size_(item_size(type)),
      shape_(std::move(shape)),
      strides_(strides.empty() ? row_major(shape_) : std::move(strides)) {
  size_t extent = 1;
  for (size_t i = 0; i < shape_.size(); ++i) extent += static_cast<size_t>((shape_[i] - 1) * strides_[i]);
  storage_.assign(2 * kGuard + 64 + misalign + extent * item_size_, kPoison);
  begin_ = kGuard + (64 - reinterpret_cast<uintptr_t>(storage_.data() + kGuard) % 64) % 64 + misalign;
}

int64_t HostTensor::count() const {
  int64_t count = 1;
  for (int64_t size : shape_) count *= size;
  return count;
}

size_t HostTensor::byte_offset(int64_t index) const {
  int64_t offset = 0;
  for (size_t i = shape_.size(); i-- > 0;) {
    offset += index % shape_[i] * strides_[i];
    index /= shape_[i];
  }
  return begin_ + static_cast<size_t>(offset) * item_size_;
}

double HostTensor::get(int64_t index) const {
  const unsigned char* at = &storage_[byte_offset(index)];
  double f64;
  float f32;
  uint16_t code;
  switch (type_) {
    case Type::kF64:
      std::memcpy(&f64, at, sizeof f64);
      return f64;
    case Type::kF32:
      std::memcpy(&f32, at, sizeof f32);
      return f32;
    case Type::kF16:
      std::memcpy(&code, at, sizeof code);
      return decode16(code, 10, 15);
    case Type::kBF16:
      std::memcpy(&code, at, sizeof code);
      return decode16(code, 7, 127);
  }
  return 0;
}

void HostTensor::set(int64_t index, double value) {
  unsigned char* at = &storage_[byte_offset(index)];
  const auto f32 = static_cast<float>(value);
  const uint16_t code = type_ == Type::kF16 ? encode16(value, 10, 15) : encode16(value, 7, 127);
  if (type_ == Type::kF64) std::memcpy(at, &value, sizeof value);
  if (type_ == Type::kF32) std::memcpy(at, &f32, sizeof f32);
  if (item_size_ == 2) std::memcpy(at, &code, sizeof code);
}

void HostTensor::fill(const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) set(static_cast<int64_t>(i), values[i]);
}

std::vector<double> HostTensor::values() const {
  std::vector<double> values;
  for (int64_t i = 0; i < count(); ++i) values.push_back(get(i));
  return values;
}

DLTensor* HostTensor::dl() {
  dl_.data = storage_.data();
  dl_.byte_offset = begin_;
  dl_.device = {1, 0};
  dl_.ndim = static_cast<int32_t>(shape_.size());
  dl_.dtype = {static_cast<uint8_t>(type_ == Type::kBF16 ? 4 : 2), static_cast<uint8_t>(8 * item_size_), 1};
  dl_.shape = shape_.data();
  dl_.strides = strides_.data();
  return &dl_;
}

bool HostTensor::padding_untouched() const {
  std::vector<bool> element(storage_.size());
  for (int64_t i = 0; i < count(); ++i)
    for (size_t byte = 0; byte < item_size_; ++byte) element[byte_offset(i) + byte] = true;
  for (size_t i = 0; i < storage_.size(); ++i)
    if (!element[i] && storage_[i] != kPoison) return false;
  return true;
}

CallResult run(const nf_target& target, const char* op, const std::vector<Argument>& inputs, const std::vector<Argument>& outputs,
               const std::vector<nf_param>& params) {
  std::vector<nf_tensor_arg> input_args, output_args;
  std::vector<std::vector<unsigned char>> before;
  for (const Argument& input : inputs) {
    input_args.push_back({input.name, input.tensor ? input.tensor->dl() : nullptr});
    before.push_back(input.tensor ? input.tensor->bytes() : std::vector<unsigned char>());
  }
  for (const Argument& output : outputs) output_args.push_back({output.name, output.tensor ? output.tensor->dl() : nullptr});
  char message[256] = "";
  nf_call call{};
  call.struct_size = sizeof call;
  call.op = op;
  call.inputs = input_args.data();
  call.input_count = static_cast<int32_t>(input_args.size());
  call.outputs = output_args.data();
  call.output_count = static_cast<int32_t>(output_args.size());
  call.params = params.data();
  call.param_count = static_cast<int32_t>(params.size());
  call.message = message;
  call.message_size = sizeof message;
  const nf_status status = target.run(&call);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool unchanged = inputs[i].tensor == nullptr || inputs[i].tensor->bytes() == before[i];
    EXPECT_TRUE(unchanged) << op << ": input " << inputs[i].name << " was changed";
  }
  for (const Argument& output : outputs) {
    const bool untouched = output.tensor == nullptr || output.tensor->padding_untouched();
    EXPECT_TRUE(untouched) << op << ": written outside the elements of " << output.name;
  }
  return {status, message};
}

}  // namespace normfuzz::test
