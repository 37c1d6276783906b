// RapidCheck generators of our own, for every test folder: dtypes, values with all the special ones, tensors with layouts, cases.
// Everything shrinks toward small dense tensors of zeros.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/case.h"
#include "core/case_io.h"

namespace normfuzz::testing {

inline rc::Gen<DType> any_dtype() { return rc::gen::elementOf(std::vector<DType>(std::begin(kAllDTypes), std::end(kAllDTypes))); }

// Zeros, infinities, the canonical NaN and both ends of the finite range: what rounding, overflow and comparison go wrong at.
inline std::vector<std::uint64_t> special_bits(DType d) {
  const FloatFormat& f = format_of(d);
  std::vector<std::uint64_t> out;
  for (const double v : {0.0, 1.0, f.smallest_subnormal, f.smallest_normal, f.smallest_normal - f.smallest_subnormal, f.max_finite,
                         std::numeric_limits<double>::infinity()}) {
    out.push_back(bits_from_value(d, v));
    out.push_back(bits_from_value(d, -v));
  }
  out.push_back(bits_from_value(d, std::numeric_limits<double>::quiet_NaN()));
  return out;
}

// A bit pattern of `d`: small integers, specials, or any bits at all. Every NaN is the canonical one, the only one a case stores.
inline rc::Gen<std::uint64_t> any_bits(DType d) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * format_of(d).bytes);
  const auto small = rc::gen::map(rc::gen::inRange(-8, 9), [d](int v) { return bits_from_value(d, v); });
  const auto any = rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [d, mask](std::uint64_t b) {
    // Spread over the whole width: RapidCheck's own integers are small in small tests.
    b *= 0x9e3779b97f4a7c15u;
    return is_nan_bits(d, b & mask) ? bits_from_value(d, value_from_bits(d, b & mask)) : b & mask;
  });
  return rc::gen::weightedOneOf<std::uint64_t>({{2, small}, {1, rc::gen::elementOf(special_bits(d))}, {3, any}});
}

inline rc::Gen<double> any_value(DType d) {
  return rc::gen::map(any_bits(d), [d](std::uint64_t b) { return value_from_bits(d, b); });
}

// Rank 0 to `max_rank`, extents from 1 to 5.
inline rc::Gen<std::vector<std::int64_t>> any_shape(int max_rank = 4) {
  return rc::gen::mapcat(rc::gen::inRange(0, max_rank + 1), [](int rank) {
    return rc::gen::container<std::vector<std::int64_t>>(static_cast<std::size_t>(rank), rc::gen::inRange<std::int64_t>(1, 6));
  });
}

// Any layout an input may have: padded or permuted strides, repeated rows (stride 0), an offset, a misaligned base.
inline rc::Gen<Tensor> any_tensor(DType d, std::vector<std::int64_t> shape) {
  return rc::gen::exec([d, shape] {
    Tensor t = Tensor::zeros(d, shape);
    if (*rc::gen::weightedElement<bool>({{2, false}, {1, true}})) {
      for (std::int64_t& stride : t.strides) stride = *rc::gen::inRange<std::int64_t>(0, 40);
      t.offset = *rc::gen::inRange<std::int64_t>(0, 20);
      const int width = static_cast<int>(t.element_bytes());
      t.misalign = *rc::gen::inRange(0, 64 / width) * width;
    }
    for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, *any_bits(d));
    return t;
  });
}

inline rc::Gen<Tensor> any_tensor() {
  return rc::gen::mapcat(rc::gen::pair(any_dtype(), any_shape()),
                         [](const std::pair<DType, std::vector<std::int64_t>>& p) { return any_tensor(p.first, p.second); });
}

// Printable, and the characters that JSON has to escape.
inline rc::Gen<std::string> any_text() {
  return rc::gen::container<std::string>(
      rc::gen::weightedOneOf<char>({{6, rc::gen::inRange<char>(' ', '~')}, {1, rc::gen::elementOf(std::string("\n\t\"\\\x01\x7f"))}}));
}

// A well-formed file, not necessarily a valid call: what case_io promises to keep, whatever the operator would say to it.
inline rc::Gen<Case> any_case() {
  return rc::gen::exec([] {
    Case c;
    c.op = *rc::gen::elementOf(std::vector<std::string>{"layer_norm", "rms_norm", "lp_normalize"});
    c.params["epsilon"] =
        *rc::gen::map(rc::gen::inRange(0, 0x7f800000), [](int b) { return value_from_bits(DType::kF32, static_cast<std::uint64_t>(b)); });
    if (*rc::gen::arbitrary<bool>()) c.params["normalized_axis"] = *rc::gen::inRange<std::int64_t>(-kMaxRank, kMaxRank);
    if (*rc::gen::arbitrary<bool>()) c.params["epsilon_mode"] = std::string(*rc::gen::elementOf(find_param("epsilon_mode")->choices));
    c.set_input("x", *any_tensor());
    for (const char* name : {"weight", "bias"})
      if (*rc::gen::arbitrary<bool>()) c.set_input(name, *rc::gen::arbitrary<bool>() ? std::optional(*any_tensor()) : std::nullopt);
    c.source = *any_text();
    c.note = *any_text();
    if (*rc::gen::arbitrary<bool>()) {
      Tensor y = *any_tensor();
      y.strides = dense_strides(y.shape);  // an output never repeats an element
      c.expect["y"] = y;
    }
    if (*rc::gen::arbitrary<bool>()) {
      c.provenance = Provenance{*rc::gen::inRange(0, 1 << 30), *rc::gen::arbitrary<std::uint64_t>() * 0x9e3779b97f4a7c15u,
                                *rc::gen::arbitrary<std::uint64_t>(), *any_text()};
    }
    if (*rc::gen::arbitrary<bool>()) c.property = PropertyRef{"ln.shift_invariant", {{*any_text(), *any_text()}, {"c", "0x1p+3"}}};
    return c;
  });
}

}  // namespace normfuzz::testing

namespace rc {
// Counterexamples are printed in the format of a case file, ready to be saved.
inline void showValue(const normfuzz::Case& c, std::ostream& os) { os << normfuzz::write_case(c); }
}  // namespace rc
