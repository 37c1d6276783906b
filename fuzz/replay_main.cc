// Runs a driver on files (all files of a directory): keeps drivers compiled and their past findings fixed without libFuzzer.
#include <cstdio>
#include <filesystem>
#include <vector>

#include "core/files.h"
#include "fuzz/driver.h"

namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

bool replay(const std::filesystem::path& path) {
  const auto content = normfuzz::read_file(path.string(), kMaxBytes);
  if (!content) {
    std::fprintf(stderr, "%s\n", content.error().c_str());
    return false;
  }
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content->data()), content->size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    std::vector<std::filesystem::path> files;
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
    } else {
      files.push_back(path);
    }
    for (const auto& file : files) {
      if (!replay(file)) return 2;
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 2;  // a replay of nothing must not look like success
}
