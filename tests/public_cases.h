// The case files of corpus/public, in order of their names.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace normfuzz::testing {

inline std::vector<std::string> case_files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<std::string> public_case_files() { return case_files_in(NORMFUZZ_SOURCE_DIR "/corpus/public"); }

// The floor that corpus/public must not fall below.
inline constexpr std::size_t kLeastPublicCases = 60;

}  // namespace normfuzz::testing
