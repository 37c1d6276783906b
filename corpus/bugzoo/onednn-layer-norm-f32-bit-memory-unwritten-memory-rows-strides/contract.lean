-- onednn-layer-norm-f32-bit-memory-unwritten-memory-rows-strides
-- A call reads its inputs and writes every element of its outputs, and nothing else.
-- A statement, not a checked proof: no Lean tool has read this file; Lean checks it only where a toolchain is at hand. All numbers are exact.
import Mathlib

namespace NormFuzz

-- The law is about bits, memory or the process, not about real numbers: nothing to state here.

end NormFuzz
