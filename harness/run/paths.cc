#include "harness/run/paths.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace normfuzz {

std::string worker_directory() {
  if (const char* given = std::getenv("NORMFUZZ_WORKER_DIR"); given != nullptr && *given != '\0') return given;
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (std::filesystem::path folder = own;; folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / "normfuzz-worker", error)) return folder.string();
    if (folder == folder.parent_path()) return own.string();
  }
}

std::string default_python() {
  if (const char* given = std::getenv("NORMFUZZ_PYTHON"); given != nullptr && *given != '\0') return given;
  std::ifstream file(std::filesystem::path(worker_directory()) / "targets" / "onnxruntime" / "python.txt");
  std::string interpreter;
  if (std::getline(file, interpreter) && !interpreter.empty()) return interpreter;
  return "python3";
}

}  // namespace normfuzz
