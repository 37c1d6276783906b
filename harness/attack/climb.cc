#include "harness/attack/climb.h"

#include <cmath>
#include <limits>
#include <vector>

#include "oracles/bound.h"
#include "oracles/kernels/kernel.h"

namespace normfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kStarts = 8;          // random rows of which the best is climbed
constexpr mpfr_prec_t kBits = 192;  // enough for a ratio; a ratio above 1 is computed again
constexpr mpfr_prec_t kProofBits = 1024;

// ---- kernels ----

KernelOptions any_kernel(Stream& s, bool centred) {
  KernelOptions k;
  if (centred) k.moments = static_cast<MomentsMethod>(s.below(6));
  k.order = static_cast<SummationOrder>(s.below(6));
  k.association = static_cast<Association>(s.below(centred ? 6 : 3));
  k.root = static_cast<Root>(s.below(3));
  if (k.root == Root::kRsqrt) k.root_steps = static_cast<int>(s.between(-4, 4));
  k.fma = s.chance(50);
  k.reciprocal_count = s.chance(50);
  k.square_update = s.chance(25);
  k.weighted_merge = s.chance(25);
  k.backward = static_cast<BackwardForm>(s.below(3));
  k.folded_xhat = s.chance(50);
  k.variant = static_cast<unsigned>(s.below(6));
  k.seed = s.next();
  return k;
}

// Among the allowed ones; a flag that a contract pays for is used whenever it is allowed and, one in four times, not.
KernelOptions random_kernel(Stream& s, const std::string& op, const Contract& c, std::int64_t n) {
  for (;;) {
    const OpInfo& info = *find_op(op);
    const bool casts = info.forward_map() && op != "batch_norm";
    KernelOptions k = any_kernel(s, info.centred());
    // A promise that the contract makes room for is used in half of the kernels; what it forbids is not drawn at all.
    k.folded_xhat = k.folded_xhat && c.folded_xhat && info.centred();
    if (!c.folded_backward && k.backward == BackwardForm::kFolded) k.backward = BackwardForm::kMeansFirst;
    if (info.shape != OutputShape::kGradients && info.shape != OutputShape::kUpdate) k.backward = BackwardForm::kCentred;
    if (info.affine() && info.shape != OutputShape::kStatistics) k.variant = 0;
    k.scaled = c.robust_range;
    if (k.scaled) k.association = Association::kScaleFirst;
    k.flush_to_zero = c.flush_to_zero && !s.chance(25);
    k.denormals_are_zero = c.denormals_are_zero && !s.chance(25);
    k.round_residual = op == "add_rms_norm" && c.residual != ResidualSum::kUnrounded && !s.chance(25);
    k.cast_before_weight = casts && c.cast_before_weight && !folded(k.association) && !s.chance(25);
    k.cast_before_bias = k.cast_before_weight && info.formula != Formula::kAddRmsNorm && s.chance(50);
    if (!info.centred() && !(c.moments & kTwoPass)) continue;
    if (allows(c, k, n)) return k;
  }
}

// ---- outputs ----

// The stored number next to the exact value on the side that is farther away, unless that is practically a whole ulp.
double farther_neighbour(const ElementBound& b, DType storage) {
  const std::uint64_t nearest = bits_from_value(storage, b.head);
  const double v = value_from_bits(storage, nearest);
  const double excess = (v - b.head) - b.tail;  // of the right sign: head is the exact value rounded to double
  if (excess == 0 || !std::isfinite(v)) return v;
  const double other = excess < 0 ? value_from_bits(storage, next_up_bits(storage, nearest))
                                  : -value_from_bits(storage, next_up_bits(storage, bits_from_value(storage, -v)));
  const double distance = std::fabs((other - b.head) - b.tail);
  return std::isfinite(other) && distance > std::fabs(excess) && distance < std::fabs(other - v) * (1 - 0x1p-49) ? other : v;
}

std::vector<double> outputs_of(const CaseRows& rows, std::int64_t slice, const KernelOptions& kernel, const Contract& c,
                               const std::vector<ElementBound>& bounds) {
  if (!c.faithful) return run_kernel(kernel, rows, slice, c.accumulate);
  std::vector<double> y;
  for (const ElementBound& b : bounds) y.push_back(farther_neighbour(b, rows.slice_storage(slice)));
  return y;
}

// ---- score ----

