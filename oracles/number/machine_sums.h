// Sums of machine numbers, or of their products, in a named order.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/kernels/kernel_options.h"
#include "oracles/number/machine_number.h"

namespace normfuzz {

// x_i, or the products x_i y_i, which an FMA adds without rounding them first.
template <class T>
struct Terms {
  Terms(const std::vector<T>& values, bool squared) : x(values), factors(squared ? &values : nullptr) {}
  Terms(const std::vector<T>& p, const std::vector<T>& q) : x(p), factors(&q) {}
  const std::vector<T>& x;
  const std::vector<T>* factors;  // null: no products

  std::int64_t size() const { return static_cast<std::int64_t>(x.size()); }
  T term(std::int64_t i) const { return factors ? at(i) * factor(i) : at(i); }
  T add(T sum, std::int64_t i, bool fma) const { return factors && fma ? fused(at(i), factor(i), sum) : sum + term(i); }
  const T& at(std::int64_t i) const { return x[static_cast<std::size_t>(i)]; }
  const T& factor(std::int64_t i) const { return (*factors)[static_cast<std::size_t>(i)]; }
};

// Division by n, or multiplication by a rounded 1/n.
template <class T>
T divide_by_count(T sum, std::int64_t n, bool reciprocal) {
  const T count(static_cast<double>(n));
  return reciprocal ? sum * (T(1) / count) : sum / count;
}

// A partial sum; leaf >= 0: still the single term of that index, which an FMA may yet add exactly.
template <class T>
struct PartialSum {
  T sum;
  std::int64_t leaf;
};

template <class T>
PartialSum<T> join(const Terms<T>& t, const PartialSum<T>& a, const PartialSum<T>& b, bool fma) {
  if (a.leaf >= 0) return {t.add(b.sum, a.leaf, fma), -1};
  if (b.leaf >= 0) return {t.add(a.sum, b.leaf, fma), -1};
  return {a.sum + b.sum, -1};
}

template <class T>
PartialSum<T> sum_pairwise(const Terms<T>& t, std::int64_t begin, std::int64_t end, bool fma) {
  if (end - begin == 1) return {t.term(begin), begin};
  const std::int64_t middle = begin + (end - begin) / 2;
  return join(t, sum_pairwise(t, begin, middle, fma), sum_pairwise(t, middle, end, fma), fma);
}

// Joins two partial sums chosen at random until one is left. The generator is a linear congruential one (Knuth's MMIX constants).
template <class T>
T sum_random_tree(const Terms<T>& t, bool fma, std::uint64_t seed) {
  std::vector<PartialSum<T>> parts;
  for (std::int64_t i = 0; i < t.size(); ++i) parts.push_back({t.term(i), i});
  const auto take = [&] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const std::size_t i = (seed >> 33) % parts.size();
    const PartialSum<T> taken = parts[i];
    parts[i] = parts.back();
    parts.pop_back();
    return taken;
  };
  while (parts.size() > 1) {
    const PartialSum<T> a = take(), b = take();
    parts.push_back(join(t, a, b, fma));
  }
  return parts.front().sum;
}

template <class T>
T sum_lanes(const Terms<T>& t, std::int64_t lanes, bool fold, bool fma) {
  std::vector<T> s;
  for (std::int64_t i = 0; i < t.size(); ++i) {
    if (i < lanes)
      s.push_back(t.term(i));
    else
      s[static_cast<std::size_t>(i % lanes)] = t.add(s[static_cast<std::size_t>(i % lanes)], i, fma);
  }
  s.resize(static_cast<std::size_t>(lanes), T(0));
  for (std::size_t half = s.size() / 2; fold && half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) s[i] = s[i] + s[i + half];
  for (std::size_t i = 1; !fold && i < s.size(); ++i) s[0] = s[0] + s[i];
  return s[0];
}

// Premise: at least one term.
template <class T>
T sum_of(const Terms<T>& t, const KernelOptions& k) {
  switch (k.order) {
    case SummationOrder::kPairwise:
      return sum_pairwise(t, 0, t.size(), k.fma).sum;
    case SummationOrder::kEightLanes:
      return sum_lanes(t, 8, true, k.fma);
    case SummationOrder::kSixteenLanes:
      return sum_lanes(t, 16, false, k.fma);
    case SummationOrder::kRandomTree:
      return sum_random_tree(t, k.fma, k.seed);
    default:
      break;
  }
  const bool reversed = k.order == SummationOrder::kReversed;
  T s = t.term(reversed ? t.size() - 1 : 0);
  for (std::int64_t i = 1; i < t.size(); ++i) s = t.add(s, reversed ? t.size() - 1 - i : i, k.fma);
  return s;
}

}  // namespace normfuzz
