#include "cli/guided_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/case_io.h"
#include "core/files.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

// "onednn:avx2" -> "onednn-avx2"
std::string file_name(std::string label) {
  std::replace(label.begin(), label.end(), ':', '-');
  return label;
}

// By op and dtype.
std::map<std::pair<std::string, DType>, WorstInput> worst_of(const std::vector<WorstInput>& inputs) {
  std::map<std::pair<std::string, DType>, WorstInput> worst;
  for (const WorstInput& i : inputs) {
    const auto [it, fresh] = worst.try_emplace({i.op, i.dtype}, i);
    if (!fresh && i.ratio > it->second.ratio) it->second = i;
  }
  return worst;
}

}  // namespace

Result<WorstByTarget> read_worst(const std::string& directory, const CampaignOptions& campaign) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) return Error{"--worst: " + directory + ": not a directory"};
  WorstByTarget parents;
  for (const TargetChoice& t : campaign.targets) {
    const std::string path = directory + "/" + file_name(t.label()) + ".txt";
    if (!fs::exists(path, error)) continue;
    const auto text = read_file(path, kMaxFileBytes);
    if (!text) return Error{text.error()};
    auto inputs = parse_worst(*text, path);
    if (!inputs) return Error{inputs.error()};
    parents[t.label()] = std::move(*inputs);
  }
  return parents;
}

Status write_worst_files(const WorstByTarget& worst, const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Error{directory + ": cannot be created: " + error.message()};
  for (const auto& [label, inputs] : worst) {
    const std::string base = directory + "/" + file_name(label);
    if (const auto status = write_file_atomically(base + ".txt", write_worst(inputs)); !status) return status;
    for (const auto& [key, input] : worst_of(inputs)) {
      const std::string path = fmt::format("{}-{}-{}.json", base, key.first, name_of(key.second));
      if (const auto status = save_case(case_of_recipe(input.op, input.dtype, input.recipe), path); !status) return status;
    }
  }
  return Unit{};
}

std::string worst_text(const WorstByTarget& worst, const std::string& directory) {
  std::string out = fmt::format("worst known inputs, error over bound; they are kept in {}\n", directory);
  out += fmt::format(" {:<24}{:<28}{:<6}{:>8}  {:<16}{:>12}\n", "target", "op", "dtype", "ratio", "regime", "rows x cols");
  for (const auto& [label, inputs] : worst)
    for (const auto& [key, input] : worst_of(inputs)) {
      const RowView rows = find_op(input.op)->rows(case_of_recipe(input.op, input.dtype, input.recipe));
      out += fmt::format(" {:<24}{:<28}{:<6}{:>8.4f}  {:<16}{:>12}\n", label.substr(0, 23), input.op, name_of(input.dtype), input.ratio,
                         input.regime.substr(0, 16), fmt::format("{} x {}", rows.rows(), rows.cols()));
    }
  return out;
}

}  // namespace normfuzz