bool has_finite_bound(const ElementBound& b) {
  return b.expect == Expectation::kValue && b.limit == Limit::kNone && std::isfinite(b.allowed) && std::isfinite(b.error);
}

// Error over bound, from the lower end of the error where that is what decides.
double ratio_of(double got, const ElementBound& b, const Contract& c, DType storage, double bound_scale) {
  if (!std::isfinite(got)) return certify(got, b, c, storage) == ElementVerdict::kViolation ? kInfinity : 0;
  const ErrorInterval e = error_of(got, b);
  const double allowed = b.allowed * bound_scale;
  if (e.upper <= allowed) return allowed > 0 ? e.upper / allowed : 0;
  return allowed > 0 ? e.lower / allowed : e.lower > 0 ? kInfinity : 0;
}

// Adds a slice to the score; elements are counted through the slices.
void add_score(AttackScore& s, const std::vector<ElementBound>& bounds, const std::vector<double>& y, const Contract& c, DType storage,
               double bound_scale) {
  const std::int64_t first = s.elements;
  s.elements += static_cast<std::int64_t>(bounds.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!has_finite_bound(bounds[i])) continue;
    ++s.finite;
    const double ratio = ratio_of(y[i], bounds[i], c, storage, bound_scale);
    if (ratio > s.ratio) {
      s.ratio = ratio;
      s.element = first + static_cast<std::int64_t>(i);
    }
  }
}

// A candidate with its bounds, so that several kernels share them.
class ScoredRow {
 public:
  ScoredRow(const RowCandidate& row, const Contract& contract, double bound_scale)
      : rows_(row.to_case()), contract_(contract), bound_scale_(bound_scale) {
    for (std::int64_t s = 0; s < rows_.slices(); ++s) bounds_.push_back(slice_bounds(rows_, s, contract, kBits));
  }

  AttackScore score(const KernelOptions& kernel) const {
    AttackScore total;
    for (std::int64_t s = 0; s < rows_.slices(); ++s) {
      const std::vector<ElementBound>& bounds = bounds_[static_cast<std::size_t>(s)];
      const std::vector<double> y = outputs_of(rows_, s, kernel, contract_, bounds);
      AttackScore with = total;
      add_score(with, bounds, y, contract_, rows_.slice_storage(s), bound_scale_);
      if (with.ratio > 1 && with.ratio > total.ratio) {
        with = total;
        add_score(with, slice_bounds(rows_, s, contract_, kProofBits), y, contract_, rows_.slice_storage(s), bound_scale_);
      }
      total = with;
    }
    return total;
  }

 private:
  CaseRows rows_;
  const Contract& contract_;
  double bound_scale_;
  std::vector<std::vector<ElementBound>> bounds_;
};

}  // namespace

AttackScore attack_score(const RowCandidate& row, const KernelOptions& kernel, const Contract& contract, double bound_scale) {
  return ScoredRow(row, contract, bound_scale).score(kernel);
}

ClimbResult climb(Stream s, const ClimbSetting& setting) {
  const Contract& contract = setting.contract;
  ClimbResult best;
  const auto try_row = [&](const RowCandidate& row, std::initializer_list<KernelOptions> kernels) {
    const ScoredRow scored(row, contract, setting.bound_scale);
    for (const KernelOptions& kernel : kernels) {
      const AttackScore score = scored.score(kernel);
      ++best.evaluations;
      best.elements += score.elements;
      best.finite += score.finite;
      if (score.ratio < best.score.ratio) continue;
      best.row = row;
      best.kernel = kernel;
      best.score = score;
    }
  };
  const auto kernel_for = [&](const RowCandidate& row) {
    return contract.faithful ? KernelOptions{} : random_kernel(s, setting.op, contract, row.size());
  };
  for (int i = 0; i < kStarts; ++i) {
    const RowCandidate row = random_candidate(s, setting.arena, setting.op, setting.storage, contract);
    try_row(row, {kernel_for(row), kernel_for(row)});
  }
  for (int i = 0; i < setting.steps; ++i) {
    RowCandidate row = best.row;
    if (!s.chance(10)) mutate(row, s);
    if (s.chance(75))
      try_row(row, {best.kernel});
    else
      try_row(row, {best.kernel, kernel_for(row)});
  }
  return best;
}

std::string describe_attack(const KernelOptions& kernel, const Contract& contract) {
  return contract.faithful ? "the farther neighbour of the exact value" : describe(kernel);
}

}  // namespace normfuzz
