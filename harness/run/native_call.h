// From a call record in shared memory to an nf_call: DLTensors over the arena, nothing copied. Used by normfuzz-worker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>

#include "harness/run/protocol.h"
#include "normfuzz/target.h"

namespace normfuzz {

class NativeCall {
 public:
  // `base` is the segment's beginning in this process.
  NativeCall(std::byte* base, protocol::Descriptor& descriptor) {
    auto& record = *reinterpret_cast<protocol::CallRecord*>(base + descriptor.record);
    auto* tensor = reinterpret_cast<protocol::TensorRecord*>(&record + 1);
    const int tensors = record.input_count + record.output_count;
    for (int i = 0; i < tensors; ++i, ++tensor) {
      arguments_[i] = {tensor->name, tensor->present ? &tensors_[i] : nullptr};
      tensors_[i] = {base + record.data[i],
                     {1, 0},  // kDLCPU
                     tensor->rank,
                     {tensor->type_code, tensor->bits, 1},
                     tensor->shape,
                     tensor->strides,
                     0};
    }
    auto* param = reinterpret_cast<protocol::ParamRecord*>(tensor);
    for (std::uint32_t i = 0; i < record.param_count && i < kMaxParams; ++i, ++param)
      params_[i] = {param->name, param->kind, param->number, param->integer, param->text};
    call_ = {sizeof(nf_call),
             record.op,
             arguments_,
             record.input_count,
             arguments_ + record.input_count,
             record.output_count,
             params_,
             static_cast<std::int32_t>(record.param_count),
             nullptr,
             descriptor.message,
             sizeof descriptor.message};
  }
  NativeCall(const NativeCall&) = delete;
  NativeCall& operator=(const NativeCall&) = delete;

  // A C++ exception that reaches the boundary breaks the interface's rules; it is reported rather than left to end the process.
  std::uint32_t run(const nf_target& target) {
    try {
      return static_cast<std::uint32_t>(target.run(&call_));  // whatever a module returns: Arena refuses what is no nf_status
    } catch (const std::exception& error) {
      return rejected(std::string("an exception crossed the C interface: ") + error.what());
    } catch (...) {
      return rejected("an exception crossed the C interface");
    }
  }

  static constexpr std::uint32_t kMaxParams = 32;

 private:
  std::uint32_t rejected(const std::string& message) {
    const std::size_t n = std::min(message.size(), call_.message_size - 1);
    message.copy(call_.message, n);
    call_.message[n] = '\0';
    return NF_REJECTED;
  }

  DLTensor tensors_[protocol::kMaxTensors];
  nf_tensor_arg arguments_[protocol::kMaxTensors];
  nf_param params_[kMaxParams];
  nf_call call_;
};

}  // namespace normfuzz
