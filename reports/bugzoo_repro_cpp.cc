// The stand-alone C++ program of an entry: a template of the target's folder (repro.cc.in) around parts that are the same for all of them.
// A template says how its framework is called; what the case is, what is expected and how memory is watched comes from here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/case_io.h"
#include "core/hex_float.h"
#include "core/json_document.h"
#include "core/replace_all.h"
#include "harness/shrink/edit.h"
#include "oracles/ops/op.h"
#include "reports/bugzoo_entry.h"

namespace normfuzz {
namespace {

constexpr std::size_t kMaxTemplateBytes = 64 << 10;

// Decodes elements, watches memory, compares: C++17, standard library only.
constexpr const char* kCommon = R"text(struct Input {
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

const Input x = @X@;
const Input weight = @WEIGHT@;
const Input bias = @BIAS@;
const Input y = @Y@;
const double epsilon = @EPSILON@;
const int normalized_axis = @NORMALIZED_AXIS@;  // first normalized dimension of x
// Of every element of y: the exact value, and the largest error that the contract allows.
const std::vector<double> exact = {@EXACT@};
const std::vector<double> allowed = {@ALLOWED@};

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
)text";

using Words = std::vector<std::pair<std::string, std::string>>;

std::string hex_bits(const Tensor& t, std::string_view suffix) {
  std::string out;
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) out += fmt::format("{}{:#x}{}", i ? ", " : "", t.bits(i), suffix);
  return out;
}

std::string input(const Tensor* t) {
  if (!t) return "{}";
  return fmt::format("{{\"{}\", {{{}}}, {{{}}}, {}, {}, {{{}}}}}", name_of(t->dtype), fmt::join(t->shape, ", "),
                     fmt::join(t->strides, ", "), t->offset, t->misalign, hex_bits(*t, t->dtype == DType::kF64 ? "u" : ""));
}
std::string cpp_number(double v) { return std::isnan(v) ? "NAN" : std::isinf(v) ? (v > 0 ? "INFINITY" : "-INFINITY") : hex_from_value(v); }
// Of every listed element, in order.
std::string listed(const Entry& e, double ElementEvidence::*number) {
  std::string out;
  for (const ElementEvidence& v : e.elements) out += (out.empty() ? "" : ", ") + cpp_number(v.*number);
  return out;
}

// A quoted string.
std::string quoted(const std::string& s) {
  std::string out;
  append_json_string(out, s);
  return out;
}

std::string environment(const Entry& e) {
  std::string out;
  for (const auto& [name, value] : e.environment) out += fmt::format("  setenv({}, {}, 1);\n", quoted(name), quoted(value));
  return out;
}

Words words_of(const Entry& e) {
  const Case& c = e.finding.shrunk;
  const NamedTensors outputs = find_op(c.op)->output_layouts(c);
  return {
      {"@COMMON@", kCommon},
      {"@ENVIRONMENT@", environment(e)},
      {"@OP@", c.op},
      {"@X@", input(c.input("x"))},
      {"@WEIGHT@", input(c.input("weight"))},
      {"@BIAS@", input(c.input("bias"))},
      {"@Y@", input(&outputs[0].second)},
      {"@EPSILON@", hex_from_value(c.epsilon())},
      {"@NORMALIZED_AXIS@", fmt::format("{}", row_axis(c))},
      {"@EXACT@", listed(e, &ElementEvidence::exact)},
      {"@ALLOWED@", listed(e, &ElementEvidence::allowed)},
      {"@TITLE@", title_lines(e, "//")},  // last: a message may hold any of these words
  };
}

// The forward maps of trailing rows, as far as the program can compare: every element of y, or memory, or that it ends at all.
bool covered(const Entry& e) {
  const Finding& f = e.finding;
  const OpInfo* op = find_op(f.shrunk.op);
  if (!op || !op->affine() || op->shape != OutputShape::kElements || row_kind(f.shrunk) != RowKind::kTrailing) return false;
  if (f.shrunk.number("weight_offset", 0) != 0 || f.shrunk.property) return false;
  return e.all_elements || f.failure == FailureClass::kMemory || e.shows() == Shows::kReturn;
}

}  // namespace

std::optional<std::string> cpp_program(const Entry& e) {
  auto text = covered(e) ? read_file(e.folder + "/repro.cc.in", kMaxTemplateBytes) : Result<std::string>(Error{"not covered"});
  if (!text) return std::nullopt;
  for (const auto& [word, replacement] : words_of(e)) replace_all(*text, word, replacement);
  return std::move(*text);
}

}  // namespace normfuzz
