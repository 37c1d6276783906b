// layer_norm, rms_norm and their gradients on an OpenCL device, behind the plug-in interface. The kernels are row_norm.cl; here are the
// device, its promises about arithmetic, and the way of a call's memory there and back (DeviceImage).
//
// Environment: NORMFUZZ_OPENCL_DEVICE, an index into all devices or a part of a device's or platform's name; NORMFUZZ_OPENCL_VARIANT, one
// of the manifest's variants; NORMFUZZ_OPENCL_SOURCE, a file with kernels to run instead of row_norm.cl.
#include <CL/cl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "normfuzz/target_call.h"
#include "source.h"
#include "targets/row_call.h"

namespace normfuzz {
namespace {

constexpr size_t kItems = 64;  // work-items of a group; every device of the full profile has as many

// ---- errors: what OpenCL returned, and from which call ----

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) throw std::runtime_error(std::string("OpenCL: ") + what + " failed with " + std::to_string(code));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// ---- the device ----

template <class T>
T device_value(cl_device_id device, cl_device_info what) {
  T value{};
  check(clGetDeviceInfo(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

template <class Id, class Query>
std::string info_text(Query query, Id id, cl_uint what) {
  size_t size = 0;
  if (query(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  check(query(id, what, size, text.data(), nullptr), "a query of a name");
  return text.substr(0, text.find('\0'));
}
std::string device_text(cl_device_id device, cl_device_info what) { return info_text(clGetDeviceInfo, device, what); }

struct Candidate {
  cl_device_id device;
  std::string name;  // "DEVICE (PLATFORM)"
  bool gpu;
};

std::vector<Candidate> all_devices() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};  // the loader's answer where no platform is installed
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<Candidate> result;
  for (const cl_platform_id platform : platforms) {
    cl_uint device_count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &device_count) != CL_SUCCESS || device_count == 0) continue;
    std::vector<cl_device_id> devices(device_count);
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, device_count, devices.data(), nullptr), "clGetDeviceIDs");
    for (const cl_device_id device : devices)
      result.push_back({device, device_text(device, CL_DEVICE_NAME) + " (" + info_text(clGetPlatformInfo, platform, CL_PLATFORM_NAME) + ")",
                        (device_value<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU) != 0});
  }
  return result;
}

