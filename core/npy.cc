#include "core/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/files.h"
#include "core/hex_float.h"
#include "core/safetensors.h"

namespace normfuzz {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they stand in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kDescriptors[] = {"<f8", "<f4", "<f2", "<u2"};  // by DType; bf16 travels as its bits
constexpr std::size_t kHeaderAlignment = 64;                               // numpy's own, so that data can be mapped

struct Header {
  std::string descriptor;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  bool has_descriptor = false, has_order = false, has_shape = false;
};

// The header is a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  bool header(Header& h) {
    if (!take('{')) return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':') || !field(key, h)) return false;
      if (!take(',') && peek() != '}') return false;
    }
    space();
    return text_.empty() && h.has_descriptor && h.has_order && h.has_shape;
  }

 private:
  bool field(const std::string& key, Header& h) {
    if (key == "descr") return once(h.has_descriptor) && string(h.descriptor);
    if (key == "fortran_order") return once(h.has_order) && boolean(h.fortran_order);
    return key == "shape" && once(h.has_shape) && tuple(h.shape);
  }
  static bool once(bool& seen) { return !std::exchange(seen, true); }
  void space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size())); }
  char peek() {
    space();
    return text_.empty() ? '\0' : text_[0];
  }
  bool take(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool string(std::string& out) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    const auto end = text_.find(quote, 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool boolean(bool& out) {
    space();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      out = value;
      return true;
    }
    return false;
  }
  bool tuple(std::vector<std::int64_t>& out) {
    if (!take('(')) return false;
    while (!take(')')) {
      space();
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), out.emplace_back());
      if (error != std::errc()) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view text_;
};

std::optional<DType> dtype_of(std::string_view descriptor, std::optional<DType> asked) {
  if (descriptor == "<u2" || descriptor == "<V2" || descriptor == "|V2") return asked == DType::kBF16 ? asked : std::nullopt;
  for (const DType d : {DType::kF64, DType::kF32, DType::kF16})
    if (descriptor == kDescriptors[static_cast<std::size_t>(d)]) return d;
  return std::nullopt;
}

// Copies Fortran-ordered elements (first index fastest) into logical order.
void copy_fortran(const char* from, Tensor& t) {
  const std::size_t width = t.element_bytes();
  const std::vector<std::int64_t> offsets = t.element_offsets();
  for (std::size_t i = 0; i < offsets.size(); ++i)
    std::memcpy(&t.data[i * width], from + static_cast<std::size_t>(offsets[i]) * width, width);
}

std::vector<std::int64_t> fortran_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = 1; i < shape.size(); ++i) strides[i] = strides[i - 1] * shape[i - 1];
  return strides;
}

Result<Tensor> decode(const Header& h, std::string_view data, std::string_view name, std::optional<DType> asked) {
  const auto refuse = [&](std::string_view field, const std::string& found, std::string_view expected) {
    return Error{std::string(name) + ": " + std::string(field) + ": " + found + ", expected " + std::string(expected)};
  };
  const auto dtype = dtype_of(h.descriptor, asked);
  if (!dtype) return refuse("descr", in_quotes(h.descriptor), "<f8, <f4, <f2, or <u2 with dtype bf16");
  if (asked && *asked != *dtype) return refuse("descr", in_quotes(h.descriptor), std::string(name_of(*asked)));
  if (h.shape.size() > kMaxRank) return refuse("shape", "rank " + std::to_string(h.shape.size()), "at most 8");
  for (const std::int64_t extent : h.shape)
    if (extent < 1) return refuse("shape", "extent " + std::to_string(extent), "at least 1");
  std::int64_t bytes = checked_size(h.shape);
  if (bytes < 0 || __builtin_mul_overflow(bytes, format_of(*dtype).bytes, &bytes))
    return refuse("shape", "a product beyond 64 bits", "one below 2^63 bytes");
  if (data.size() != static_cast<std::uint64_t>(bytes))
    return refuse("data", std::to_string(data.size()) + " bytes", std::to_string(bytes) + " (shape and dtype)");
  Tensor t = Tensor::zeros(*dtype, h.shape);
  if (h.fortran_order) {
    t.strides = fortran_strides(t.shape);
    copy_fortran(data.data(), t);
  } else {
    std::memcpy(t.data.data(), data.data(), data.size());
  }
  return t;
}

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes, std::string_view name, std::optional<DType> dtype) {
  const auto refuse = [&](const std::string& what) { return Error{std::string(name) + ": " + what}; };
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + 4)
    return refuse("file: does not begin with NumPy's magic, expected a .npy file");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) return refuse("version: " + std::to_string(version) + ", expected 1 to 3");
  const std::size_t length_bytes = version == 1 ? 2 : 4, begin = kMagic.size() + 2 + length_bytes;
  std::uint32_t length = 0;
  if (bytes.size() >= begin) std::memcpy(&length, bytes.data() + kMagic.size() + 2, length_bytes);
  if (bytes.size() < begin || length > bytes.size() - begin)
    return refuse("header: truncated at " + std::to_string(bytes.size()) + " bytes, expected a whole header");
  Header header;
  const std::string_view text = bytes.substr(begin, length);
  if (!LiteralReader(text).header(header))
    return refuse("header: " + in_quotes(text) + ", expected a dictionary of descr, fortran_order, shape");
  return decode(header, bytes.substr(begin + length), name, dtype);
}

Result<Tensor> read_npy(const std::string& path, std::optional<DType> dtype) {
  const Result<std::string> content = read_file(path, kMaxTensorFileBytes);
  if (!content) return Error{content.error()};
  return parse_npy(*content, path, dtype);
}

std::string write_npy(const Tensor& t) {
  std::string header =
      "{'descr': '" + std::string(kDescriptors[static_cast<std::size_t>(t.dtype)]) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : t.shape) header += std::to_string(extent) + ", ";
  header += "), }";
  const std::size_t before = kMagic.size() + 2 + 2 + header.size() + 1;
  header.append((kHeaderAlignment - before % kHeaderAlignment) % kHeaderAlignment, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(t.data.data()), t.data.size());
  return out;
}

}  // namespace normfuzz
