#include "oracles/contract.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

namespace normfuzz {
namespace {

Error expected(std::string_view field, std::string_view value, std::string_view what) {
  return {"contract field " + std::string(field) + ": '" + std::string(value) + "', expected " + std::string(what)};
}

Status set_bool(bool& out, std::string_view field, std::string_view value, std::string_view no, std::string_view yes) {
  if (value != no && value != yes) return expected(field, value, std::string(no) + " or " + std::string(yes));
  out = value == yes;
  return Unit{};
}

Status set_number(double& out, std::string_view field, std::string_view value) {
  double v = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), v);
  if (error != std::errc{} || end != value.data() + value.size() || !(v >= 0)) return expected(field, value, "a number >= 0");
  out = v;
  return Unit{};
}

Status set_moments(Contract& c, std::string_view value) {
  unsigned set = 0;
  c.welford_tree_height = 0;
  for (std::string_view rest = value; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    constexpr std::string_view kTree = "welford_tree(";
    if (name == "two_pass")
      set |= kTwoPass;
    else if (name == "welford_sequential")
      set |= kWelfordSequential;
    else if (name == "welford_tree")
      set |= kWelfordTree;
    else if (name == "one_pass")
      set |= kOnePassClamped;
    else if (name == "one_pass_unclamped")
      set |= kOnePassUnclamped;
    else if (name.starts_with(kTree) && name.ends_with(")")) {
      const std::string_view digits = name.substr(kTree.size(), name.size() - kTree.size() - 1);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c.welford_tree_height);
      if (error != std::errc{} || end != digits.data() + digits.size() || c.welford_tree_height < 1)
        return expected("moments", name, "welford_tree(HEIGHT) with an integer height >= 1");
      set |= kWelfordTree;
    } else {
      return expected("moments", name, "two_pass, welford_sequential, welford_tree[(HEIGHT)], one_pass or one_pass_unclamped");
    }
  }
  if (set == 0) return expected("moments", value, "at least one algorithm");
  c.moments = set;
  return Unit{};
}

}  // namespace

const std::vector<std::string_view>& contract_ladder() {
  static const std::vector<std::string_view> kLadder = {"faithful", "f64_accumulate", "robust",           "two_pass",
                                                        "standard", "one_pass",       "native_accumulate"};
  return kLadder;
}

Result<Contract> contract_named(std::string_view name, DType storage) {
  Contract c;
  c.name = std::string(name);
  c.accumulate = storage == DType::kF64 ? DType::kF64 : DType::kF32;
  if (name == "standard") return c;
  if (name == "faithful")
    c.faithful = true;
  else if (name == "f64_accumulate")
    c.accumulate = DType::kF64;
  else if (name == "robust")
    c.robust_range = true;
  else if (name == "two_pass")
    c.moments = kTwoPass;
  else if (name == "one_pass")
    c.moments |= kOnePassClamped | kOnePassUnclamped;
  else if (name == "native_accumulate")
    c.accumulate = storage;
  else
    return expected("contract", name, "faithful, f64_accumulate, robust, two_pass, standard, one_pass or native_accumulate");
  return c;
}

Status apply_modifier(Contract& c, std::string_view field, std::string_view value) {
  if (field == "accumulate") {
    const auto d = dtype_from_name(value);
    if (!d) return expected(field, value, "f64, f32, f16 or bf16");
    c.accumulate = *d;
    return Unit{};
  }
  if (field == "moments") return set_moments(c, value);
  if (field == "affine") return set_bool(c.folded_affine, field, value, "centred", "folded");
  if (field == "xhat_backward") return set_bool(c.folded_xhat, field, value, "centred", "folded");
  if (field == "backward") return set_bool(c.folded_backward, field, value, "centred", "folded");
  if (field == "ftz") return set_bool(c.flush_to_zero, field, value, "no", "yes");
  if (field == "daz") return set_bool(c.denormals_are_zero, field, value, "no", "yes");
  if (field == "range") return set_bool(c.robust_range, field, value, "standard", "robust");
  if (field == "before_weight") return set_bool(c.cast_before_weight, field, value, "no", "yes");
  if (field == "residual") {
    if (value != "unrounded" && value != "rounded" && value != "any") return expected(field, value, "unrounded, rounded or any");
    c.residual = value == "any" ? ResidualSum::kAny : value == "rounded" ? ResidualSum::kRounded : ResidualSum::kUnrounded;
    return Unit{};
  }
  if (field == "cast_overflow") return set_bool(c.cast_saturates, field, value, "inf", "saturate");
  if (field == "div_ulps") return set_number(c.div_ulps, field, value);
  if (field == "sqrt_ulps") return set_number(c.sqrt_ulps, field, value);
  if (field == "rsqrt_ulps") return set_number(c.rsqrt_ulps, field, value);
  if (field == "pow_ulps") return set_number(c.pow_ulps, field, value);
  return expected(
      field, value,
      "one of accumulate, moments, affine, xhat_backward, backward, ftz, daz, range, before_weight, residual, cast_overflow, div_ulps, "
      "sqrt_ulps, rsqrt_ulps, pow_ulps");
}

}  // namespace normfuzz
