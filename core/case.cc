#include "core/case.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/mix_bits.h"

namespace normfuzz {
namespace {

bool is_epsilon(double v) { return v >= 0 && std::isfinite(v) && representable(DType::kF32, v); }
bool is_switch(double v) { return v == 0 || v == 1; }
bool is_count(double v) { return v >= 1; }
bool is_exponent(double v) { return v >= 1; }  // of a p-norm; infinity included
bool is_fraction(double v) { return v >= 0 && v <= 1; }
bool is_finite(double v) { return std::isfinite(v); }
bool is_axis(double v) { return v >= -kMaxRank && v < kMaxRank; }  // against the rank itself: oracles/ops' validate()

const std::array kParamTable = {
    ParamSpec{"epsilon", ParamKind::kNumber, "a finite number >= 0 that float32 represents exactly", {}, is_epsilon},
    ParamSpec{"weight_offset", ParamKind::kNumber, "0 or 1", {}, is_switch},
    ParamSpec{"normalized_axis", ParamKind::kInteger, "an axis from -rank to rank-1", {}, is_axis},
    ParamSpec{"axis", ParamKind::kInteger, "an axis from -rank to rank-1", {}, is_axis},
    ParamSpec{"groups", ParamKind::kInteger, "an integer >= 1", {}, is_count},
    ParamSpec{"layout", ParamKind::kText, "\"nchw\" or \"nhwc\"", {"nchw", "nhwc"}},
    ParamSpec{"epsilon_mode",
              ParamKind::kText,
              "one of none, add_inside, add_outside, max_norm, max_square",
              {"none", "add_inside", "add_outside", "max_norm", "max_square"}},
    ParamSpec{"p", ParamKind::kNumber, "a number >= 1 or \"inf\"", {}, is_exponent},
    ParamSpec{"pattern",
              ParamKind::kText,
              "one of exact, exponent_4, swapped_sub, swapped_div",
              {"exact", "exponent_4", "swapped_sub", "swapped_div"}},
    ParamSpec{"variance", ParamKind::kText, "\"population\" or \"sample\"", {"population", "sample"}},
    ParamSpec{"training", ParamKind::kInteger, "0 or 1", {}, is_switch},
    ParamSpec{"momentum", ParamKind::kNumber, "a number from 0 to 1", {}, is_fraction},
    ParamSpec{"learning_rate", ParamKind::kNumber, "a finite number", {}, is_finite},
};

// Two independent 64-bit mixes (splitmix64's finalizer over a running state): 128 bits against accidental collisions, not against attack.
class Digest {
 public:
  void add(std::uint64_t v) {
    a_ = mix_bits(a_ ^ v) + 0x9e3779b97f4a7c15u;
    b_ = mix_bits(b_ + v * 0xff51afd7ed558ccdu) ^ std::rotl(a_, 23);
  }
  void add(std::string_view s) {
    add(s.size());
    for (const char ch : s) add(static_cast<unsigned char>(ch));
  }
  std::string hex() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const std::uint64_t w : {a_, b_})
      for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(w >> shift) & 15];
    return out;
  }

 private:
  std::uint64_t a_ = 0x243f6a8885a308d3u, b_ = 0x13198a2e03707344u;  // first digits of pi: arbitrary, fixed
};

void add_tensor(Digest& d, const Tensor& t) {
  d.add(name_of(t.dtype));
  d.add(t.shape.size());
  for (const auto e : t.shape) d.add(static_cast<std::uint64_t>(e));
  for (const auto s : t.strides) d.add(static_cast<std::uint64_t>(s));
  d.add(static_cast<std::uint64_t>(t.offset));
  d.add(static_cast<std::uint64_t>(t.misalign));
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) d.add(t.bits(i));
}

}  // namespace

const ParamSpec* find_param(std::string_view name) {
  const auto* it = std::find_if(kParamTable.begin(), kParamTable.end(), [&](const ParamSpec& s) { return s.name == name; });
  return it == kParamTable.end() ? nullptr : it;
}

const Tensor* Case::input(std::string_view name) const {
  for (const auto& [n, t] : inputs)
    if (n == name) return t ? &*t : nullptr;
  return nullptr;
}
Tensor* Case::input(std::string_view name) { return const_cast<Tensor*>(static_cast<const Case*>(this)->input(name)); }

void Case::set_input(std::string_view name, std::optional<Tensor> tensor) {
  for (auto& [n, t] : inputs)
    if (n == name) {
      t = std::move(tensor);
      return;
    }
  inputs.emplace_back(std::string(name), std::move(tensor));
}

double Case::number(std::string_view name, double fallback) const {
  const auto it = params.find(std::string(name));
  return it == params.end() ? fallback : std::get<double>(it->second);
}
std::int64_t Case::integer(std::string_view name, std::int64_t fallback) const {
  const auto it = params.find(std::string(name));
  return it == params.end() ? fallback : std::get<std::int64_t>(it->second);
}
std::string Case::text(std::string_view name, std::string_view fallback) const {
  const auto it = params.find(std::string(name));
  return it == params.end() ? std::string(fallback) : std::get<std::string>(it->second);
}

DType Case::dtype() const {
  for (const char* name : {"x", "a"})
    if (const Tensor* t = input(name)) return t->dtype;
  for (const auto& [n, t] : inputs)
    if (t) return t->dtype;
  return DType::kF32;
}

std::string digest(const Tensor& t) {
  Digest d;
  add_tensor(d, t);
  return d.hex();
}

std::string digest(const Case& c) {
  Digest d;
  d.add(c.op);
  d.add(c.params.size());
  for (const auto& [name, value] : c.params) {
    d.add(name);
    if (const auto* number = std::get_if<double>(&value)) {
      d.add(std::bit_cast<std::uint64_t>(*number));
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      d.add(static_cast<std::uint64_t>(*integer));
    } else {
      d.add(std::get<std::string>(value));
    }
  }
  std::map<std::string_view, const Tensor*> present;  // an absent tensor and one never mentioned are the same call
  for (const auto& [name, tensor] : c.inputs)
    if (tensor) present.emplace(name, &*tensor);
  d.add(present.size());
  for (const auto& [name, tensor] : present) {
    d.add(name);
    add_tensor(d, *tensor);
  }
  if (c.property) {
    d.add(c.property->id);
    for (const auto& [key, value] : c.property->args) {
      d.add(key);
      d.add(value);
    }
  }
  return d.hex();
}

}  // namespace normfuzz
