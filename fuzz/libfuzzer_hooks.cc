// What libFuzzer asks a driver of cases for, beside running an input.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/session.h"
#include "harness/recipe/mutate.h"
#include "harness/recipe/recipe.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace normfuzz::fuzzing {
namespace {

std::size_t give(const std::vector<std::uint8_t>& bytes, std::uint8_t* data, std::size_t max_size) {
  const std::size_t size = std::min(bytes.size(), max_size);
  std::memcpy(data, bytes.data(), size);
  return std::max<std::size_t>(size, 1);
}

// Bytes that nobody thought of: libFuzzer's own mutations, its dictionary and what it saw compared.
constexpr unsigned kPlainEvery = 8;

bool unguided() {
  static const bool none = [] {
    const auto options = options_from_environment();
    return options && options->guidance == Guidance::kNone;
  }();
  return none;
}

}  // namespace
}  // namespace normfuzz::fuzzing

using namespace normfuzz::fuzzing;

// A recipe is short: no reason to begin with few bytes.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static std::vector<std::string> texts(*argv, *argv + *argc);
  const auto add_unless_given = [&](const std::string& name, const std::string& value) {
    if (std::none_of(texts.begin(), texts.end(), [&](const std::string& t) { return t.starts_with(name); })) texts.push_back(name + value);
  };
  add_unless_given("-len_control=", "0");
  add_unless_given("-max_len=", std::to_string(kMaxRecipeBytes));
  static std::vector<char*> pointers;
  for (std::string& t : texts) pointers.push_back(t.data());
  pointers.push_back(nullptr);
  *argc = static_cast<int>(texts.size());
  *argv = pointers.data();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  if (unguided()) return give(random_bytes(seed), data, max_size);
  if (seed % kPlainEvery == 0) return LLVMFuzzerMutate(data, size, max_size);
  return give(mutate({data, size}, seed), data, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b, std::size_t b_size,
                                                 std::uint8_t* out, std::size_t max_size, unsigned seed) {
  if (unguided()) return give(random_bytes(seed), out, max_size);
  return give(cross({a, a_size}, {b, b_size}, seed), out, max_size);
}
