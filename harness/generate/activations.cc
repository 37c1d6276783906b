#include "harness/generate/activations.h"

#include <bit>

// The file's bytes as read-only data. CMake sets NORMFUZZ_ACTIVATIONS_FILE and makes this object depend on the file.
asm(".pushsection .rodata\n"
    ".balign 64\n"
    ".hidden normfuzz_activations\n"
    ".global normfuzz_activations\n"
    "normfuzz_activations:\n"
    ".incbin \"" NORMFUZZ_ACTIVATIONS_FILE
    "\"\n"
    ".popsection\n");

extern "C" __attribute__((visibility("hidden"))) const float normfuzz_activations[];

namespace normfuzz {
namespace {

static_assert(std::endian::native == std::endian::little, "minilm.f32.bin holds little-endian float32");

std::span<const float> line(int index) {
  return {normfuzz_activations + static_cast<std::size_t>(index) * kActivationCols, kActivationCols};
}

}  // namespace

std::span<const float> activation_row(int row) { return line(row); }
std::span<const float> activation_weight() { return line(kActivationRows); }
std::span<const float> activation_bias() { return line(kActivationRows + 1); }

}  // namespace normfuzz
