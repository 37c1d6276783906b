#include "oracles/filter.h"

#include <cmath>
#include <limits>
#include <string_view>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oracles/filter.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef NORMFUZZ_FILTER_CC_ONCE
#define NORMFUZZ_FILTER_CC_ONCE
namespace normfuzz {

// The reference is itself a kernel that keeps a contract: two passes in double, centred, 1/sqrt of two correctly rounded steps. Its
// distance from the exact value is therefore bounded by the same chains.
inline const Contract& reference_contract() {
  static const Contract kReference = [] {
    Contract c;
    c.accumulate = DType::kF64;
    c.moments = kTwoPass;
    c.rsqrt_ulps = 0;
    return c;
  }();
  return kReference;
}

// What the SIMD map needs of a row: |y - reference| <= |g| (g + gd|d| + gx|x|) + b|b| + y|y| + constant certifies an element.
// The coefficients are those of the contract (less 2^-20 for the roundings of this very sum) minus four times the reference's own: one for
// the reference's error, three for computing the contract's coefficients from statistics and magnitudes that carry that error. The eta
// terms that depend on the element are left out (they only enlarge the bound), except eta times the scale.
// For `faithful`, whose bound is one ulp of the exact value, they are just four times the reference's error, to be taken off that ulp.
struct Acceptance {
  double g, gd, gx, b, y, constant;
  bool usable = false;

  Acceptance(const MapRadius& contract, const MapRadius& reference, bool faithful) {
    const auto net = [&](Up c, Up r) { return faithful ? 4 * r.value() : c.value() * (1 - 0x1p-20) - 4 * r.value(); };
    g = net(contract.g, reference.g);
    gd = net(contract.gd, reference.gd);
    gx = net(contract.gx, reference.gx);
    b = net(contract.b, reference.b);
    y = net(contract.y, reference.y);
    const Up reference_eta =
        (reference.eta + reference.eta_g + reference.eta_d) * Up(0x1p200);  // every magnitude is below 2^200: see in_range
    constant = net(contract.constant + contract.eta * contract.computed, reference.constant + reference_eta);
    usable = std::isfinite(g) && std::isfinite(gd) && std::isfinite(constant);
  }
};

}  // namespace normfuzz
#endif

HWY_BEFORE_NAMESPACE();
namespace normfuzz {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "oracles/ops/affine-inl.h"

using Tag = hn::ScalableTag<double>;
using Vec = hn::Vec<Tag>;

class LanesArithmetic {
 public:
  LanesArithmetic(const Contract& contract, DType storage, std::int64_t n, const double* y)
      : contract_(contract),
        profile_(contract, storage, n),
        reference_(reference_contract(), DType::kF64, n),
        storage_(storage),
        n_(n),
        y_(y) {}

  struct Statistic {
    double value;  // as computed here
    double lower;  // enclosure of the exact one
    Up upper;
    MomentsRadius contract, reference;  // radii of a kernel's and of this computed value
    Up max_abs;
  };
  struct Mean {
    double value;
  };
  struct Moments {
    Mean mean;
    Statistic variance;
  };
  struct Scale {
    double value;
    double mean;
    Acceptance acceptance;
  };
  struct Weight {
    Vec value;
  };
  struct Element {
    Vec reference, allowed;
  };

  Moments moments(const RowInputs& row) const {
    RowStatistics s = absolute_statistics(row);
    Vec total = hn::Zero(tag_);
    each(row, [&](Vec x) { total = hn::Add(total, x); });
    const double n = static_cast<double>(row.n), mean = hn::GetLane(hn::SumOfLanes(tag_, total)) / n;
    // |mean| <= sum|x|/n gives the reference's error; then the deviations and the variance with theirs.
    s.mean = s.mean_abs;
    const Up mean_error = moments_radius(s, reference_contract(), reference_).mean;
    s.mean = Up(std::fabs(mean)) + mean_error;
    const Vec m = hn::Set(tag_, mean);
    Vec deviations = hn::Zero(tag_), squares = hn::Zero(tag_);
    each_or(row, mean, [&](Vec x) {
      const Vec d = hn::Sub(x, m);
      deviations = hn::Add(deviations, hn::Abs(d));
      squares = hn::MulAdd(d, d, squares);
    });
    s.mean_abs_deviation = Up(hn::GetLane(hn::SumOfLanes(tag_, deviations)) / n) * count_pad(row.n) + mean_error * Up(1 + 0x1p-40);
    Moments out{{mean}, {}};
    out.variance.value = hn::GetLane(hn::SumOfLanes(tag_, squares)) / n;
    out.variance.max_abs = s.max_abs;
    // The radius of the variance grows with the variance itself; a guess that its own radius does not exceed is an upper bound.
    const Up guess = Up(out.variance.value) * Up(1 + 0x1p-16) + Up(4) * mean_error * (s.mean_abs_deviation + mean_error) + Up(0x1p-1000);
    s.variance = guess;
    out.variance.reference = moments_radius(s, reference_contract(), reference_);
    const Up upper = Up(out.variance.value) + out.variance.reference.variance;
    usable_ = upper.value() <= guess.value();
    s.variance = upper;
    s.variance_lower = out.variance.lower = std::max(0.0, out.variance.value - out.variance.reference.variance.value());
    out.variance.upper = upper;
    out.variance.contract = moments_radius(s, contract_, profile_);
    mean_ = {mean, s.mean, out.variance.contract.mean, out.variance.reference.mean};
    return out;
  }

