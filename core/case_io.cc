#include "core/case_io.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/json_document.h"
#include "core/safetensors.h"

namespace normfuzz {
namespace {

// 4 GiB: 512 times the largest ordinary tensor (2^20 elements of 8 bytes); keeps a stride in a small file from claiming any memory it
// likes.
constexpr std::int64_t kMaxAddressedBytes = std::int64_t{1} << 32;
// Names travel in the worker protocol's fixed records.
constexpr std::size_t kMaxNameLength = 31;
constexpr std::int64_t kAlignment = 64;

bool is_name(std::string_view s) {
  const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !s.empty() && s.size() <= kMaxNameLength && s[0] >= 'a' && s[0] <= 'z' && std::all_of(s.begin(), s.end(), word);
}

// Decodes one document. Every function returns false after recording the first error.
class CaseReader {
 public:
  // `sidecar` is the path of the .safetensors file beside the text; empty: there is none.
  CaseReader(std::string_view file, std::string sidecar) : file_(file), sidecar_(std::move(sidecar)) {}

  Result<Case> read(JsonValue root) {
    Case c;
    if (!document(root, c)) return error_;
    return c;
  }

 private:
  using Field = const std::string&;  // path of a value: "inputs.x.shape[1]"
  bool fail(Field field, const std::string& found, std::string_view expected) {
    return fail(field, found + ", expected " + std::string(expected));
  }
  bool fail(Field field, const std::string& message) {
    error_.message = std::string(file_) + ": " + field + ": " + message;
    return false;
  }
  bool is(JsonValue v, JsonKind kind, Field field, std::string_view expected) {
    return v.kind() == kind || fail(field, v.describe(), expected);
  }
  // Every member in turn with its name and path.
  template <class Visit>
  bool members(JsonValue object, Field field, Visit visit) {
    JsonValue member = object;
    for (std::int64_t i = 0; i < object.count(); ++i) {
      member = i == 0 ? object.first() : member.next();
      const std::string_view key = member.key();
      const std::string name(is_name(key) ? std::string(key) : in_quotes(key));
      if (!visit(member, key, field.empty() ? name : field + "." + name)) return false;
    }
    return true;
  }
  template <class Visit>
  bool elements(JsonValue array, Visit visit) {
    JsonValue element = array;
    for (std::int64_t i = 0; i < array.count(); ++i) {
      element = i == 0 ? array.first() : element.next();
      if (!visit(element, i)) return false;
    }
    return true;
  }
  bool required(JsonValue object, std::string_view key, Field field, std::string_view expected, std::optional<JsonValue>& found) {
    found = object.find(key);
    return found || fail(field, "missing", expected);
  }

  bool document(JsonValue root, Case& c);
  bool text(JsonValue v, Field field, std::string& out);
  bool integer(JsonValue v, Field field, std::int64_t low, std::string_view expected, std::int64_t& out);
  bool counter(JsonValue v, Field field, std::uint64_t& out);
  bool number(JsonValue v, Field field, std::string_view expected, double& out);
  bool param(JsonValue v, std::string_view name, Field field, Case& c);
  bool inputs(JsonValue v, Field field, Case& c);
  bool expect(JsonValue v, Field field, Case& c);
  bool provenance(JsonValue v, Field field, Case& c);
  bool property(JsonValue v, Field field, Case& c);

  bool tensor(JsonValue v, Field field, bool is_input, Tensor& t);
  bool shape(JsonValue v, Field field, Tensor& t);
  bool strides(JsonValue v, Field field, bool is_input, Tensor& t);
  bool misalign(JsonValue v, Field field, Tensor& t);
  bool addressed(Field field, const Tensor& t);
  bool data(JsonValue v, Field field, Tensor& t);
  bool data_beside(JsonValue v, Field field, Tensor& t);

