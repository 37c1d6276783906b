#include "core/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "core/files.h"
#include "core/hex_float.h"
#include "core/json_document.h"

namespace normfuzz {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they stand in the file");

// What the reference implementation refuses too: a longer header is an attack or an accident.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kDtypeNames[] = {"F64", "F32", "F16", "BF16"};  // by DType
constexpr std::size_t kLengthBytes = 8;

// Where one tensor lies in the data.
struct Entry {
  std::string name;
  Tensor tensor;
  std::uint64_t begin = 0, end = 0;
};

class HeaderReader {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}
  Result<std::vector<Entry>> read(JsonValue root, std::uint64_t data_bytes);

 private:
  Error refuse(const std::string& field, const std::string& found, std::string_view expected) const {
    return Error{std::string(file_) + ": " + field + ": " + found + ", expected " + std::string(expected)};
  }
  Status entry(JsonValue v, Entry& e) const;
  Status shape(JsonValue v, const std::string& field, Tensor& t) const;
  Status offsets(JsonValue v, const std::string& field, Entry& e) const;
  Status metadata(JsonValue v) const;

  std::string_view file_;
};

std::optional<std::vector<std::uint64_t>> unsigned_integers(JsonValue v) {
  if (v.kind() != JsonKind::kArray) return std::nullopt;
  std::vector<std::uint64_t> out;
  JsonValue element = v;
  for (std::int64_t i = 0; i < v.count(); ++i) {
    element = i == 0 ? v.first() : element.next();
    if (element.kind() != JsonKind::kInteger || element.integer() < 0) return std::nullopt;
    out.push_back(element.unsigned_integer());
  }
  return out;
}

Status HeaderReader::shape(JsonValue v, const std::string& field, Tensor& t) const {
  const auto extents = unsigned_integers(v);
  if (!extents || std::count(extents->begin(), extents->end(), 0u)) return refuse(field, v.describe(), "an array of integers >= 1");
  if (extents->size() > kMaxRank) return refuse(field, "rank " + std::to_string(extents->size()), "at most 8");
  t.shape.assign(extents->begin(), extents->end());
  if (checked_size(t.shape) < 0) return refuse(field, "a product beyond 64 bits", "one below 2^63");
  t.strides = dense_strides(t.shape);
  return Unit{};
}

Status HeaderReader::offsets(JsonValue v, const std::string& field, Entry& e) const {
  const auto range = unsigned_integers(v);
  if (!range || range->size() != 2 || (*range)[0] > (*range)[1]) return refuse(field, v.describe(), "[begin, end] in bytes");
  e.begin = (*range)[0];
  e.end = (*range)[1];
  std::int64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(e.tensor.size(), static_cast<std::int64_t>(e.tensor.element_bytes()), &bytes);
  if (overflow || e.end - e.begin != static_cast<std::uint64_t>(bytes))
    return refuse(field, std::to_string(e.end - e.begin) + " bytes", "the size of shape and dtype");
  return Unit{};
}

Status HeaderReader::entry(JsonValue v, Entry& e) const {
  const std::string field = in_quotes(e.name);
  if (v.kind() != JsonKind::kObject) return refuse(field, v.describe(), "an object");
  const auto dtype = v.find("dtype"), extents = v.find("shape"), range = v.find("data_offsets");
  if (!dtype || !extents || !range || v.count() != 3) return refuse(field, "other fields", "dtype, shape, data_offsets");
  const auto* known =
      dtype->kind() == JsonKind::kString ? std::find(std::begin(kDtypeNames), std::end(kDtypeNames), dtype->text()) : std::end(kDtypeNames);
  if (known == std::end(kDtypeNames)) return refuse(field + ".dtype", dtype->describe(), "F64, F32, F16 or BF16");
  e.tensor.dtype = static_cast<DType>(known - std::begin(kDtypeNames));
  if (Status s = shape(*extents, field + ".shape", e.tensor); !s) return s;
  return offsets(*range, field + ".data_offsets", e);
}

Status HeaderReader::metadata(JsonValue v) const {
  if (v.kind() != JsonKind::kObject) return refuse("__metadata__", v.describe(), "an object of strings");
  JsonValue member = v;
  for (std::int64_t i = 0; i < v.count(); ++i) {
    member = i == 0 ? v.first() : member.next();
    if (member.kind() != JsonKind::kString) return refuse("__metadata__", member.describe(), "strings only");
  }
  return Unit{};
}

