#include "fuzz/extra_counters.h"

#include "core/mix_bits.h"

namespace normfuzz::fuzzing {
namespace {

// libFuzzer finds the array by its section and says so at its start: 'INFO: 32768 Extra Counters'. It is written and never read by this
// program, as far as a compiler can see: volatile keeps the writes.
[[gnu::section("__libfuzzer_extra_counters"), gnu::used]] volatile std::uint8_t counters[kExtraCounters];

}  // namespace

void note_feature(std::uint64_t feature) { counters[mix_bits(feature) % kExtraCounters] = 1; }

std::size_t features_set() {
  std::size_t count = 0;
  for (const volatile std::uint8_t& c : counters) count += c;
  return count;
}

void clear_features() {
  for (volatile std::uint8_t& c : counters) c = 0;
}

}  // namespace normfuzz::fuzzing