  std::string_view file_;
  std::string sidecar_;
  std::optional<TensorList> beside_;  // the sidecar's content, once a tensor asked for it
  Error error_;
};

bool CaseReader::document(JsonValue root, Case& c) {
  if (!is(root, JsonKind::kObject, "document", "an object")) return false;
  std::optional<JsonValue> field;
  std::string schema;
  // The schema first: in a file of another version every other complaint would mislead.
  if (!required(root, "schema", "schema", "\"normfuzz.case/1\"", field) || !text(*field, "schema", schema)) return false;
  if (schema != kCaseSchema) return fail("schema", in_quotes(schema), "\"normfuzz.case/1\"");
  for (const char* key : {"op", "params", "inputs"})
    if (!required(root, key, key, "a value", field)) return false;
  return members(root, "", [&](JsonValue v, std::string_view key, Field path) {
    if (key == "schema") return true;
    if (key == "op") return text(v, path, c.op) && (is_name(c.op) || fail(path, in_quotes(c.op), "the name of an operator"));
    if (key == "params") {
      return is(v, JsonKind::kObject, path, "an object of parameters") &&
             members(v, path, [&](JsonValue p, std::string_view name, Field p_path) { return param(p, name, p_path, c); });
    }
    if (key == "inputs") return inputs(v, path, c);
    if (key == "source") return text(v, path, c.source);
    if (key == "note") return text(v, path, c.note);
    if (key == "expect") return expect(v, path, c);
    if (key == "provenance") return provenance(v, path, c);
    if (key == "property") return property(v, path, c);
    return fail(path, "unknown field", "one of schema, op, params, inputs, source, note, expect, provenance, property");
  });
}

bool CaseReader::text(JsonValue v, Field field, std::string& out) {
  if (!is(v, JsonKind::kString, field, "a string")) return false;
  out = v.text();
  return true;
}

bool CaseReader::integer(JsonValue v, Field field, std::int64_t low, std::string_view expected, std::int64_t& out) {
  if (!is(v, JsonKind::kInteger, field, expected)) return false;
  out = v.integer();
  return out >= low || fail(field, std::to_string(out), expected);
}

// 64 unsigned bits: a decimal string (which readers that keep numbers in doubles cannot damage) or a JSON integer.
bool CaseReader::counter(JsonValue v, Field field, std::uint64_t& out) {
  if (v.kind() == JsonKind::kUnsigned || (v.kind() == JsonKind::kInteger && v.integer() >= 0)) {
    out = v.unsigned_integer();
    return true;
  }
  if (v.kind() == JsonKind::kString && !v.text().empty()) {
    const std::string_view s = v.text();
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
    if (error == std::errc() && end == s.data() + s.size()) return true;
  }
  return fail(field, v.describe(), "an integer from 0 to 2^64-1, as a string of decimal digits or a number");
}

bool CaseReader::number(JsonValue v, Field field, std::string_view expected, double& out) {
  if (v.kind() == JsonKind::kString || v.kind() == JsonKind::kDecimal) {
    const Result<double> value = v.kind() == JsonKind::kString ? value_from_hex(v.text()) : value_from_decimal(v.text());
    if (!value) return fail(field, value.error());
    out = *value;
    return true;
  }
  if (v.kind() != JsonKind::kInteger) return fail(field, v.describe(), expected);
  out = static_cast<double>(v.integer());
  // 2^63 itself is a double, so the cast back is only defined below it.
  const bool exact = out < 0x1p63 && static_cast<std::int64_t>(out) == v.integer();
  return exact || fail(field, v.describe(), "a number that f64 holds exactly");
}

bool CaseReader::param(JsonValue v, std::string_view name, Field field, Case& c) {
  const ParamSpec* spec = find_param(name);
  if (!spec) return fail(field, "unknown parameter", "a parameter of docs/case-format.md");
  ParamValue value;
  double as_number = 0;
  if (spec->kind == ParamKind::kText) {
    std::string s;
    if (!is(v, JsonKind::kString, field, spec->expects) || !text(v, field, s)) return false;
    if (std::find(spec->choices.begin(), spec->choices.end(), s) == spec->choices.end()) return fail(field, in_quotes(s), spec->expects);
    value = s;
  } else if (spec->kind == ParamKind::kInteger) {
    std::int64_t i = 0;
    if (!integer(v, field, std::numeric_limits<std::int64_t>::min(), spec->expects, i)) return false;
    as_number = static_cast<double>(i);
    value = i;
  } else {
    if (!number(v, field, spec->expects, as_number)) return false;
    value = as_number;
  }
  if (spec->accepts && !spec->accepts(as_number)) return fail(field, v.describe(), spec->expects);
  c.params.emplace(name, std::move(value));
  return true;
}

bool CaseReader::inputs(JsonValue v, Field field, Case& c) {
  if (!is(v, JsonKind::kObject, field, "an object of tensors")) return false;
  if (v.count() == 0) return fail(field, "no tensor", "at least one");
  return members(v, field, [&](JsonValue member, std::string_view name, Field path) {
    if (!is_name(name)) return fail(path, "not a name", "lower-case letters, digits and _, at most 31");
    std::optional<Tensor> t;
    if (member.kind() != JsonKind::kNull && !tensor(member, path, true, t.emplace())) return false;
    c.inputs.emplace_back(name, std::move(t));
    return true;
  });
}

bool CaseReader::expect(JsonValue v, Field field, Case& c) {
  if (!is(v, JsonKind::kObject, field, "an object of tensors")) return false;
  return members(v, field, [&](JsonValue member, std::string_view name, Field path) {
    if (!is_name(name)) return fail(path, "not a name", "lower-case letters, digits and _, at most 31");
    return tensor(member, path, false, c.expect[std::string(name)]);
  });
}

bool CaseReader::provenance(JsonValue v, Field field, Case& c) {
  if (!is(v, JsonKind::kObject, field, "an object")) return false;
  Provenance p;
  std::optional<JsonValue> found;
  for (const char* key : {"generator_version", "seed", "index", "regime"})
    if (!required(v, key, field + "." + key, "a value", found)) return false;
  const bool good = members(v, field, [&](JsonValue member, std::string_view key, Field path) {
    if (key == "seed") return counter(member, path, p.seed);
    if (key == "index") return counter(member, path, p.index);
    if (key == "regime") return text(member, path, p.regime);
    if (key != "generator_version") return fail(path, "unknown field", "one of generator_version, seed, index, regime");
    std::int64_t version = 0;
    constexpr std::string_view kExpected = "an integer from 0 to 2^31-1";
    if (!integer(member, path, 0, kExpected, version)) return false;
    p.generator_version = static_cast<int>(version);
    return version <= std::numeric_limits<int>::max() || fail(path, std::to_string(version), kExpected);
  });
  c.provenance = std::move(p);
  return good;
}

bool CaseReader::property(JsonValue v, Field field, Case& c) {
  if (!is(v, JsonKind::kObject, field, "an object")) return false;
  PropertyRef p;
  std::optional<JsonValue> found;
  if (!required(v, "id", field + ".id", "the identifier of a property", found)) return false;
  const bool good = members(v, field, [&](JsonValue member, std::string_view key, Field path) {
    if (key == "id") return text(member, path, p.id) && (!p.id.empty() || fail(path, "empty", "the identifier of a property"));
    if (key != "args") return fail(path, "unknown field", "one of id, args");
    return is(member, JsonKind::kObject, path, "an object of strings") &&
           members(member, path,
                   [&](JsonValue arg, std::string_view name, Field arg_path) { return text(arg, arg_path, p.args[std::string(name)]); });
  });
  c.property = std::move(p);
  return good;
}

bool CaseReader::tensor(JsonValue v, Field field, bool is_input, Tensor& t) {
  if (!is(v, JsonKind::kObject, field, is_input ? "a tensor or null" : "a tensor")) return false;
  std::optional<JsonValue> dtype, extents, content;
  if (!required(v, "dtype", field + ".dtype", "f64, f32, f16 or bf16", dtype) ||
      !required(v, "shape", field + ".shape", "an array of extents", extents) ||
      !required(v, "data", field + ".data", "an array of numbers", content)) {
    return false;
  }
  std::string name;
  if (!text(*dtype, field + ".dtype", name)) return false;
  const auto known = dtype_from_name(name);
  if (!known) return fail(field + ".dtype", in_quotes(name), "f64, f32, f16 or bf16");
  t.dtype = *known;
  if (!shape(*extents, field + ".shape", t)) return false;
  t.strides = dense_strides(t.shape);
  const bool good = members(v, field, [&](JsonValue member, std::string_view key, Field path) {
    if (key == "dtype" || key == "shape" || key == "data") return true;
    if (key == "strides") return strides(member, path, is_input, t);
    if (key == "offset") return integer(member, path, 0, "an integer >= 0 (elements)", t.offset);
    if (key == "misalign") return misalign(member, path, t);
    return fail(path, "unknown field", "one of dtype, shape, data, strides, offset, misalign");
  });
  return good && addressed(field, t) && data(*content, field + ".data", t);
}

bool CaseReader::shape(JsonValue v, Field field, Tensor& t) {
  if (!is(v, JsonKind::kArray, field, "an array of extents")) return false;
  if (v.count() > kMaxRank) return fail(field, "rank " + std::to_string(v.count()), "at most 8");
  const bool good = elements(v, [&](JsonValue extent, std::int64_t i) {
    return integer(extent, field + "[" + std::to_string(i) + "]", 1, "an integer >= 1", t.shape.emplace_back());
  });
  if (!good) return false;
  if (checked_size(t.shape) < 0) return fail(field, "a product beyond 64 bits", "one below 2^63");
  return true;
}

bool CaseReader::strides(JsonValue v, Field field, bool is_input, Tensor& t) {
  if (!is(v, JsonKind::kArray, field, "an array of strides")) return false;
  if (v.count() != t.rank()) return fail(field, std::to_string(v.count()) + " strides", std::to_string(t.rank()) + ", one per extent");
  return elements(v, [&](JsonValue stride, std::int64_t i) {
    return integer(stride, field + "[" + std::to_string(i) + "]", is_input ? 0 : 1,
                   is_input ? "an integer >= 0 (elements)" : "an integer >= 1 (0 repeats elements: inputs only)",
                   t.strides[static_cast<std::size_t>(i)]);
  });
}

bool CaseReader::misalign(JsonValue v, Field field, Tensor& t) {
  const auto bytes = static_cast<std::int64_t>(t.element_bytes());
  const std::string expected = "a multiple of the element's " + std::to_string(bytes) + " bytes from 0 to 63";
  std::int64_t value = 0;
  if (!integer(v, field, 0, expected, value)) return false;
  if (value >= kAlignment || value % bytes != 0) return fail(field, std::to_string(value), expected);
  t.misalign = static_cast<int>(value);
  return true;
}

// The layout's last element must be addressable; checked before data, so that extent() may be trusted from here on.
bool CaseReader::addressed(Field field, const Tensor& t) {
  const auto limit = kMaxAddressedBytes / static_cast<std::int64_t>(t.element_bytes());
  std::int64_t last = t.offset;
  bool good = last < limit;
  for (std::size_t i = 0; good && i < t.shape.size(); ++i) {
    std::int64_t step;
    good = !__builtin_mul_overflow(t.shape[i] - 1, t.strides[i], &step) && !__builtin_add_overflow(last, step, &last) && last < limit;
  }
  return good || fail(field, "a layout that spans more than 4 GiB", "shape, strides and offset that stay below it");
}

// {"safetensors": NAME, "digest": HEX}: the digest ties the two files together, so that a pair from two saves is refused.
bool CaseReader::data_beside(JsonValue v, Field field, Tensor& t) {
  const auto name = v.find("safetensors"), digest_field = v.find("digest");
  if (!name || !digest_field || v.count() != 2) return fail(field, v.describe(), "an array, or an object of safetensors and digest");
  std::string key, expected;
  if (!text(*name, field + ".safetensors", key) || !text(*digest_field, field + ".digest", expected)) return false;
  if (sidecar_.empty()) return fail(field, "data kept in another file", "data in the text, which has no directory");
  if (!beside_) {
    Result<TensorList> read = read_safetensors(sidecar_);
    if (!read) return fail(field, read.error());
    beside_ = std::move(*read);
  }
  const auto found = std::find_if(beside_->begin(), beside_->end(), [&](const auto& entry) { return entry.first == key; });
  if (found == beside_->end()) return fail(field, "no tensor " + in_quotes(key) + " in " + sidecar_, "one");
  if (found->second.dtype != t.dtype || found->second.shape != t.shape)
    return fail(field, "another dtype or shape in " + sidecar_, "those of this tensor");
  t.data = found->second.data;
  return digest(t) == expected || fail(field + ".digest", in_quotes(expected), "that of the data in " + sidecar_ + ", " + digest(t));
}

bool CaseReader::data(JsonValue v, Field field, Tensor& t) {
  if (v.kind() == JsonKind::kObject) return data_beside(v, field, t);
  if (!is(v, JsonKind::kArray, field, "an array of numbers")) return false;
  if (v.count() != t.size()) {
    return fail(field, std::to_string(v.count()) + " elements", std::to_string(t.size()) + " (the product of the shape)");
  }
  t.data.resize(static_cast<std::size_t>(t.size()) * t.element_bytes());
  return elements(v, [&](JsonValue element, std::int64_t i) {
    const auto path = [&] { return field + "[" + std::to_string(i) + "]"; };
    double value = 0;
    if (element.kind() == JsonKind::kString) {  // the common case, without building a path
      const Result<double> read = value_from_hex(element.text());
      if (!read) return fail(path(), read.error());
      value = *read;
    } else if (!number(element, path(), "a number or a hexadecimal string", value)) {
      return false;
    }
    if (!representable(t.dtype, value)) {
      return fail(path(), hex_from_value(value), "a value that " + std::string(name_of(t.dtype)) + " represents exactly");
    }
    t.set_value(i, value);
    return true;
  });
}

}  // namespace

namespace {

Result<Case> parse(std::string_view json, std::string_view name, const std::string& sidecar) {
  if (json.size() > kMaxCaseBytes)
    return Error{std::string(name) + ": document: " + std::to_string(json.size()) + " bytes, expected at most " +
                 std::to_string(kMaxCaseBytes)};
  const Result<JsonDocument> document = JsonDocument::parse(json, name);
  if (!document) return Error{document.error()};
  return CaseReader(name, sidecar).read(document->root());
}

}  // namespace

std::string sidecar_path(const std::string& case_path) {
  constexpr std::string_view kExtension = ".json";
  const bool json = case_path.size() > kExtension.size() && case_path.ends_with(kExtension);
  return case_path.substr(0, case_path.size() - (json ? kExtension.size() : 0)) + ".safetensors";
}

Result<Case> parse_case(std::string_view json, std::string_view name) { return parse(json, name, ""); }

Result<Case> read_case(const std::string& path) {
  const Result<std::string> content = read_file(path, kMaxCaseBytes);
  if (!content) return Error{content.error()};
  return parse(*content, path, sidecar_path(path));
}

}  // namespace normfuzz
