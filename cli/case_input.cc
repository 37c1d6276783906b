#include "cli/case_input.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "core/hex_float.h"
#include "core/npy.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

// Any spelling that strtod takes, all of it.
std::optional<double> number_from(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_from(const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

Status set_epsilon(Case& c, const std::string& text) {
  if (text.empty()) return Unit{};
  const auto value = number_from(text);
  if (!value) return Error{"--epsilon: " + in_quotes(text) + ", expected a number"};
  c.params["epsilon"] = value_from_bits(DType::kF32, bits_from_value(DType::kF32, *value));
  return Unit{};
}

Status set_param(Case& c, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
  const auto refuse = [&](std::string_view expected) {
    return Error{"--param: " + in_quotes(text) + ", expected " + std::string(expected)};
  };
  if (equals == std::string::npos) return refuse("NAME=VALUE");
  const ParamSpec* spec = find_param(name);
  if (!spec) return refuse("the name of a parameter before '=' (see normfuzz ops)");
  if (spec->kind == ParamKind::kText) {
    c.params[name] = value;
    return Unit{};
  }
  if (spec->kind == ParamKind::kInteger) {
    const auto integer = integer_from(value);
    if (!integer) return refuse(spec->expects);
    c.params[name] = *integer;
    return Unit{};
  }
  if (name == "epsilon") return set_epsilon(c, value);
  const auto number = number_from(value);
  if (!number || (spec->accepts && !spec->accepts(*number))) return refuse(spec->expects);
  c.params[name] = *number;
  return Unit{};
}

}  // namespace

void declare_case_input(OptionSet& options, CaseInput& input) {
  options.text("--op", input.op, "Operator (see normfuzz ops)");
  options.text("--weight", input.weight, "Weight (gamma), .npy");
  options.text("--bias", input.bias, "Bias (beta), .npy");
  options.text("--dy", input.dy, "Cotangent of a backward or update, .npy");
  options.text("--b", input.b, "Second input of distance and cosine, .npy");
  options.text("--epsilon", input.epsilon, "Epsilon; rounded to the nearest float32");
  options.list("--param", input.params, "Any other parameter as NAME=VALUE, such as normalized_axis=1", false);
  options.text("--dtype", input.dtype, "Dtype of the arrays; bf16 reads uint16 as bfloat16");
}

Result<Tensor> array_from(const std::string& option, const std::string& path, const std::string& dtype) {
  std::optional<DType> asked;
  if (!dtype.empty()) {
    asked = dtype_from_name(dtype);
    if (!asked) return Error{"--dtype: " + in_quotes(dtype) + ", expected f64, f32, f16 or bf16"};
  }
  Result<Tensor> t = read_npy(path, asked);
  return t ? std::move(t) : Error{option + ": " + t.error()};
}

namespace {

std::vector<std::pair<std::string, std::string>> arrays_of(const CaseInput& i) {
  return {{"x", i.x}, {"a", i.a}, {"b", i.b}, {"dy", i.dy}, {"weight", i.weight}, {"bias", i.bias}};
}

// An input that the op has: read, absent, or missing.
Status set_array(Case& c, const InputSpec& spec, const std::string& path, const CaseInput& input) {
  const std::string name(spec.name);
  if (path.empty()) {
    if (spec.required) return Error{"--" + name + ": missing, expected a .npy file (or --case FILE)"};
    c.set_input(name, std::nullopt);
    return Unit{};
  }
  // Parameters may be wider than bf16 rows; only a file of uint16 needs to be told.
  Result<Tensor> t = array_from("--" + name, path, input.dtype);
  if (!t && (name == "weight" || name == "bias") && !input.dtype.empty())
    if (Result<Tensor> own = array_from("--" + name, path, ""); own) t = std::move(own);
  if (!t) return Error{t.error()};
  c.set_input(name, std::move(*t));
  return Unit{};
}

}  // namespace

bool any_array(const CaseInput& input) {
  for (const auto& [name, path] : arrays_of(input))
    if (!path.empty()) return true;
  return false;
}

Result<Case> case_from(const CaseInput& input) {
  Case c;
  c.op = input.op;
  if (input.op.empty()) return Error{"--op: missing, expected an operator (see normfuzz ops)"};
  const OpInfo* op = find_op(input.op);
  if (!op) return Error{"--" + validate(c).error()};
  for (const auto& [name, path] : arrays_of(input)) {
    const auto spec = std::find_if(op->inputs.begin(), op->inputs.end(), [&, n = name](const InputSpec& s) { return s.name == n; });
    if (spec == op->inputs.end()) {
      if (!path.empty()) return Error{"--" + name + ": not an input of " + input.op};
    } else if (const Status set = set_array(c, *spec, path, input); !set) {
      return Error{set.error()};
    }
  }
  if (const Status set = set_epsilon(c, input.epsilon); !set) return Error{set.error()};
  for (const std::string& p : input.params)
    if (const Status set = set_param(c, p); !set) return Error{set.error()};
  if (const Status valid = validate(c); !valid) return Error{valid.error()};
  return c;
}

}  // namespace normfuzz