  // Running statistics as stored: no sum, so no error of the reference; of a kernel only that of reading them.
  Moments given(const RowInputs& row) const {
    Moments out{{row.mean}, {}};
    Statistic& s = out.variance;
    s.value = s.lower = row.variance;
    s.upper = row.variance;
    s.max_abs = absolute_statistics(row).max_abs;
    s.contract.mean = read_error(row.mean, contract_, profile_);
    s.contract.variance = read_error(row.variance, contract_, profile_);
    if (leaves_range(row.variance, row.epsilon, profile_)) s.contract.limit = Limit::kOverflow;
    mean_ = {row.mean, std::fabs(row.mean), s.contract.mean, Up(0)};
    return out;
  }

  Statistic mean_square(const RowInputs& row) const {
    double computed_mean_square;
    RowStatistics s = absolute_statistics(row, &computed_mean_square);
    Statistic out{};
    out.value = computed_mean_square;
    out.max_abs = s.max_abs;
    const Up guess = Up(out.value) * Up(1 + 0x1p-16) + Up(0x1p-1000);
    s.mean_square = guess;
    out.reference = mean_square_radius(s, reference_contract(), reference_);
    const Up upper = Up(out.value) + out.reference.variance;
    usable_ = upper.value() <= guess.value();
    s.mean_square = out.upper = upper;
    out.lower = std::max(0.0, out.value - out.reference.variance.value());
    out.contract = mean_square_radius(s, contract_, profile_);
    centred_ = false;
    return out;
  }

  Scale rsqrt(const Statistic& statistic, double epsilon) const {
    MapRow kernel{
        mean_.magnitude, mean_.contract, scale_radius(statistic.lower, statistic.upper, statistic.contract, epsilon, contract_, profile_),
        centred_,        offset_,        biased_,
        given_};
    MapRow reference{mean_.magnitude,
                     mean_.reference,
                     scale_radius(statistic.lower, statistic.upper, statistic.reference, epsilon, reference_contract(), reference_),
                     centred_,
                     offset_,
                     biased_,
                     given_};
    usable_ = usable_ && reference.scale.limit == Limit::kNone;
    // The radii of the contract are computed from statistics with the reference's error. Near w - E_v = 0 they grow without end in it, more
    // than four times the reference's radius pays for; up to 9/8 of the exact scale the derivative of (1 - delta)^(-1/2) is below 1. And
    // where w itself is little more than the reference's error (constant rows far from zero), that error times the radius of the mean must
    // stay below the 2^-20 that Acceptance takes off.
    const bool well_conditioned =
        kernel.scale.computed < kernel.scale.exact * Up(1.125) && reference.scale.radius < reference.scale.exact * Up(0x1p-23);
    if (!contract_.faithful)
      usable_ = usable_ && kernel.scale.limit == Limit::kNone && well_conditioned &&
                in_range(statistic.max_abs, mean_.magnitude, kernel.scale.computed);
    const MapRadius map = map_radius(kernel, contract_, profile_);
    if (casts_before_weight(kernel, contract_, profile_)) {  // |d| <= sqrt(n variance); neither the cast nor a product overflows
      const Up g = kernel.biased ? std::max(1.0, largest_parameter_) : 1.0, n = static_cast<double>(n_);
      const Up d = Up(std::sqrt((n * statistic.upper).value())) * Up(1.01) + map.e_d;
      usable_ = usable_ && (d * map.computed * g * Up(1.01)).value() < profile_.output_limit;
    }
    Acceptance acceptance(map, map_radius(reference, reference_contract(), reference_), contract_.faithful);
    usable_ = usable_ && acceptance.usable;
    return {1 / std::sqrt(statistic.value + epsilon), mean_.value, acceptance};
  }

