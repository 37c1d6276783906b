// cuDNN's layer and RMS normalization, forward and backward, behind the plug-in interface: one operation per graph, through the backend
// API. Strides, element types and the alignment of every pointer are passed on as they are; what no engine supports is refused with
// cuDNN's own message.
//
// Environment: NORMFUZZ_CUDNN_PHASE=training, the forward phase that also gives the statistics; CUDA_VISIBLE_DEVICES as everywhere.
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "normfuzz/target_call.h"
#include "targets/cuda/device.h"
#include "targets/row_call.h"

namespace normfuzz {
namespace {

using cuda::check;

// ---- errors ----

// cuDNN's own last message, more than a status says; empty where there is none.
std::string last_message() {
  char text[512] = "";
  cudnnGetLastErrorString(text, sizeof text);
  return text[0] != '\0' ? ", " + first_line_without_paths(text) : "";
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string message = std::string("cuDNN: ") + what + ": " + cudnnGetErrorString(status) + last_message();
  constexpr int kStatusesOfAKind = 1000;  // 3000 to 3999: not supported, with the reason
  if (status / kStatusesOfAKind == CUDNN_STATUS_NOT_SUPPORTED / kStatusesOfAKind) throw Unsupported(message);
  throw Rejected(message);
}

// ---- descriptors of the backend API ----

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) { check(cudnnBackendCreateDescriptor(type, &handle_), "create a descriptor"); }
  ~Descriptor() {
    if (handle_ != nullptr) cudnnBackendDestroyDescriptor(handle_);
  }
  Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return handle_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values) {
    check(cudnnBackendSetAttribute(handle_, name, type, count, values), "set an attribute");
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) { set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get()); }

  cudnnStatus_t try_finalize() { return cudnnBackendFinalize(handle_); }
  void finalize(const char* what) { check(try_finalize(), what); }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// ---- the device ----

struct Library {
  cudnnHandle_t handle = nullptr;
  std::string version, unavailable;
};

Library make_library() {
  Library l;
  l.unavailable = cuda::why_no_device();
  if (!l.unavailable.empty()) return l;
  if (const cudnnStatus_t status = cudnnCreate(&l.handle); status != CUDNN_STATUS_SUCCESS) {
    l.unavailable = std::string("cuDNN does not start: ") + cudnnGetErrorString(status);
    return l;
  }
  const size_t v = cudnnGetVersion();  // 10000 major + 100 minor + patch
  l.version = "cuDNN " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100) + " on " +
              cuda::device_name();
  return l;
}

const Library& library() {
  static const Library instance = make_library();
  return instance;
}

bool training_phase() {
  const char* phase = std::getenv("NORMFUZZ_CUDNN_PHASE");
  return phase != nullptr && std::string_view(phase) == "training";
}

// ---- graphs: one normalization each, cached by everything that they depend on ----

struct TensorSpec {
  cudnnDataType_t type;
  std::array<int64_t, 4> dims, strides;
  int64_t alignment;  // of the pointer, in bytes
  bool by_value = false;
};

// A tensor of an operation: which one, and where it lies.
struct Argument {
  cudnnBackendAttributeName_t name;
  TensorSpec spec;
  void* pointer;
};

struct Operation {
  bool backward = false;
  cudnnBackendNormMode_t mode = CUDNN_LAYER_NORM;
  cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_INFERENCE;
  std::vector<Argument> arguments;  // unique identifiers: 1 and so on

  std::string key() const {
    std::string text;
    const auto append = [&](int64_t v) { text += std::to_string(v) + " "; };
    for (const int v : {static_cast<int>(backward), static_cast<int>(mode), static_cast<int>(phase)}) append(v);
    for (const Argument& a : arguments) {
      append(a.name), append(a.spec.type), append(a.spec.alignment);
      for (int i = 0; i < 4; ++i) append(a.spec.dims[i]), append(a.spec.strides[i]);
    }
    return text;
  }
};

struct Plan {
  std::vector<Descriptor> parts;  // what the plan was made from
  std::optional<Descriptor> plan;
  int64_t workspace = 0;
};

Descriptor make_tensor(const TensorSpec& spec, int64_t id) {
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, spec.type);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, spec.dims.data());
  d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, spec.strides.data());
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, spec.alignment);
  d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, spec.by_value);
  d.finalize("a tensor");
  return d;
}

// The configurations that the heuristics propose for a graph, best first.
std::vector<Descriptor> propose(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) return {};  // another mode may know one
  int64_t count = 0;
  check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
        "number of engines");
  std::vector<Descriptor> result;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < count; ++i) handles.push_back(result.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  if (count > 0)
    check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                   handles.data()),
          "engines");
  while (static_cast<int64_t>(result.size()) > count) result.pop_back();
  return result;
}

std::optional<Descriptor> finalized_plan(const Descriptor& configuration) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, library().handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (plan.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  return plan;
}

