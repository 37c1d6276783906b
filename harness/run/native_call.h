// From a call record in shared memory to an nf_call: DLTensors over the arena, nothing copied. Used by normfuzz-worker and by the worker
// without a process.
#pragma once

#include <algorithm>
#include <chrono>
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

// Runs the slot's call; its status is published last.
inline void run_slot(std::byte* base, const nf_target& target, std::uint32_t slot) {
  const auto now_ns = [] { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  auto& header = *reinterpret_cast<protocol::Header*>(base);
  auto& descriptor = reinterpret_cast<protocol::Descriptor*>(base + protocol::kHeaderBytes)[slot];
  NativeCall call(base, descriptor);
  const std::int64_t started = now_ns();  // CLOCK_MONOTONIC
  protocol::publish(header.started_ns, started);
  protocol::publish(header.current, slot);
  protocol::publish(header.sequence, header.sequence + 1);
  const std::uint32_t status = call.run(target);
  descriptor.nanoseconds = now_ns() - started;
  protocol::publish(descriptor.status, status);
}

}  // namespace normfuzz
