// layer_norm of one feature in 2 rows in f32 breaks memory (y: 1 of 2 elements never written, the first is [1, 0]); needs rows, strides.
// Shrunk by normfuzz; seen with oneDNN 3.13.2 (c852e73ef73b, isa 0xe7).
//
// Needs oneDNN 3.x only. With $ONEDNN the folder that holds include/oneapi/dnnl and lib/libdnnl.so.3 (a virtual environment with the PyPI
// packages onednn, onednn-devel and their run time):
//   g++ -std=c++17 repro.cc -o repro -I$ONEDNN/include $ONEDNN/lib/libdnnl.so.3 $(ls $ONEDNN/lib/libOpenCL.so.1 2>/dev/null)
//     -Wl,--no-as-needed,--disable-new-dtags,-rpath,$ONEDNN/lib,-rpath-link,$ONEDNN/lib
//   OCL_ICD_FILENAMES=$ONEDNN/lib/libintelocl.so ./repro
// (one command in two lines). It prints got, exact and allowed; exit status 1: the divergence is there, 0: it is not.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

struct Input {
  std::string dtype;                    // f64, f32, f16, bf16
  std::vector<int64_t> shape, strides;  // in elements
  int64_t offset;                       // of element [0, ..., 0] from the buffer's start, in elements
  int misalign;                         // of the buffer's start from a 64-byte boundary, in bytes
  std::vector<uint64_t> bits;           // row-major; empty: absent
  size_t item() const { return dtype == "f64" ? 8 : dtype == "f32" ? 4 : 2; }
};

double value_of(const std::string& dtype, uint64_t bits) {
  if (dtype == "f64") { double v; std::memcpy(&v, &bits, 8); return v; }
  if (dtype == "f16") {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double v = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    return bits >> 15 ? -v : v;
  }
  const uint32_t word = static_cast<uint32_t>(dtype == "bf16" ? bits << 16 : bits);
  float v;
  std::memcpy(&v, &word, 4);
  return v;
}

// A tensor between guard bytes; padding between its elements is guarded too.
class Buffer {
 public:
  explicit Buffer(const Input& t, bool filled = true) : t_(t) {
    int64_t last = t.offset;
    for (size_t i = 0; i < t.shape.size(); ++i) last += (t.shape[i] - 1) * t.strides[i];
    bytes_.assign(2 * kGuard + 128 + (last + 1) * t.item(), kCanary);
    begin_ = (reinterpret_cast<uintptr_t>(bytes_.data()) + kGuard + 63) / 64 * 64 - reinterpret_cast<uintptr_t>(bytes_.data()) + t.misalign;
    if (filled)
      for (size_t i = 0; i < t.bits.size(); ++i) std::memcpy(&bytes_[place(i)], &t.bits[i], t.item());
    before_ = bytes_;
  }
  void* data() { return &bytes_[begin_ + t_.offset * t_.item()]; }
  uint64_t bits(size_t i) const { uint64_t b = 0; std::memcpy(&b, &bytes_[place(i)], t_.item()); return b; }
  // An input: nothing may change. An output: nothing but its elements.
  bool intact(bool is_output) const {
    std::vector<unsigned char> now = bytes_;
    if (is_output)
      for (size_t i = 0; i < t_.bits.size(); ++i) std::memcpy(&now[place(i)], &before_[place(i)], t_.item());
    return now == before_;
  }

 private:
  static constexpr size_t kGuard = 4096;
  static constexpr unsigned char kCanary = 0xa5;
  size_t place(size_t i) const {
    int64_t at = t_.offset, rest = static_cast<int64_t>(i);
    for (size_t d = t_.shape.size(); d-- > 0; rest /= t_.shape[d]) at += rest % t_.shape[d] * t_.strides[d];
    return begin_ + static_cast<size_t>(at) * t_.item();
  }
  const Input t_;
  std::vector<unsigned char> bytes_, before_;
  size_t begin_;
};

const Input x = {"f32", {2, 1}, {2, 1}, 0, 0, {0x0, 0x0}};
const Input weight = {};
const Input bias = {};
const Input y = {"f32", {2, 1}, {2, 1}, 0, 0, {0x0, 0x0}};
const double epsilon = 0x1.4f8b58p-17;
const int normalized_axis = 1;  // first normalized dimension of x
// Of every element of y: the exact value, and the largest error that the contract allows.
const std::vector<double> exact = {0x0p+0, 0x0p+0};
const std::vector<double> allowed = {0x0p+0, 0x0p+0};