Plan make_plan(const Operation& o) {
  Plan plan;
  Descriptor operation(o.backward ? CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR : CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  operation.set(o.backward ? CUDNN_ATTR_OPERATION_NORM_BWD_MODE : CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, o.mode);
  if (!o.backward) operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, o.phase);
  for (size_t i = 0; i < o.arguments.size(); ++i) {
    plan.parts.push_back(make_tensor(o.arguments[i].spec, static_cast<int64_t>(i) + 1));
    operation.set(o.arguments[i].name, plan.parts.back());
  }
  operation.finalize("the operation");

  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, library().handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.finalize("the graph");

  size_t proposed = 0;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (Descriptor& configuration : propose(graph, mode)) {
      ++proposed;
      plan.plan = finalized_plan(configuration);
      if (!plan.plan) continue;
      int64_t count = 0;
      check(cudnnBackendGetAttribute(plan.plan->get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                                     &plan.workspace),
            "workspace");
      for (Descriptor* part : {&operation, &graph, &configuration}) plan.parts.push_back(std::move(*part));
      return plan;
    }
  throw Unsupported("cuDNN: none of " + std::to_string(proposed) + " proposed engines takes this operation" + last_message());
}

void execute(const Operation& o, cudaStream_t stream) {
  static std::map<std::string, Plan> plans;
  static cuda::DeviceMemory workspace;
  constexpr size_t kPlans = 256;  // each holds compiled code
  const std::string key = o.key();
  auto at = plans.find(key);
  if (at == plans.end()) {
    Plan plan = make_plan(o);
    if (plans.size() >= kPlans) plans.clear();
    at = plans.emplace(key, std::move(plan)).first;
  }
  const Plan& plan = at->second;

  std::vector<int64_t> ids;
  std::vector<void*> pointers;
  for (const Argument& a : o.arguments) {
    ids.push_back(static_cast<int64_t>(ids.size()) + 1);
    pointers.push_back(a.pointer);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, static_cast<int64_t>(ids.size()), ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()), pointers.data());
  void* scratch = workspace.of_size(static_cast<size_t>(std::max<int64_t>(plan.workspace, 1)));
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, scratch);
  pack.finalize("the arguments");
  check(cudnnSetStream(library().handle, stream), "set the stream");
  check(cudnnBackendExecute(library().handle, plan.plan->get(), pack.get()), "execute");
}

// ---- a call ----