  Weight offset_weight(Vec weight, double offset) const { return {hn::Add(weight, hn::Set(tag_, offset))}; }
  Element affine(Vec x, const Mean& mean, const Scale& scale, Vec weight, Vec bias) const {
    return element(x, hn::Sub(x, hn::Set(tag_, mean.value)), scale, weight, bias);
  }
  Element scaled(Vec x, const Scale& scale, const Weight& weight, Vec bias) const { return element(x, x, scale, weight.value, bias); }

  template <class F>
  FilterRow map(const RowInputs& row, F f) const {
    FilterRow out;
    if (!usable_) return out;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(tag_));
    Worst worst{hn::Zero(tag_), hn::Set(tag_, 1), hn::Zero(tag_), hn::Eq(hn::Zero(tag_), hn::Zero(tag_))};
    std::int64_t i = 0;
    for (; i + lanes <= row.n; i += lanes)
      judge(f(hn::LoadU(tag_, row.x + i), hn::LoadU(tag_, row.weight + i), hn::LoadU(tag_, row.bias + i)), hn::LoadU(tag_, y_ + i), worst);
    for (; i < row.n; ++i)
      judge(f(hn::Set(tag_, row.x[i]), hn::Set(tag_, row.weight[i]), hn::Set(tag_, row.bias[i])), hn::Set(tag_, y_[i]), worst);
    out.certified = hn::AllTrue(tag_, worst.accepted);
    out.worst_ratio = hn::GetLane(hn::MaxOfLanes(tag_, hn::Div(worst.error, worst.allowed)));
    out.worst_ulps = hn::GetLane(hn::MaxOfLanes(tag_, worst.ulps));
    return out;
  }

  void set_row(const RowInputs& row) {
    offset_ = row.weight_offset != 0;
    biased_ = row.biased;
    given_ = row.given_moments;
  }
  void set_parameter_magnitude(double largest) { largest_parameter_ = largest; }

 private:
  struct MeanFacts {
    double value = 0;
    Up magnitude, contract, reference;
  };

  // A sum of n terms in double is below the exact one by at most a factor 1 - n 2^-53.
  static Up count_pad(std::int64_t n) { return 1 + static_cast<double>(n + 8) * 0x1p-52; }

