-- onnxruntime-layer-norm-graph-f32-native-accumulate-wrong
-- Every element is within the error that any kernel keeping the contract 'native_accumulate' can make on these inputs (docs/error-model.md).
-- A statement, not a checked proof: no Lean tool has read this file; Lean checks it only where a toolchain is at hand. All numbers are exact.
import Mathlib

namespace NormFuzz

noncomputable def mean (xs : List ℝ) : ℝ := xs.sum / xs.length
noncomputable def centred (xs : List ℝ) : List ℝ := xs.map fun x => x - mean xs
noncomputable def root (xs : List ℝ) (exponent : ℕ) (epsilon : ℝ) : ℝ := √(mean ((centred xs).map fun d => d ^ exponent) + epsilon)

/-- The kernel's result is farther from the exact value than the contract 'native_accumulate' allows. -/
def divergence : Prop :=
  (6108916943496501 / 2 ^ 71 : ℝ) < |(1048555 / 1048576 : ℝ) - (-(centred [(0 : ℝ), (1 : ℝ)]).getD 1 0) / root [(0 : ℝ), (1 : ℝ)] 2 (2748779 / 274877906944 : ℝ) * (1 : ℝ) + (0 : ℝ)|

end NormFuzz