Result<std::vector<Entry>> HeaderReader::read(JsonValue root, std::uint64_t data_bytes) {
  if (root.kind() != JsonKind::kObject) return refuse("header", root.describe(), "an object");
  std::vector<Entry> entries;
  JsonValue member = root;
  for (std::int64_t i = 0; i < root.count(); ++i) {
    member = i == 0 ? root.first() : member.next();
    if (member.key() == "__metadata__") {
      if (Status s = metadata(member); !s) return Error{s.error()};
      continue;
    }
    entries.emplace_back().name = member.key();
    if (Status s = entry(member, entries.back()); !s) return Error{s.error()};
  }
  std::vector<const Entry*> by_place;
  by_place.reserve(entries.size());
  for (const Entry& e : entries) by_place.push_back(&e);
  std::sort(by_place.begin(), by_place.end(), [](const Entry* a, const Entry* b) { return a->begin < b->begin; });
  std::uint64_t at = 0;
  for (const Entry* e : by_place) {
    if (e->begin != at) return refuse(in_quotes(e->name) + ".data_offsets", "begins at " + std::to_string(e->begin), std::to_string(at));
    at = e->end;
  }
  if (at != data_bytes) return refuse("data", std::to_string(data_bytes) + " bytes", std::to_string(at) + " (the end of the last tensor)");
  return entries;
}

}  // namespace

Result<TensorList> parse_safetensors(std::string_view bytes, std::string_view name) {
  const auto refuse = [&](const std::string& field, const std::string& found, const std::string& expected) {
    return Error{std::string(name) + ": " + field + ": " + found + ", expected " + expected};
  };
  if (bytes.size() < kLengthBytes) return refuse("file", std::to_string(bytes.size()) + " bytes", "at least 8, the header's length");
  std::uint64_t length;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes)
    return refuse("header", std::to_string(length) + " bytes",
                  "at most " + std::to_string(bytes.size() - kLengthBytes) + ", the rest of the file");
  const std::string_view header = bytes.substr(kLengthBytes, length);
  const std::string_view data = bytes.substr(kLengthBytes + length);
  if (!header.starts_with('{')) return refuse("header", "something else", "a JSON object");
  const Result<JsonDocument> document = JsonDocument::parse(header, name);
  if (!document) return Error{document.error()};
  Result<std::vector<Entry>> entries = HeaderReader(name).read(document->root(), data.size());
  if (!entries) return Error{entries.error()};
  TensorList out;
  for (Entry& e : *entries) {
    e.tensor.data.resize(e.end - e.begin);
    std::memcpy(e.tensor.data.data(), data.data() + e.begin, e.tensor.data.size());
    out.emplace_back(std::move(e.name), std::move(e.tensor));
  }
  return out;
}

Result<TensorList> read_safetensors(const std::string& path) {
  const Result<std::string> content = read_file(path, kMaxTensorFileBytes);
  if (!content) return Error{content.error()};
  return parse_safetensors(*content, path);
}

std::string write_safetensors(const std::vector<std::pair<std::string, const Tensor*>>& tensors) {
  std::vector<std::pair<std::string, const Tensor*>> ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second->element_bytes() > b.second->element_bytes(); });
  std::string header = "{";
  std::size_t at = 0;
  for (const auto& [name, tensor] : ordered) {
    if (header.size() > 1) header += ',';
    append_json_string(header, name);
    header += ":{\"dtype\":\"" + std::string(kDtypeNames[static_cast<std::size_t>(tensor->dtype)]) + "\",\"shape\":[";
    for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
      if (i) header += ',';
      header += std::to_string(tensor->shape[i]);
    }
    header += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + tensor->data.size()) + "]}";
    at += tensor->data.size();
  }
  header += '}';
  header.append((kLengthBytes - header.size() % kLengthBytes) % kLengthBytes, ' ');  // the data begins at a multiple of 8
  const std::uint64_t length = header.size();
  std::string out(reinterpret_cast<const char*>(&length), kLengthBytes);
  out.reserve(kLengthBytes + length + at);
  out += header;
  for (const auto& [name, tensor] : ordered) out.append(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size());
  return out;
}

}  // namespace normfuzz
