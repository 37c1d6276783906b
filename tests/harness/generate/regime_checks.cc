#include "tests/harness/generate/regime_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "harness/generate/activations.h"
#include "harness/generate/magnitude.h"
#include "tests/harness/generate/rows_of.h"

namespace normfuzz::test {
namespace {

using Values = std::vector<double>;

template <class Predicate>
bool every_row(const Case& c, Predicate keeps) {
  const auto rows = rows_of(c);
  return std::all_of(rows.begin(), rows.end(), keeps);
}
template <class Predicate>
bool every_element(const Case& c, Predicate keeps) {
  return every_row(c, [&](const Values& row) { return std::all_of(row.begin(), row.end(), keeps); });
}
bool finite(double v) { return std::isfinite(v); }
bool is_minus_zero(double v) { return v == 0 && std::signbit(v); }
double largest(const Values& row) {
  double m = 0;
  for (const double v : row) m = std::max(m, std::fabs(v));
  return m;
}
double smallest(const Values& row) {
  double m = std::numeric_limits<double>::infinity();
  for (const double v : row) m = std::min(m, std::fabs(v));
  return m;
}
double length(const Values& row) {
  double sum = 0;
  for (const double v : row) sum += v * v;
  return std::sqrt(sum);
}
bool one_sign(const Values& row) {
  return std::all_of(row.begin(), row.end(), [](double v) { return v > 0; }) ||
         std::all_of(row.begin(), row.end(), [](double v) { return v < 0; });
}
bool is_power_of_two(double v) {
  int e = 0;
  return std::fabs(std::frexp(v, &e)) == 0.5;
}

void set(Case& c, std::int64_t at, double v) { c.input("x")->set_value(at, v); }
void set_all(Case& c, double v) {
  for (std::int64_t i = 0; i < c.input("x")->size(); ++i) set(c, i, v);
}
void add_column(Case& c) {  // as wrong a width as any
  Tensor t = Tensor::zeros(c.dtype(), {1, c.input("x")->size() + 5});
  c.set_input("x", t);
  c.params.erase("normalized_axis");
}

// |x| <= kGaussianBound * 2^(hi+1) of the ordinary scales.
bool ordinary(const Case& c) {
  const double bound = Stream::kGaussianBound * power_of_two(ordinary_exponents(c.dtype()).hi + 1);
  return every_element(c, [&](double v) { return std::fabs(v) <= bound; });
}
bool wide(const Case& c) {
  const Exponents e = safe_exponents(c.dtype());
  return every_element(c, [&](double v) { return std::fabs(v) >= power_of_two(e.lo) && std::fabs(v) < power_of_two(e.hi + 1); });
}
// |x - center| <= 8.11/16 |center| before rounding: max/min < (1 + 0.507)/(1 - 0.507) < 4.
bool large_mean(const Case& c) {
  return every_row(c, [](const Values& row) { return one_sign(row) && largest(row) <= 4 * smallest(row); });
}
bool eps_dominated(const Case& c) {
  const double root = std::sqrt(c.epsilon()),
               floor = 4.5 * format_of(c.dtype()).smallest_subnormal;  // fill_eps_dominated keeps 4, plus 1/8 of it
  return c.epsilon() > 0 && every_row(c, [&](const Values& row) {
           const double rms = length(row) / std::sqrt(static_cast<double>(row.size()));
           return rms >= root * 0x1p-8 && rms <= std::max(root * 0x1p8, floor);
         });
}
bool width_tail(const Case& c) {
  return every_row(c, [](const Values& row) {
    const auto n = static_cast<std::int64_t>(row.size());
    bool near = false;
    for (std::int64_t p = 1; p <= 8192; p *= 2) near |= std::abs(n - p) <= 3;
    return near && one_sign(row);
  });
}
bool constant(const Case& c) {
  return every_row(c, [](const Values& row) { return finite(row[0]) && std::equal(row.begin() + 1, row.end(), row.begin()); });
}
bool nearly_constant(const Case& c) {
  return every_row(c, [&](const Values& row) {
    const auto low = static_cast<std::int64_t>(bits_from_value(c.dtype(), smallest(row)));
    const auto high = static_cast<std::int64_t>(bits_from_value(c.dtype(), largest(row)));
    return one_sign(row) && high - low <= 3 && (row.size() == 1 || high > low);
  });
}
template <std::size_t kWidth>
bool width_is(const Case& c) {
  return every_row(c, [](const Values& row) { return row.size() == kWidth && finite(largest(row)); });
}
bool some_zero_row(const Case& c) {
  const auto rows = rows_of(c);
  return std::any_of(rows.begin(), rows.end(), [](const Values& row) { return largest(row) == 0; });
}
bool overflow_of_squares(const Case& c) {
  const double half = power_of_two((format_of(c.dtype()).max_exponent + 1) / 2);
  return every_row(c, [&](const Values& row) { return finite(largest(row)) && largest(row) >= half; });
}
bool underflow_of_squares(const Case& c) {
  const double half = power_of_two(format_of(c.dtype()).min_exponent / 2);
  return every_element(c, [&](double v) { return std::fabs(v) < half; });
}
bool subnormals(const Case& c) {
  const double normal = format_of(c.dtype()).smallest_normal;
  return every_row(c, [&](const Values& row) { return largest(row) < normal && largest(row) > 0; });
}
bool near_max(const Case& c) {
  const double low = power_of_two(format_of(c.dtype()).max_exponent - 1);
  return every_row(c, [&](const Values& row) { return smallest(row) >= low && finite(largest(row)); });
}
bool special_values(const Case& c) {
  int not_finite = 0, special = 0;
  for (const auto& row : rows_of(c)) {
    const bool bad = !std::all_of(row.begin(), row.end(), finite);
    not_finite += bad;
    special += bad || std::any_of(row.begin(), row.end(), is_minus_zero);
  }
  return not_finite <= 1 && special >= 1;
}
bool adversarial(const Case& c) {
  return every_row(c, [](const Values& row) {
    const std::size_t n = row.size();
    if (n == 1) return finite(row[0]);
    bool neighbours = true, mirrored = true, alternating = true;
    for (std::size_t i = 0; i + 1 < n; i += 2) neighbours &= row[i] == -row[i + 1];
    for (std::size_t i = 0; i < n / 2; ++i) mirrored &= row[i] == -row[n - 1 - i];
    for (std::size_t i = 0; i + 1 < n; ++i) alternating &= row[i] * row[i + 1] < 0;
    const bool swallowed = row.front() == -row.back();
    return neighbours || mirrored || alternating || swallowed || std::is_sorted(row.begin(), row.end()) ||
           std::is_sorted(row.begin(), row.end(), std::greater<>());
  });
}
bool few_bits(const Case& c) {
  return every_row(c, [](const Values& row) {
    double unit = 0x1p30, squares = 0;  // the last bit set in any element
    for (const double v : row)
      if (v != 0) {
        while (std::fmod(v, unit) != 0 && unit > 0x1p-200) unit /= 2;
      }
    for (const double v : row) squares += (v / unit) * (v / unit);
    return squares <= 0x1p24;
  });
}
bool powers_of_two(const Case& c) { return every_element(c, is_power_of_two); }
bool equal_magnitudes(const Case& c) {
  return every_row(c, [](const Values& row) { return finite(row[0]) && largest(row) == smallest(row); });
}
bool ramp(const Case& c) {
  return every_row(c, [&](const Values& row) {
    const std::size_t period = c.dtype() == DType::kF16 ? 2048 : row.size();
    for (int e = -6; e <= 4; ++e)
      for (const double step : {power_of_two(e), -power_of_two(e)}) {
        bool fits = true;
        for (std::size_t i = 0; fits && i < row.size(); ++i)
          fits = row[i] == rounded(c.dtype(), row[0] + step * static_cast<double>(i % period));
        if (fits) return true;
      }
    return false;
  });
}
bool single_spike(const Case& c) {
  return every_row(c, [](Values row) {
    for (double& v : row) v = std::fabs(v);
    std::sort(row.begin(), row.end(), std::greater<>());
    return finite(row[0]) && (row.size() == 1 || row[0] >= 16 * row[1]);
  });
}
bool residual_growth(const Case& c) {
  // Each element is off by u (f16 subnormals by less), the length in double by (cols + a few) roundings.
  const double slack = 2 * format_of(c.dtype()).unit_roundoff + 800 * 0x1p-53;
  double last = 2.45;
  const auto rows = rows_of(c);
  for (const auto& row : rows) {
    const double l = length(row);
    if (row.size() != 768 || l < last * (1 - slack) || l > 245 * (1 + slack)) return false;
    last = l;
  }
  return rows.size() == 1 || last >= 245 * (1 - slack);
}
bool real_activations(const Case& c) {
  return every_row(c, [&](const Values& row) {
    for (int r = 0; r < kActivationRows; ++r) {
      const auto source = activation_row(r);
      bool same = row.size() == source.size();
      for (std::size_t i = 0; same && i < row.size(); ++i) same = row[i] == rounded(c.dtype(), static_cast<double>(source[i]));
      if (same) return true;
    }
    return false;
  });
}
bool mixed_rows(const Case& c) { return c.epsilon() > 0 && rows_of(c).size() >= 2 && every_element(c, finite); }

constexpr auto make_infinite = [](Case& c) { set(c, 0, std::numeric_limits<double>::infinity()); };
constexpr auto make_zero = [](Case& c) { set_all(c, 0); };
constexpr auto make_one = [](Case& c) { set_all(c, 1); };
constexpr auto flip_first = [](Case& c) { set(c, 0, -c.input("x")->value(0)); };
constexpr auto spread_out = [](Case& c) {  // no sum cancels, no order, no exact arithmetic, no progression
  constexpr std::array kValues = {1.0, 1024.0, 0.0625, 1.5, 777.0, 1.25, 3.0};
  for (std::int64_t i = 0; i < c.input("x")->size(); ++i) set(c, i, kValues[static_cast<std::size_t>(i) % kValues.size()] * (1 + 0x1p-6));
};

}  // namespace

const std::vector<RegimeCheck>& regime_checks() {
  static const std::vector<RegimeCheck> checks = {
      {"gaussian", ordinary, make_infinite},
      {"uniform", ordinary, make_infinite},
      {"wide_exponents", wide, make_zero},
      {"large_mean", large_mean, flip_first},
      {"eps_dominated", eps_dominated, make_zero},
      {"width_tail", width_tail, [](Case& c) { set(c, 0, 0); }},
      {"constant_row", constant, [](Case& c) { set(c, 0, 2 * c.input("x")->value(0) + 1); }},
      {"nearly_constant_row", nearly_constant, flip_first},
      {"one_feature", width_is<1>, add_column},
      {"two_features", width_is<2>, add_column},
      {"zero_row", some_zero_row, make_one},
      {"overflow_of_squares", overflow_of_squares, make_one},
      {"underflow_of_squares", underflow_of_squares, make_one},
      {"subnormals", subnormals, make_one},
      {"near_max", near_max, make_one},
      {"special_values", special_values, make_one},
      {"adversarial_sums", adversarial, spread_out},
      {"few_bits", few_bits,
       [](Case& c) {
         set(c, 0, 0x1p-14);
         set(c, 1, 8);
       }},
      {"powers_of_two", powers_of_two, make_zero},
      {"equal_magnitudes", equal_magnitudes, [](Case& c) { set(c, 0, 2 * c.input("x")->value(0)); }},
      {"ramp", ramp, spread_out},
      {"single_spike", single_spike, make_one},
      {"residual_growth", residual_growth, make_zero},
      {"real_activations", real_activations, flip_first},
      {"mixed_rows", mixed_rows, make_infinite},
  };
  return checks;
}

}  // namespace normfuzz::test
