-- onnxruntime-lp-normalize-f32-range-wrong-dtype-scale
-- The exact result is finite, and a kernel that scales first reaches it.
-- A statement, not a checked proof: no Lean tool has read this file; Lean checks it only where a toolchain is at hand. All numbers are exact.
import Mathlib

namespace NormFuzz

noncomputable def dot (xs ys : List ℝ) : ℝ := (List.zipWith (· * ·) xs ys).sum
noncomputable def lpNorm (p : ℝ) (xs : List ℝ) : ℝ := (xs.map fun x => |x| ^ p).sum ^ (1 / p)
noncomputable def maxNorm (xs : List ℝ) : ℝ := (xs.map fun x => |x|).foldr max 0
noncomputable def rms (xs : List ℝ) (epsilon : ℝ) : ℝ := √(dot xs xs / xs.length + epsilon)
noncomputable def distance (norm : List ℝ → ℝ) (a b : List ℝ) : ℝ := norm (List.zipWith (· - ·) a b)
noncomputable def cosine (atLeast : ℝ) (a b : List ℝ) : ℝ := dot a b / (max (lpNorm 2 a) atLeast * max (lpNorm 2 b) atLeast)
-- The denominator of lp_normalize by its epsilon_mode.
noncomputable def addInside (epsilon : ℝ) (xs : List ℝ) : ℝ := √(dot xs xs + epsilon)
noncomputable def maxSquare (epsilon : ℝ) (xs : List ℝ) : ℝ := √(max (dot xs xs) epsilon)
noncomputable def addOutside (norm : List ℝ → ℝ) (epsilon : ℝ) (xs : List ℝ) : ℝ := norm xs + epsilon
noncomputable def atLeast (norm : List ℝ → ℝ) (epsilon : ℝ) (xs : List ℝ) : ℝ := max (norm xs) epsilon
noncomputable def lpNormalize (length : List ℝ → ℝ) (xs : List ℝ) (i : ℕ) : ℝ := xs.getD i 0 / length xs

/-- The kernel's result is farther from the exact value than the contract 'range' allows. -/
def divergence : Prop :=
  (2674012494757909 / 2 ^ 72 : ℝ) < |(0 : ℝ) - lpNormalize (lpNorm (2 : ℝ)) [(1 / 2 ^ 75 : ℝ)] 0|

end NormFuzz
