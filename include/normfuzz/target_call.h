// C++ conveniences for target modules on top of target.h: reading the arguments of an nf_call and turning exceptions into statuses.
// Header only, standard library only, so that a plug-in needs nothing but this folder.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "normfuzz/target.h"

namespace normfuzz {

// Thrown inside a module, never across its boundary: `guarded_run` turns them into the status of the same name.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Rejected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// First line of a framework's message, with absolute paths cut down to their last component: where a framework is installed says nothing
// about a case, and would make equal messages differ from machine to machine.
inline std::string first_line_without_paths(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  std::string line;
  for (size_t i = 0; i < message.size();) {
    const bool word_start = i == 0 || std::strchr(" \t\"'(=", message[i - 1]) != nullptr;
    if (message[i] == '/' && word_start) {
      const size_t end = std::min(message.find_first_of(" \t\"':,)", i), message.size());
      const size_t slash = message.substr(0, end).rfind('/');
      line += message.substr(slash + 1, end - slash - 1);
      i = end;
    } else {
      line += message[i++];
    }
  }
  return line;
}

class TargetCall {
 public:
  explicit TargetCall(const nf_call& call) : call_(call) {}

  std::string_view op() const { return call_.op; }

  // Null when absent.
  const DLTensor* input(std::string_view name) const { return find_tensor(call_.inputs, call_.input_count, name); }
  DLTensor* output(std::string_view name) const { return find_tensor(call_.outputs, call_.output_count, name); }

  const DLTensor& required_input(std::string_view name) const {
    if (const DLTensor* tensor = input(name)) return *tensor;
    throw Rejected("input '" + std::string(name) + "' is missing");
  }
  DLTensor& required_output(std::string_view name) const {
    if (DLTensor* tensor = output(name)) return *tensor;
    throw Rejected("output '" + std::string(name) + "' is missing");
  }

  double number(std::string_view name, double fallback) const {
    const nf_param* param = find_param(name);
    if (param == nullptr) return fallback;
    if (param->kind == NF_NUMBER) return param->number;
    if (param->kind == NF_INTEGER) return static_cast<double>(param->integer);
    throw Rejected("parameter '" + std::string(name) + "': expected a number");
  }

  int64_t integer(std::string_view name, int64_t fallback) const {
    const nf_param* param = find_param(name);
    if (param == nullptr) return fallback;
    if (param->kind == NF_INTEGER) return param->integer;
    throw Rejected("parameter '" + std::string(name) + "': expected an integer");
  }

  std::string_view text(std::string_view name, std::string_view fallback) const {
    const nf_param* param = find_param(name);
    if (param == nullptr) return fallback;
    if (param->kind == NF_TEXT) return param->text;
    throw Rejected("parameter '" + std::string(name) + "': expected a text");
  }

  // First normalized dimension (0..rank-1) of a tensor of `rank` dimensions, from the parameter normalized_axis.
  int32_t normalized_begin(int32_t rank) const {
    const int64_t axis = integer("normalized_axis", -1);
    if (axis < -rank || axis >= rank)
      throw Rejected("normalized_axis is " + std::to_string(axis) + ": expected a dimension of a tensor of rank " + std::to_string(rank));
    return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
  }

  // A present input or a parameter that the target does not know changes the meaning of the call: ignoring it would compute something else.
  void require_known(std::initializer_list<std::string_view> inputs, std::initializer_list<std::string_view> outputs,
                     std::initializer_list<std::string_view> params) const {
    for (int32_t i = 0; i < call_.input_count; ++i)
      if (call_.inputs[i].tensor != nullptr) require_member(inputs, call_.inputs[i].name, "input");
    for (int32_t i = 0; i < call_.output_count; ++i)
      if (call_.outputs[i].tensor != nullptr) require_member(outputs, call_.outputs[i].name, "output");
    for (int32_t i = 0; i < call_.param_count; ++i) require_member(params, call_.params[i].name, "parameter");
  }

 private:
  static DLTensor* find_tensor(const nf_tensor_arg* args, int32_t count, std::string_view name) {
    for (int32_t i = 0; i < count; ++i)
      if (name == args[i].name) return args[i].tensor;
    return nullptr;
  }

  const nf_param* find_param(std::string_view name) const {
    for (int32_t i = 0; i < call_.param_count; ++i)
      if (name == call_.params[i].name) return &call_.params[i];
    return nullptr;
  }

  static void require_member(std::initializer_list<std::string_view> known, std::string_view name, const char* kind) {
    for (std::string_view candidate : known)
      if (candidate == name) return;
    throw Unsupported(std::string("no ") + kind + " '" + std::string(name) + "' in this interface");
  }

  const nf_call& call_;
};

// Address of element [0, ..., 0].
inline void* tensor_data(const DLTensor& tensor) { return static_cast<char*>(tensor.data) + tensor.byte_offset; }

inline bool same_dtype(const DLTensor& a, const DLTensor& b) {
  return a.dtype.code == b.dtype.code && a.dtype.bits == b.dtype.bits && a.dtype.lanes == b.dtype.lanes;
}

inline nf_status finish_call(const nf_call& call, nf_status status, std::string_view message) noexcept {
  if (call.message != nullptr && call.message_size > 0)
    std::snprintf(call.message, call.message_size, "%.*s", static_cast<int>(message.size()), message.data());
  return status;
}

// Runs body(TargetCall) -> std::string, a note for the message of a successful call. A framework's own exception types are
// translated by the module where they carry more than what() says.
template <class Body>
nf_status guarded_run(const nf_call* call, Body body) noexcept {
  try {
    return finish_call(*call, NF_OK, body(TargetCall(*call)));
  } catch (const Unsupported& error) {
    return finish_call(*call, NF_UNSUPPORTED, error.what());
  } catch (const std::exception& error) {
    return finish_call(*call, NF_REJECTED, error.what());
  } catch (...) {
    return finish_call(*call, NF_REJECTED, "an exception that is not a std::exception");
  }
}

}  // namespace normfuzz
