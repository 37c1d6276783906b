// A Case: one call of an op on exactly stored tensors. The unit that is generated, run, judged, shrunk and reported.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/tensor.h"

namespace normfuzz {

inline constexpr std::string_view kCaseSchema = "normfuzz.case/1";

// A parameter is a number (double, exact), an integer or a text; which one a name has is fixed in kParamTable (case.cc).
using ParamValue = std::variant<double, std::int64_t, std::string>;
enum class ParamKind { kNumber, kInteger, kText };

struct ParamSpec {
  std::string_view name;
  ParamKind kind;
  std::string_view expects;                    // for error messages: "a number >= 0 representable in float32"
  std::vector<std::string_view> choices = {};  // of a text
  bool (*accepts)(double) = nullptr;           // of a number or integer: the range; null: any
};
// All parameters of PROTOCOLS.md by name; null when there is none of that name.
const ParamSpec* find_param(std::string_view name);

struct Provenance {
  int generator_version = 0;
  std::uint64_t seed = 0;
  std::uint64_t index = 0;
  std::string regime;
  bool operator==(const Provenance&) const = default;
};

struct PropertyRef {
  std::string id;
  std::map<std::string, std::string> args;
  bool operator==(const PropertyRef&) const = default;
};

struct Case {
  std::string op;
  std::map<std::string, ParamValue> params;
  // In the op's own order; an absent tensor (JSON null) is present here with an empty optional.
  std::vector<std::pair<std::string, std::optional<Tensor>>> inputs;
  std::string source, note;
  std::map<std::string, Tensor> expect;
  std::optional<Provenance> provenance;
  std::optional<PropertyRef> property;
  int threads = 0;  // of the process that runs it; 0: as its target is run. Never stored: derived by bit.thread_count

  const Tensor* input(std::string_view name) const;
  Tensor* input(std::string_view name);
  void set_input(std::string_view name, std::optional<Tensor> tensor);

  double number(std::string_view name, double fallback) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  double epsilon() const { return number("epsilon", 0); }

  // The dtype of x, else of a, else of the first input present: the one a case is filed under.
  DType dtype() const;

  bool operator==(const Case&) const = default;
};

// A 128-bit digest in hexadecimal over op, parameters, layouts, bits and property; never over text, the order of the inputs, source, note,
// expect or provenance.
std::string digest(const Case& c);
// The same over one tensor: dtype, shape, layout and bits.
std::string digest(const Tensor& t);

}  // namespace normfuzz
