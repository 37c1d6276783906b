// Welford's mean and sum of squared deviations, one accumulator or several, merged as Chan, Golub and LeVeque do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "oracles/kernels/kernel_options.h"
#include "oracles/number/machine_number.h"
#include "oracles/number/machine_sums.h"

namespace normfuzz {

template <class T>
struct WelfordState {
  T mean{}, squares{};
  std::int64_t count = 0;

  void add(T x, const KernelOptions& k) {
    const T d = x - mean;
    ++count;
    const T n(static_cast<double>(count));
    if (k.reciprocal_count)
      mean = k.fma ? fused(d, T(1) / n, mean) : mean + d * (T(1) / n);
    else
      mean = mean + d / n;
    const T other = k.square_update ? d * (T(static_cast<double>(count - 1)) / n) : x - mean;
    squares = k.fma ? fused(d, other, squares) : squares + d * other;
  }
};

template <class T>
WelfordState<T> merge(const WelfordState<T>& a, const WelfordState<T>& b, const KernelOptions& k) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const T n(static_cast<double>(a.count + b.count)), n_a(static_cast<double>(a.count)), n_b(static_cast<double>(b.count));
  const T share = n_b / n, d = b.mean - a.mean;
  WelfordState<T> r;
  r.count = a.count + b.count;
  if (k.weighted_merge)
    r.mean = (k.fma ? fused(n_a, a.mean, n_b * b.mean) : n_a * a.mean + n_b * b.mean) / n;
  else
    r.mean = k.fma ? fused(d, share, a.mean) : a.mean + d * share;
  const T square = d * d, weight = n_a * share;
  r.squares = k.fma ? fused(square, weight, a.squares + b.squares) : a.squares + b.squares + square * weight;
  return r;
}

// Halves, or with kRandomTree splits at random.
template <class T>
WelfordState<T> welford_tree(const std::vector<T>& x, std::int64_t begin, std::int64_t end, const KernelOptions& k) {
  WelfordState<T> leaf;
  if (end - begin == 1) {
    leaf.mean = x[static_cast<std::size_t>(begin)];
    leaf.count = 1;
    return leaf;
  }
  std::int64_t left = (end - begin) / 2;
  if (k.order == SummationOrder::kRandomTree) {
    const std::uint64_t mixed = (k.seed ^ static_cast<std::uint64_t>(begin * 65537 + end)) * 6364136223846793005u + 1442695040888963407u;
    left = 1 + static_cast<std::int64_t>((mixed >> 33) % static_cast<std::uint64_t>(end - begin - 1));
  }
  return merge(welford_tree(x, begin, begin + left, k), welford_tree(x, begin + left, end, k), k);
}

template <class T>
WelfordState<T> welford_lanes(const std::vector<T>& x, std::size_t lanes, const KernelOptions& k) {
  std::vector<WelfordState<T>> s(lanes);
  for (std::size_t i = 0; i < x.size(); ++i) s[i % lanes].add(x[i], k);
  const bool fold = k.order != SummationOrder::kSixteenLanes;
  for (std::size_t half = lanes / 2; fold && half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) s[i] = merge(s[i], s[i + half], k);
  for (std::size_t i = 1; !fold && i < lanes; ++i) s[0] = merge(s[0], s[i], k);
  return s[0];
}

// Premise: at least one element.
template <class T>
WelfordState<T> welford(std::vector<T> x, const KernelOptions& k) {
  if (k.order == SummationOrder::kReversed) std::reverse(x.begin(), x.end());
  if (k.moments == MomentsMethod::kWelfordTree) return welford_tree(x, 0, static_cast<std::int64_t>(x.size()), k);
  if (k.moments == MomentsMethod::kWelfordLanes) return welford_lanes(x, k.order == SummationOrder::kSixteenLanes ? 16 : 8, k);
  WelfordState<T> s;
  for (const T& e : x) s.add(e, k);
  return s;
}

}  // namespace normfuzz