// The device that NORMFUZZ_OPENCL_DEVICE names; without it the first GPU, else the first device. Throws Unsupported with the reason.
Candidate choose_device() {
  const std::vector<Candidate> devices = all_devices();
  if (devices.empty()) throw Unsupported("no OpenCL device: no platform offers one (Debian: pocl-opencl-icd runs on the CPU)");
  const std::string wanted = environment("NORMFUZZ_OPENCL_DEVICE");
  if (wanted.empty()) {
    for (const Candidate& device : devices)
      if (device.gpu) return device;
    return devices.front();
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  if (error == std::errc{} && end == wanted.data() + wanted.size() && index < devices.size()) return devices[index];
  std::string names;
  for (const Candidate& device : devices) {
    if (device.name.find(wanted) != std::string::npos) return device;
    names += (names.empty() ? "" : "; ") + device.name;
  }
  throw Unsupported("no OpenCL device '" + wanted + "' (NORMFUZZ_OPENCL_DEVICE); there are: " + names);
}

bool has_extension(cl_device_id device, std::string_view name) {
  std::istringstream names(device_text(device, CL_DEVICE_EXTENSIONS));
  return std::find(std::istream_iterator<std::string>(names), {}, name) != std::istream_iterator<std::string>();
}

// "OpenCL 3.0 ..." gives 30.
int device_version(cl_device_id device) {
  const std::string text = device_text(device, CL_DEVICE_VERSION);
  return text.size() >= 10 ? (text[7] - '0') * 10 + (text[9] - '0') : 0;
}

// How the kernels are built on this device; what the contract needs and the device lacks is refused here, with the reason.
struct Build {
  std::string options;
  bool f64 = false;
};

Build choose_build(cl_device_id device, const std::string& name) {
  const auto refuse = [&](const std::string& why) { throw Unsupported(name + ": " + why); };
  const std::string variant = environment("NORMFUZZ_OPENCL_VARIANT");
  const auto single = device_value<cl_device_fp_config>(device, CL_DEVICE_SINGLE_FP_CONFIG);
  if (!(single & CL_FP_ROUND_TO_NEAREST)) refuse("single precision does not round to nearest");
  if (!(single & CL_FP_INF_NAN)) refuse("single precision has no infinities and NaNs");
  if (device_text(device, CL_DEVICE_PROFILE) != "FULL_PROFILE") refuse("embedded profile: functions are less exact than the contract says");
  if (device_value<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE) < kItems) refuse("a work-group of 64 work-items is too large for it");
  const bool flush = variant == "flush_to_zero", subgroup = variant == "subgroup", welford = variant == "welford";
  if (!flush && !subgroup && !welford && variant != "scalar" && !variant.empty()) refuse("no variant '" + variant + "'");
  if (!flush && !(single & CL_FP_DENORM)) refuse("it keeps no subnormal numbers (no CL_FP_DENORM): run opencl:flush_to_zero");
  if (welford && !(single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)) refuse("divisions are not correctly rounded, which Welford's need here");

  Build build;
  build.f64 = device_version(device) >= 12 ? device_value<cl_device_fp_config>(device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0
                                           : has_extension(device, "cl_khr_fp64");
  if (flush) build.options += " -cl-denorms-are-zero";
  if (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) build.options += " -cl-fp32-correctly-rounded-divide-sqrt";
  if (subgroup) {
    const bool offered = has_extension(device, "cl_khr_subgroups") ||
                         (device_version(device) >= 30 && device_value<cl_uint>(device, CL_DEVICE_MAX_NUM_SUB_GROUPS) > 0);
    if (!offered) refuse("it offers no sub-groups");
    build.options += device_version(device) >= 30 ? " -cl-std=CL3.0" : " -cl-std=CL2.0";
  }
  const auto define = [&](const char* macro, size_t value) { build.options += std::string(" -D ") + macro + "=" + std::to_string(value); };
  define("ITEMS", kItems);
  define("LANES", variant == "scalar" ? 1 : 4);
  define("SUBGROUPS", subgroup);
  define("WELFORD", welford);
  return build;
}

// Lives until the process ends: a driver's own destructors may run before ours.
struct Device {
  Candidate candidate;
  Build build;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem memory = nullptr;  // grows; one call at a time
  size_t memory_size = 0;
  std::string version;

  Device() : candidate(choose_device()), build(choose_build(candidate.device, candidate.name)) {
    cl_int error = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &candidate.device, nullptr, nullptr, &error);
    check(error, "clCreateContext");
    queue = clCreateCommandQueue(context, candidate.device, 0, &error);
    check(error, "clCreateCommandQueue");
    version = candidate.name + ", driver " + device_text(candidate.device, CL_DRIVER_VERSION);
  }

  // At least `size` bytes.
  cl_mem memory_of(size_t size) {
    if (size <= memory_size) return memory;
    if (memory != nullptr) check(clReleaseMemObject(memory), "clReleaseMemObject");
    memory = nullptr, memory_size = 0;
    cl_int error = CL_SUCCESS;
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, &error);
    check(error, "clCreateBuffer");
    memory_size = size;
    return memory;
  }
};

// ---- programs, one per element type ----

struct Program {
  cl_kernel forward = nullptr, input_gradient = nullptr, parameter_gradients = nullptr;
};

