#include "cli/selection.h"

#include <algorithm>
#include <charconv>

#include "core/hex_float.h"
#include "harness/generate/generator.h"
#include "oracles/ops/op.h"

namespace normfuzz {

Result<std::vector<std::string>> selected_ops(const std::string& option, const std::vector<std::string>& names) {
  std::vector<std::string> ops = names;
  if (names.empty())
    for (const OpInfo* op : all_ops()) ops.emplace_back(op->name);
  for (const std::string& name : ops)
    if (!find_op(name)) return Error{option + ": " + in_quotes(name) + " is no operator (see normfuzz ops)"};
  return ops;
}

Result<std::vector<DType>> selected_dtypes(const std::string& option, const std::vector<std::string>& names) {
  if (names.empty()) return std::vector<DType>(std::begin(kAllDTypes), std::end(kAllDTypes));
  std::vector<DType> dtypes;
  for (const std::string& name : names) {
    const auto d = dtype_from_name(name);
    if (!d) return Error{option + ": " + in_quotes(name) + ", expected f64, f32, f16 or bf16"};
    dtypes.push_back(*d);
  }
  return dtypes;
}

Status check_regime(const std::string& option, const std::string& name) {
  const auto& regimes = all_regimes();
  if (name.empty() || std::any_of(regimes.begin(), regimes.end(), [&](const RegimeInfo& r) { return r.name == name; })) return Unit{};
  return Error{option + ": " + in_quotes(name) + " is no regime (see normfuzz regimes)"};
}

Result<double> seconds_from(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc{} || factor == 0 || !(value > 0) || value * factor > 1e9)
    return Error{option + ": " + in_quotes(text) + ", expected a duration such as 60s, 10m or 2h"};
  return value * factor;
}

}  // namespace normfuzz