  template <class F>
  void each(const RowInputs& row, F f) const {
    each_or(row, 0, f);
  }
  // f over whole vectors; the lanes beyond the row hold `filler`, which contributes nothing.
  template <class F>
  void each_or(const RowInputs& row, double filler, F f) const {
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(tag_));
    std::int64_t i = 0;
    for (; i + lanes <= row.n; i += lanes) f(hn::LoadU(tag_, row.x + i));
    if (i == row.n) return;
    HWY_ALIGN double rest[hn::MaxLanes(Tag())];
    for (std::int64_t k = 0; k < lanes; ++k) rest[k] = i + k < row.n ? row.x[i + k] : filler;
    f(hn::Load(tag_, rest));
  }

  RowStatistics absolute_statistics(const RowInputs& row, double* computed_mean_square = nullptr) const {
    RowStatistics s;
    s.n = row.n;
    Vec total = hn::Zero(tag_), largest = hn::Zero(tag_), squares = hn::Zero(tag_);
    each(row, [&](Vec x) {
      const Vec a = hn::Abs(x);
      total = hn::Add(total, a);
      squares = hn::MulAdd(a, a, squares);
      largest = hn::Max(largest, a);
    });
    const double n = static_cast<double>(row.n);
    s.mean_abs = Up(hn::GetLane(hn::SumOfLanes(tag_, total)) / n) * count_pad(row.n);
    s.max_abs = hn::GetLane(hn::MaxOfLanes(tag_, largest));
    const double mean_square = hn::GetLane(hn::SumOfLanes(tag_, squares)) / n;
    if (computed_mean_square) *computed_mean_square = mean_square;
    s.mean_square = Up(mean_square) * count_pad(row.n);
    return s;
  }

  // No product of the map overflows the accumulation type, in any association order. 2^126 leaves room for every rounding.
  bool in_range(Up max_abs, Up mean, Up scale) const {
    const Up g = std::max(1.0, largest_parameter_), x = Up(2) * (max_abs + mean) + Up(1), r = max(scale, Up(1));
    return (g * x * r * Up(2)).value() < 0x1p126;
  }

  struct Worst {
    Vec error, allowed;  // of the largest ratio per lane so far
    Vec ulps;
    hn::Mask<Tag> accepted;
  };

  // The exponent field alone: 2^floor(log2 v) for normal v.
  Vec power_of_two(Vec v) const {
    const hn::RebindToUnsigned<Tag> bits;
    return hn::BitCast(tag_, hn::And(hn::BitCast(bits, v), hn::Set(bits, 0x7ff0000000000000u)));
  }
  // 2^-floor(log2 v): the biased exponents of a number and its reciprocal power add up to 2 * 1023.
  Vec reciprocal_power_of_two(Vec v) const {
    const hn::RebindToUnsigned<Tag> bits;
    return hn::BitCast(tag_, hn::Sub(hn::Set(bits, 0x7fe0000000000000u), hn::BitCast(bits, power_of_two(v))));
  }

  HWY_INLINE void judge(const Element& e, Vec y, Worst& worst) const {
    const FloatFormat& format = format_of(storage_);
    const Vec smallest = hn::Set(tag_, format.smallest_normal), limit = hn::Set(tag_, format.max_finite);
    const Vec error = hn::Abs(hn::Sub(y, e.reference)), magnitude = hn::Abs(e.reference);
    Vec allowed = e.allowed;
    if (contract_.faithful) {
      // One ulp at the smallest magnitude the exact value may have, less the reference's error.
      const Vec ulp = hn::Mul(power_of_two(hn::Max(hn::Sub(magnitude, e.allowed), smallest)), hn::Set(tag_, 2 * format.unit_roundoff));
      allowed = hn::Sub(hn::Mul(ulp, hn::Set(tag_, 1 - 0x1p-45)), e.allowed);
    }
    worst.accepted = hn::And(worst.accepted, hn::And(hn::Le(error, allowed), hn::Lt(hn::Add(magnitude, hn::Abs(allowed)), limit)));
    // Ratios are compared crosswise: a division per row instead of one per element.
    const auto worse = hn::Gt(hn::Mul(error, worst.allowed), hn::Mul(worst.error, allowed));
    worst.error = hn::IfThenElse(worse, error, worst.error);
    worst.allowed = hn::IfThenElse(worse, allowed, worst.allowed);
    const Vec ulps =
        hn::Mul(error, hn::Mul(reciprocal_power_of_two(hn::Max(magnitude, smallest)), hn::Set(tag_, 0.5 / format.unit_roundoff)));
    worst.ulps = hn::Max(worst.ulps, hn::IfThenZeroElse(hn::Eq(e.reference, hn::Zero(tag_)), ulps));
  }

  Element element(Vec x, Vec d, const Scale& scale, Vec g, Vec bias) const {
    const Acceptance& a = scale.acceptance;
    const auto set = [&](double v) { return hn::Set(tag_, v); };
    const Vec reference = hn::Add(hn::Mul(hn::Mul(d, set(scale.value)), g), bias);
    Vec inner = hn::MulAdd(set(a.gd), hn::Abs(d), set(a.g));
    inner = hn::MulAdd(set(a.gx), hn::Abs(x), inner);
    Vec allowed = hn::MulAdd(hn::Abs(g), inner, set(a.constant));
    allowed = hn::MulAdd(set(a.b), hn::Abs(bias), allowed);
    allowed = hn::MulAdd(set(a.y), hn::Abs(reference), allowed);
    return {reference, allowed};
  }

  const Contract& contract_;
  RoundingProfile profile_, reference_;
  DType storage_;
  std::int64_t n_;
  const double* y_;
  Tag tag_;
  bool offset_ = false, biased_ = false, given_ = false;
  double largest_parameter_ = 1;
  mutable bool centred_ = true, usable_ = true;
  mutable MeanFacts mean_;
};

FilterRow FilterRowLanes(const CaseRows& rows, std::int64_t r, const double* y, const Contract& contract) {
  const RowInputs row = rows.row(r);
  LanesArithmetic arithmetic(contract, rows.slice_storage(r), row.n, y);
  arithmetic.set_row(row);
  arithmetic.set_parameter_magnitude(rows.largest_parameter());
  return evaluate_affine(rows.op(), arithmetic, row);
}

}  // namespace HWY_NAMESPACE
}  // namespace normfuzz
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace normfuzz {

HWY_EXPORT(FilterRowLanes);

bool filter_applies(const CaseRows& rows, const Contract& contract) {
  const DType storage = rows.storage();
  return rows.info().affine() && rows.info().forward_map() && storage != DType::kF64 &&
         (contract.accumulate == DType::kF32 || contract.accumulate == DType::kF64 || contract.faithful);
}

FilterRow filter_row(const CaseRows& rows, std::int64_t r, const double* y, const Contract& contract) {
  return HWY_DYNAMIC_DISPATCH(FilterRowLanes)(rows, r, y, contract);
}

}  // namespace normfuzz
#endif
