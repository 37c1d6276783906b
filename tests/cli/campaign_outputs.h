// What two campaigns must have in common when they are the same cases.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "core/files.h"
#include "tests/cli/run_program.h"

namespace normfuzz::testing {

// The object of `run --json` or `merge --json` without what depends on the clock and on the way in which the cases were divided.
inline std::string without_times(std::string json) {
  for (const std::string field : {"\"seconds\":", "\"shard\":"}) {
    const std::size_t begin = json.find(field);
    EXPECT_NE(begin, std::string::npos) << field << "\n" << json.substr(0, 2000);
    if (begin != std::string::npos) json.erase(begin, json.find(',', begin) + 1 - begin);
  }
  // Targets of this build that take no part are listed by `run` alone.
  return json.substr(0, json.rfind("\"targets\":"));
}

// Every file below DIR/bugzoo.
inline std::map<std::string, std::string> entries_of(const std::string& directory) {
  std::map<std::string, std::string> files;
  const std::string root = directory + "/bugzoo";
  if (!std::filesystem::exists(root)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.is_regular_file()) files[entry.path().string().substr(root.size())] = *read_file(entry.path().string(), 1 << 24);
  return files;
}

}  // namespace normfuzz::testing