std::string kernel_source() {
  const std::string path = environment("NORMFUZZ_OPENCL_SOURCE");
  if (path.empty()) return kKernelSource;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("NORMFUZZ_OPENCL_SOURCE: " + path + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

Program build_program(Device& d, ElementType type) {
  const std::string source = kernel_source();
  const char* text = source.c_str();
  cl_int error = CL_SUCCESS;
  const cl_program program = clCreateProgramWithSource(d.context, 1, &text, nullptr, &error);
  check(error, "clCreateProgramWithSource");
  const std::string options = d.build.options + " -D TYPE=" + std::to_string(type);
  if (clBuildProgram(program, 1, &d.candidate.device, options.c_str(), nullptr, nullptr) != CL_SUCCESS) {
    size_t size = 0;
    clGetProgramBuildInfo(program, d.candidate.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(program, d.candidate.device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    throw std::runtime_error("the device's compiler refuses the kernels: " + log);
  }
  Program result;
  for (const auto& [name, kernel] : {std::pair{"forward", &result.forward}, std::pair{"input_gradient", &result.input_gradient},
                                     std::pair{"parameter_gradients", &result.parameter_gradients}}) {
    *kernel = clCreateKernel(program, name, &error);
    check(error, "clCreateKernel");
  }
  return result;
}

const Program& program_of(Device& d, ElementType type) {
  static std::map<ElementType, Program> programs;
  const auto at = programs.find(type);
  return at != programs.end() ? at->second : programs.emplace(type, build_program(d, type)).first->second;
}

// ---- a call ----

template <class T>
void set_argument(cl_kernel kernel, cl_uint index, const T& value) {
  check(clSetKernelArg(kernel, index, sizeof value, &value), "clSetKernelArg");
}

// What a call is beside its memory, numbers in the accumulation type: the kernel's arguments 1 to 4.
template <class Number>
void set_numbers(cl_kernel kernel, const DeviceRowCall& call) {
  set_argument(kernel, 1, static_cast<Number>(call.epsilon));
  set_argument(kernel, 2, static_cast<Number>(call.weight_offset));
  set_argument(kernel, 3, Number(1) / static_cast<Number>(call.task.cols));
  set_argument(kernel, 4, static_cast<cl_int>(call.rms));
}

void enqueue(Device& d, cl_kernel kernel, size_t groups) {
  // PoCL compiles a kernel once more for launches wider than 65535 work-items: seconds that would count as a case's.
  constexpr size_t kMostGroups = 512;
  const size_t global = std::min(groups, kMostGroups) * kItems, local = kItems;
  check(clEnqueueNDRangeKernel(d.queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr), "clEnqueueNDRangeKernel");
}

std::string run_rows(Device& d, const TargetCall& target_call) {
  DeviceRowCall call(target_call, sizeof(RowTask));
  if (call.type == kFloat64 && !d.build.f64) throw Unsupported("the device has no double precision");
  for (const TaskTensor* gradient : {&call.task.dweight, &call.task.dbias})
    if (call.type == kFloat64 && gradient->offset >= 0 && gradient->type == kBfloat16)
      throw Unsupported("no kernel that rounds from f64 to bf16");
  const Program& program = program_of(d, call.type);

  std::vector<char>& bytes = call.image.bytes();
  std::memcpy(bytes.data(), &call.task, sizeof call.task);
  const cl_mem memory = d.memory_of(bytes.size());
  check(clEnqueueWriteBuffer(d.queue, memory, CL_FALSE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr), "clEnqueueWriteBuffer");
  const cl_kernel rows = call.backward ? program.input_gradient : program.forward;
  set_argument(rows, 0, memory);
  call.type == kFloat64 ? set_numbers<double>(rows, call) : set_numbers<float>(rows, call);
  enqueue(d, rows, static_cast<size_t>(call.task.rows));
  if (call.task.dweight.offset >= 0 || call.task.dbias.offset >= 0) {
    set_argument(program.parameter_gradients, 0, memory);
    enqueue(d, program.parameter_gradients, (static_cast<size_t>(call.task.cols) + kItems - 1) / kItems);
  }
  check(clEnqueueReadBuffer(d.queue, memory, CL_TRUE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr), "clEnqueueReadBuffer");
  call.image.finish();
  return "";
}

// ---- loading ----

// A compiler takes seconds, some at the first launch: they belong to loading, not to a case, whose time is limited. One row of two columns
// forward and backward in every element type.
void run_each_kernel_once(Device& d) {
  alignas(8) char zeros[16] = {}, results[16];
  int64_t shape[2] = {1, 2}, strides[2] = {2, 1};
  for (const DLDataType type : {DLDataType{2, 32, 1}, DLDataType{2, 16, 1}, DLDataType{4, 16, 1}, DLDataType{2, 64, 1}}) {
    if (type.bits == 64 && !d.build.f64) continue;
    DLTensor input{zeros, {1, 0}, 2, type, shape, strides, 0}, output{results, {1, 0}, 2, type, shape, strides, 0};
    DLTensor row_output{results, {1, 0}, 1, type, shape + 1, strides + 1, 0};
    const nf_tensor_arg inputs[] = {{"x", &input}, {"dy", &input}}, y[] = {{"y", &output}},
                        dx[] = {{"dx", &output}, {"dweight", &row_output}};
    nf_call call{};
    call.struct_size = sizeof call;
    call.op = "layer_norm", call.inputs = inputs, call.input_count = 1, call.outputs = y, call.output_count = 1;
    run_rows(d, TargetCall(call));
    call.op = "layer_norm_backward", call.input_count = 2, call.outputs = dx, call.output_count = 2;
    run_rows(d, TargetCall(call));
  }
}

// The device with its kernels, or null and the reason.
struct Loaded {
  Device* device = nullptr;
  std::string reason;
};
const Loaded& loaded() {
  static const Loaded instance = [] {
    Loaded l;
    try {
      l.device = new Device;
      run_each_kernel_once(*l.device);
    } catch (const std::exception& error) {
      return Loaded{nullptr, error.what()};
    }
    return l;
  }();
  return instance;
}

nf_status run(const nf_call* call) {
  return guarded_run(call, [&](const TargetCall& c) {
    if (call->stream != nullptr) throw Unsupported("a command queue of the caller's: the kernels run in a context of their own");
    return run_rows(*loaded().device, c);
  });
}

const char* version() { return loaded().device->version.c_str(); }

}  // namespace
}  // namespace normfuzz

NORMFUZZ_EXPORT const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::version, normfuzz::run};
  return normfuzz::loaded().device != nullptr ? &target : nullptr;
}

NORMFUZZ_EXPORT const char* normfuzz_unavailable(void) { return normfuzz::loaded().reason.c_str(); }
