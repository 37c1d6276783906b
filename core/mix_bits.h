// The bit mixer behind digests, streams and draws.
#pragma once

#include <cstdint>

namespace normfuzz {

// splitmix64's finalizer (Stafford's variant 13): a bijection of 64 bits in which every input bit flips each output bit about half the
// time.
constexpr std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace normfuzz
