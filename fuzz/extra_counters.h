// Counters of our own, which libFuzzer reads beside its coverage: an input that sets one that no input has set before joins the corpus.
#pragma once

#include <cstddef>
#include <cstdint>

namespace normfuzz::fuzzing {

inline constexpr std::size_t kExtraCounters = std::size_t{1} << 15;

// Sets the counter of a feature, which is any number; two features may share one. The number of times does not count. Without libFuzzer
// nobody looks.
void note_feature(std::uint64_t feature);

// How many are set. libFuzzer clears them before every input; who is without it calls clear_features.
std::size_t features_set();
void clear_features();

}  // namespace normfuzz::fuzzing
