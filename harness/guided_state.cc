#include "harness/guided_state.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/hex_float.h"
#include "harness/recipe/build_case.h"

namespace normfuzz {
namespace {

Result<std::vector<std::uint8_t>> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    std::uint8_t byte = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc{} || end != hex.data() + i + 2) return Error{"'" + hex + "', expected hexadecimal digits"};
    bytes.push_back(byte);
  }
  if (hex.size() % 2 != 0 || bytes.empty() || bytes.size() > fuzzing::kMaxRecipeBytes)
    return Error{"'" + hex + "', expected 1 to " + std::to_string(fuzzing::kMaxRecipeBytes) + " bytes as hexadecimal digits"};
  return bytes;
}

Result<WorstInput> parse_line(const std::string& line) {
  std::istringstream words(line);
  std::string op, dtype, regime, ratio, recipe, rest;
  if (!(words >> op >> dtype >> regime >> ratio >> recipe) || words >> rest)
    return Error{"expected 'op dtype regime ratio recipe', found '" + line + "'"};
  const auto d = dtype_from_name(dtype);
  const auto value = value_from_hex(ratio);
  if (!find_op(op)) return Error{"'" + op + "' is not an op"};
  if (!d) return Error{"'" + dtype + "', expected f64, f32, f16 or bf16"};
  if (!value || !(*value > 0)) return Error{"'" + ratio + "', expected a positive hexadecimal float"};
  auto bytes = bytes_of(recipe);
  if (!bytes) return Error{bytes.error()};
  return WorstInput{op, *d, regime, *value, std::move(*bytes)};
}

bool worse(const WorstInput& a, const WorstInput& b) { return a.ratio != b.ratio ? a.ratio > b.ratio : a.recipe < b.recipe; }

}  // namespace

Case case_of_recipe(std::string_view op, DType dtype, std::span<const std::uint8_t> recipe) {
  fuzzing::Recipe r = fuzzing::decode(recipe);
  r.op = 0;
  r.dtype = static_cast<std::uint8_t>(std::find(std::begin(kAllDTypes), std::end(kAllDTypes), dtype) - std::begin(kAllDTypes));
  Case c = fuzzing::build_case({.name = op, .ops = {op}}, r);
  c.source = "recipe " + fuzzing::hex_of(recipe);
  return c;
}

std::string write_worst(std::span<const WorstInput> inputs) {
  std::string out;
  for (const WorstInput& i : inputs)
    out += i.op + ' ' + std::string(name_of(i.dtype)) + ' ' + i.regime + ' ' + hex_from_value(i.ratio) + ' ' + fuzzing::hex_of(i.recipe) +
           '\n';
  return out;
}

Result<std::vector<WorstInput>> parse_worst(std::string_view text, std::string_view name) {
  std::vector<WorstInput> out;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    auto input = parse_line(line);
    if (!input) return Error{std::string(name) + " line " + std::to_string(number) + ": " + input.error()};
    out.push_back(std::move(*input));
  }
  return out;
}

bool WorstPool::add(WorstInput input) {
  std::vector<WorstInput>& pool = by_regime_[input.regime];
  const auto same = [&](const WorstInput& known) { return known.recipe == input.recipe; };
  if (std::any_of(pool.begin(), pool.end(), same)) return false;
  if (pool.size() == kPerRegime && !worse(input, pool.back())) return false;
  pool.insert(std::upper_bound(pool.begin(), pool.end(), input, worse), std::move(input));
  if (pool.size() > kPerRegime) pool.pop_back();
  return true;
}

std::vector<WorstInput> WorstPool::all() const {
  std::vector<WorstInput> out;
  for (const auto& [regime, pool] : by_regime_) out.insert(out.end(), pool.begin(), pool.end());
  return out;
}

}  // namespace normfuzz