// 1 if the divergence shows, else 0.
int report(const Buffer& result, const Buffer& again, bool memory_intact) {
  bool diverges = !memory_intact;
  if (!memory_intact) std::printf("memory outside the output changed\n");
  for (size_t i = 0; i < exact.size(); ++i) {
    const double got = value_of(y.dtype, result.bits(i));
    const bool wrong = std::isnan(exact[i]) ? !std::isnan(got) : std::isfinite(allowed[i]) && !(std::fabs(got - exact[i]) <= allowed[i]);
    const bool differs = result.bits(i) != again.bits(i);
    diverges = diverges || wrong || differs;
    std::printf("y[%zu]: got %.9g, exact %.9g, allowed error %.3g%s%s\n", i, got, exact[i], allowed[i], wrong ? "  <- diverges" : "",
                differs ? "  <- another value in a second run" : "");
  }
  std::printf(diverges ? "the divergence is there\n" : "no divergence\n");
  return diverges ? 1 : 0;
}

using dnnl::memory;

memory::data_type type_of(const Input& t) {
  if (t.dtype == "f16") return memory::data_type::f16;
  if (t.dtype == "bf16") return memory::data_type::bf16;
  return memory::data_type::f32;
}

// Leading dimensions as they are, the normalized ones as one.
memory::desc rows(const Input& t) {
  memory::dims dims(t.shape.begin(), t.shape.begin() + normalized_axis), strides(t.strides.begin(), t.strides.begin() + normalized_axis);
  int64_t cols = 1;
  for (size_t i = normalized_axis; i < t.shape.size(); ++i) cols *= t.shape[i];
  if (dims.empty()) dims.push_back(1), strides.push_back(cols * t.strides.back());
  dims.push_back(cols);
  strides.push_back(t.strides.back());
  return memory::desc(dims, type_of(t), strides);
}

// One call of the primitive.
void run(Buffer& x_buffer, Buffer& weight_buffer, Buffer& bias_buffer, Buffer& y_buffer) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  std::unordered_map<int, memory> arguments;
  const std::string op = "layer_norm";
  auto flags = dnnl::normalization_flags::none;
#if DNNL_VERSION_MAJOR * 100 + DNNL_VERSION_MINOR >= 307
  if (op == "rms_norm") flags |= dnnl::normalization_flags::rms_norm;
#endif
  memory::data_type parameters = memory::data_type::f32;
  const auto add = [&](const Input& t, Buffer& buffer, int argument, dnnl::normalization_flags flag) {
    if (t.bits.empty()) return;
    flags |= flag;
    parameters = type_of(t);
    arguments.emplace(argument, memory(memory::desc({static_cast<int64_t>(t.bits.size())}, type_of(t), memory::format_tag::a), engine, buffer.data()));
  };
  add(weight, weight_buffer, DNNL_ARG_SCALE, dnnl::normalization_flags::use_scale);
  add(bias, bias_buffer, DNNL_ARG_SHIFT, dnnl::normalization_flags::use_shift);
  const memory::desc x_desc = rows(x), y_desc = rows(y);
  const dnnl::layer_normalization_forward::primitive_desc primitive(engine, dnnl::prop_kind::forward_inference, x_desc, y_desc, parameters,
                                                                    static_cast<float>(epsilon), flags);
  std::printf("implementation: %s\n", primitive.impl_info_str());
  arguments.emplace(DNNL_ARG_SRC, memory(x_desc, engine, x_buffer.data()));
  arguments.emplace(DNNL_ARG_DST, memory(y_desc, engine, y_buffer.data()));
  dnnl::layer_normalization_forward(primitive).execute(stream, arguments);
  stream.wait();
}

int main() {
  Input dense_weight = weight, dense_bias = bias;  // scale and shift have no strides
  for (Input* t : {&dense_weight, &dense_bias})
    if (!t->bits.empty()) *t = {t->dtype, {static_cast<int64_t>(t->bits.size())}, {1}, 0, 0, t->bits};
  Buffer x_buffer(x), weight_buffer(dense_weight), bias_buffer(dense_bias), y_buffer(y, false), again(y, false);
  run(x_buffer, weight_buffer, bias_buffer, y_buffer);
  run(x_buffer, weight_buffer, bias_buffer, again);
  return report(y_buffer, again, x_buffer.intact(false) && weight_buffer.intact(false) && bias_buffer.intact(false) && y_buffer.intact(true));
}
