#include "cli/target_choice.h"

#include <algorithm>

#include "harness/run/paths.h"

namespace normfuzz {
namespace {

// The targets that are run only when named: kernels with a known bug each.
constexpr std::string_view kOnlyByName = "mutants";

bool names_a_file(const std::string& path) { return path.find('/') != std::string::npos || path.ends_with(".so") || path.ends_with(".py"); }

Result<TargetChoice> choose_file(const std::string& item) {
  const std::size_t colon = item.rfind(':');
  const std::string variant = colon == std::string::npos ? "" : item.substr(colon + 1);
  const Result<Target> target = load_target_file(item.substr(0, colon));
  if (!target) return Error{target.error()};
  for (const Variant& v : target->variants)
    if (v.name == variant) return TargetChoice(*target, v);
  return Error{"target '" + item + "': its manifest has no variant '" + variant + "'"};
}

std::vector<TargetChoice> all_available(const std::vector<Target>& known) {
  std::vector<TargetChoice> chosen;
  for (const Target& t : known)
    if (t.unavailable.empty() && t.name != kOnlyByName) chosen.push_back({t, t.variants.front()});
  return chosen;
}

}  // namespace

Result<std::vector<Target>> built_targets() { return load_targets(worker_directory() + "/targets"); }

Result<std::vector<TargetChoice>> choose_from(const std::vector<std::string>& items) {
  std::vector<TargetChoice> chosen;
  const auto add = [&](TargetChoice choice) {
    if (std::none_of(chosen.begin(), chosen.end(), [&](const TargetChoice& c) {
          return c.label() == choice.label() && c.target.module_path == choice.target.module_path;
        }))
      chosen.push_back(std::move(choice));
  };
  const bool named = !std::all_of(items.begin(), items.end(), names_a_file);
  Result<std::vector<Target>> known = items.empty() || named ? built_targets() : Result<std::vector<Target>>(std::vector<Target>{});
  if (!known) return Error{known.error()};
  if (items.empty()) return all_available(*known);
  for (const std::string& item : items) {
    if (names_a_file(item.substr(0, item.rfind(':'))) || names_a_file(item)) {
      Result<TargetChoice> file = choose_file(item);
      if (!file) return Error{file.error()};
      add(std::move(*file));
      continue;
    }
    Result<std::vector<TargetChoice>> choices = choose_targets(*known, item);
    if (!choices) return Error{choices.error()};
    for (TargetChoice& c : *choices) add(std::move(c));
  }
  return chosen;
}

}  // namespace normfuzz
