// The writing half of core/case_io.h.
#include "core/case_io.h"
#include "core/json_document.h"
#include "core/safetensors.h"

namespace normfuzz {
namespace {

void append_integers(std::string& out, const std::vector<std::int64_t>& values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) out += ',';
    out += std::to_string(values[i]);
  }
  out += ']';
}

void append_elements(std::string& out, const Tensor& t) {
  out += '[';
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) {
    out += i ? ",\"" : "\"";
    append_hex(out, t.value(i));
    out += '"';
  }
  out += ']';
}

// `name_beside` is the tensor's name in the file beside the text; empty: its elements stand in the text.
void append_tensor(std::string& out, const Tensor& t, const std::string& name_beside) {
  out += "{\"dtype\":\"";
  out += name_of(t.dtype);
  out += "\",\"shape\":";
  append_integers(out, t.shape);
  if (t.strides != dense_strides(t.shape)) {
    out += ",\"strides\":";
    append_integers(out, t.strides);
  }
  if (t.offset) out += ",\"offset\":" + std::to_string(t.offset);
  if (t.misalign) out += ",\"misalign\":" + std::to_string(t.misalign);
  out += ",\"data\":";
  if (name_beside.empty()) {
    append_elements(out, t);
  } else {
    out += "{\"safetensors\":";
    append_json_string(out, name_beside);
    out += ",\"digest\":\"" + digest(t) + "\"}";
  }
  out += '}';
}

void append_param(std::string& out, const ParamValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    out += '"';
    append_hex(out, *number);
    out += '"';
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    out += std::to_string(*integer);
  } else {
    append_json_string(out, std::get<std::string>(value));
  }
}

// "name": separated from the member before it.
void append_key(std::string& out, bool& first, std::string_view name, std::string_view separator = ",") {
  if (!first) out += separator;
  first = false;
  append_json_string(out, name);
  out += ':';
}

void append_inputs(std::string& out, const Case& c, bool beside) {
  out += ",\n \"inputs\":{\n  ";
  bool first = true;
  for (const auto& [name, tensor] : c.inputs) {
    append_key(out, first, name, ",\n  ");
    if (tensor) {
      append_tensor(out, *tensor, beside ? "inputs." + name : "");
    } else {
      out += "null";
    }
  }
  out += "\n }";
}

void append_expect(std::string& out, const Case& c, bool beside) {
  out += ",\n \"expect\":{\n  ";
  bool first = true;
  for (const auto& [name, tensor] : c.expect) {
    append_key(out, first, name, ",\n  ");
    append_tensor(out, tensor, beside ? "expect." + name : "");
  }
  out += "\n }";
}

void append_provenance(std::string& out, const Provenance& p) {
  out += ",\n \"provenance\":{\"generator_version\":" + std::to_string(p.generator_version);
  // As strings: many JSON readers keep numbers in doubles and would round them.
  out += ",\"seed\":\"" + std::to_string(p.seed) + "\",\"index\":\"" + std::to_string(p.index) + "\",\"regime\":";
  append_json_string(out, p.regime);
  out += '}';
}

void append_property(std::string& out, const PropertyRef& p) {
  out += ",\n \"property\":{\"id\":";
  append_json_string(out, p.id);
  out += ",\"args\":{";
  bool first = true;
  for (const auto& [name, value] : p.args) {
    append_key(out, first, name);
    append_json_string(out, value);
  }
  out += "}}";
}

std::string to_text(const Case& c, bool beside) {
  std::string out = "{\"schema\":";
  append_json_string(out, kCaseSchema);
  out += ",\"op\":";
  append_json_string(out, c.op);
  out += ",\n \"params\":{";
  bool first = true;
  for (const auto& [name, value] : c.params) {
    append_key(out, first, name);
    append_param(out, value);
  }
  out += '}';
  append_inputs(out, c, beside);
  for (const auto& [name, value] : {std::pair<std::string_view, const std::string&>{"source", c.source}, {"note", c.note}}) {
    if (value.empty()) continue;
    out += ",\n ";
    append_json_string(out, name);
    out += ':';
    append_json_string(out, value);
  }
  if (!c.expect.empty()) append_expect(out, c, beside);
  if (c.provenance) append_provenance(out, *c.provenance);
  if (c.property) append_property(out, *c.property);
  out += "}\n";
  return out;
}

// Every tensor with its name beside the text: "inputs.x", "expect.y".
std::vector<std::pair<std::string, const Tensor*>> all_tensors(const Case& c) {
  std::vector<std::pair<std::string, const Tensor*>> out;
  for (const auto& [name, tensor] : c.inputs)
    if (tensor) out.emplace_back("inputs." + name, &*tensor);
  for (const auto& [name, tensor] : c.expect) out.emplace_back("expect." + name, &tensor);
  return out;
}

// The canonical NaN is the only one that "nan" stands for.
Status check_nans(const Tensor& t, const std::string& field) {
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) {
    const double v = t.value(i);
    if (v != v && t.bits(i) != bits_from_value(t.dtype, v))
      return Error{field + "[" + std::to_string(i) + "]: a NaN with a payload, expected the canonical NaN"};
  }
  return Unit{};
}

}  // namespace

std::string write_case(const Case& c) { return to_text(c, false); }

Status save_case(const Case& c, const std::string& path) {
  const auto tensors = all_tensors(c);
  std::int64_t elements = 0;
  for (const auto& [name, tensor] : tensors) {
    elements += tensor->size();
    if (Status s = check_nans(*tensor, path + ": " + name + ".data"); !s) return s;
  }
  const bool beside = elements > kMaxTextElements;
  if (beside) {
    if (Status s = write_file_atomically(sidecar_path(path), write_safetensors(tensors)); !s) return s;
  }
  return write_file_atomically(path, to_text(c, beside));
}

}  // namespace normfuzz
