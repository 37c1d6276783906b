// What a driver offers: libFuzzer calls it with inputs it invents, replay_main.cc with the files it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace normfuzz {

// Stops the process, which is how a driver reports a finding; on in every build, unlike assert.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "driver: %s\n", what);
  std::abort();
}

// A reader's refusal: one line that begins with the input's name.
inline void require_message(std::string_view message, std::string_view name) {
  require(message.starts_with(name) && message.substr(name.size()).starts_with(": "), "an error that does not name its input");
  require(message.find('\n') == std::string_view::npos, "an error of several lines");
}

}  // namespace normfuzz