cudnnDataType_t data_type(int32_t type) {
  return type == kFloat16 ? CUDNN_DATA_HALF : type == kBfloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

// What a pointer is a multiple of, up to the 16 bytes of the widest loads.
int64_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  int64_t alignment = 16;
  while (address % static_cast<uintptr_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

// One call on the device: its tensors, and what cuDNN wants beside them (ones, zeros, statistics, results that nobody asked for).
class Session {
 public:
  Session(const TargetCall& target_call, cudaStream_t stream) : call_(target_call, 0), stream_(stream) {
    if (call_.type == kFloat64) throw Unsupported("cuDNN normalizes in f32");
    if (call_.weight_offset != 0) throw Unsupported("cuDNN's scale has no offset");
    if (call_.task.outer_rank > 1 || call_.task.inner_rank > 1) throw Unsupported("rows or columns that no one stride reaches");
    rows_ = call_.task.rows, cols_ = call_.task.cols;
    const std::vector<char>& bytes = call_.image.bytes();
    static cuda::DeviceMemory memory;
    memory_ = memory.of_size(bytes.size());
    check(cudaMemcpyAsync(memory_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_), "copy to the device");
    reserve_extra();
  }

  void run() {
    if (call_.backward) {
      execute(forward(CUDNN_NORM_FWD_TRAINING, rows_like(call_.task.x, extra_result_)), stream_);
      execute(backward(), stream_);
    } else {
      execute(forward(training_phase() ? CUDNN_NORM_FWD_TRAINING : CUDNN_NORM_FWD_INFERENCE, rows_of(call_.task.result)), stream_);
    }
    std::vector<char>& bytes = call_.image.bytes();
    check(cudaMemcpyAsync(bytes.data(), memory_, bytes.size(), cudaMemcpyDeviceToHost, stream_), "copy from the device");
    check(cudaStreamSynchronize(stream_), "run");
    call_.image.finish();
  }

 private:
  struct Place {
    TensorSpec spec;
    void* pointer;
  };

  void reserve_extra() {
    constexpr size_t kAlignment = 256;
    const auto rounded = [](int64_t size) { return (static_cast<size_t>(size) + kAlignment - 1) / kAlignment * kAlignment; };
    const size_t vector = rounded(cols_ * 4), statistic = rounded(rows_ * 4), result = rounded(rows_ * cols_ * 4);
    static cuda::DeviceMemory memory;
    unsigned char* p = memory.of_size(4 * vector + 2 * statistic + result);
    const auto take = [&p](size_t size) { return std::exchange(p, p + size); };
    ones_ = take(vector), zeros_ = take(vector), extra_dweight_ = take(vector), extra_dbias_ = take(vector);
    mean_ = take(statistic), inverse_ = take(statistic), extra_result_ = take(result);
    host_ones_.assign(static_cast<size_t>(cols_), 1.0f);
    check(cudaMemcpyAsync(ones_, host_ones_.data(), host_ones_.size() * 4, cudaMemcpyHostToDevice, stream_), "copy to the device");
    check(cudaMemsetAsync(zeros_, 0, vector, stream_), "cudaMemsetAsync");
  }

  // [rows, cols, 1, 1]; the strides of the last two are those of a dense channels-last tensor.
  Place rows_of(const TaskTensor& t) const {
    const int64_t col = call_.task.inner_rank == 1 ? t.inner_stride[0] : 1,
                  row = call_.task.outer_rank == 1 ? t.outer_stride[0] : cols_ * col;
    void* pointer = memory_ + t.offset;
    return {{data_type(t.type), {rows_, cols_, 1, 1}, {row, col, cols_ * col, cols_ * col}, alignment_of(pointer)}, pointer};
  }
  // Dense rows of t's type elsewhere.
  Place rows_like(const TaskTensor& t, void* pointer) const {
    return {{data_type(t.type), {rows_, cols_, 1, 1}, {cols_, 1, cols_, cols_}, alignment_of(pointer)}, pointer};
  }
  // [1, cols, 1, 1], or `instead` in f32 where the call has no such tensor.
  Place vector_of(const TaskTensor& t, void* instead) const {
    if (t.offset < 0) return {{CUDNN_DATA_FLOAT, {1, cols_, 1, 1}, {cols_, 1, cols_, cols_}, 16}, instead};
    const int64_t col = call_.task.inner_rank == 1 ? t.inner_stride[0] : 1;
    void* pointer = memory_ + t.offset;
    return {{data_type(t.type), {1, cols_, 1, 1}, {cols_ * col, col, cols_ * col, cols_ * col}, alignment_of(pointer)}, pointer};
  }
  Place statistic(void* pointer) const { return {{CUDNN_DATA_FLOAT, {rows_, 1, 1, 1}, {1, 1, 1, 1}, 16}, pointer}; }
  Place epsilon() { return {{CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, 4, true}, &epsilon_}; }

  Operation operation(bool backward) const {
    Operation o;
    o.backward = backward;
    o.mode = call_.rms ? CUDNN_RMS_NORM : CUDNN_LAYER_NORM;
    return o;
  }
  static void add(Operation& o, cudnnBackendAttributeName_t name, const Place& place) {
    o.arguments.push_back({name, place.spec, place.pointer});
  }

  Operation forward(cudnnBackendNormFwdPhase_t phase, const Place& y) {
    Operation o = operation(false);
    o.phase = phase;
    add(o, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, rows_of(call_.task.x));
    add(o, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, vector_of(call_.task.weight, ones_));
    if (!call_.rms || call_.task.bias.offset >= 0) add(o, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, vector_of(call_.task.bias, zeros_));
    add(o, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon());
    if (phase == CUDNN_NORM_FWD_TRAINING) {
      if (!call_.rms) add(o, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, statistic(mean_));
      add(o, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, statistic(inverse_));
    }
    add(o, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y);
    return o;
  }

  Operation backward() {
    Operation o = operation(true);
    add(o, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, rows_of(call_.task.x));
    add(o, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, rows_of(call_.task.dy));
    add(o, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, vector_of(call_.task.weight, ones_));
    if (!call_.rms) add(o, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, statistic(mean_));
    add(o, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, statistic(inverse_));
    if (!call_.rms) add(o, CUDNN_ATTR_OPERATION_NORM_BWD_EPSILON_DESC, epsilon());
    add(o, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, vector_of(call_.task.dweight, extra_dweight_));
    if (!call_.rms || call_.task.dbias.offset >= 0)
      add(o, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, vector_of(call_.task.dbias, extra_dbias_));
    add(o, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, rows_of(call_.task.result));
    return o;
  }

  DeviceRowCall call_;
  cudaStream_t stream_;
  int64_t rows_ = 0, cols_ = 0;
  float epsilon_ = static_cast<float>(call_.epsilon);  // a case's epsilon is representable in float32
  unsigned char *memory_ = nullptr, *ones_ = nullptr, *zeros_ = nullptr, *extra_dweight_ = nullptr, *extra_dbias_ = nullptr,
                *mean_ = nullptr, *inverse_ = nullptr, *extra_result_ = nullptr;
  std::vector<float> host_ones_;  // until the copy has run
};

nf_status run(const nf_call* call) {
  return guarded_run(call, [&](const TargetCall& c) {
    Session(c, static_cast<cudaStream_t>(call->stream)).run();
    return std::string();
  });
}

const char* version() { return library().version.c_str(); }

}  // namespace
}  // namespace normfuzz

NORMFUZZ_EXPORT const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::version, normfuzz::run};
  return normfuzz::library().unavailable.empty() ? &target : nullptr;
}

NORMFUZZ_EXPORT const char* normfuzz_unavailable(void) { return normfuzz::library().unavailable.c_str(); }
