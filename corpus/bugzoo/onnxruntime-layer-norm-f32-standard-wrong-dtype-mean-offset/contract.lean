-- onnxruntime-layer-norm-f32-standard-wrong-dtype-mean-offset
-- Every element is within the error that any kernel keeping the contract 'standard' can make on these inputs (docs/error-model.md).
-- A statement, not a checked proof: no Lean tool has read this file; Lean checks it only where a toolchain is at hand. All numbers are exact.
import Mathlib

namespace NormFuzz

noncomputable def mean (xs : List ℝ) : ℝ := xs.sum / xs.length
noncomputable def variance (xs : List ℝ) : ℝ := (xs.map fun x => (x - mean xs) ^ 2).sum / xs.length
noncomputable def meanSquare (xs : List ℝ) : ℝ := (xs.map fun x => x ^ 2).sum / xs.length
noncomputable def layerNorm (xs : List ℝ) (epsilon : ℝ) (weight bias : List ℝ) (i : ℕ) : ℝ :=
  (xs.getD i 0 - mean xs) / √(variance xs + epsilon) * weight.getD i 0 + bias.getD i 0
noncomputable def rmsNorm (xs : List ℝ) (epsilon : ℝ) (weight bias : List ℝ) (i : ℕ) : ℝ :=
  xs.getD i 0 / √(meanSquare xs + epsilon) * weight.getD i 0 + bias.getD i 0

/-- The kernel's result is farther from the exact value than the contract 'standard' allows. -/
def divergence : Prop :=
  (2892712585364337 / 4611686018427387904 : ℝ) < |(-9496037 / 33554432 : ℝ) - layerNorm [(4 : ℝ), (2049 / 512 : ℝ)] (2748779 / 274877906944 : ℝ) [(1 : ℝ), (1 : ℝ)] [(0 : ℝ), (0 : ℝ)] 0|

end NormFuzz
