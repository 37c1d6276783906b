// Sums of terms in the order of a mutant's policy.
#pragma once

#include <cstdint>

#include "targets/mutants/mutant.h"

namespace normfuzz {

template <class T, class Term>
T sum_from_left(Term term, std::int64_t begin, std::int64_t end) {
  T s = 0;
  for (std::int64_t i = begin; i < end; ++i) s += term(i);
  return s;
}

template <class T, class Term>
T sum_pairwise(Term term, std::int64_t begin, std::int64_t end) {
  const std::int64_t middle = begin + (end - begin) / 2;
  return end - begin <= 2 ? sum_from_left<T>(term, begin, end) : sum_pairwise<T>(term, begin, middle) + sum_pairwise<T>(term, middle, end);
}

// term(0) + .. + term(count - 1).
template <class T, class Term>
T sum_of(MutantSum order, Term term, std::int64_t count) {
  return order == MutantSum::kPairwise ? sum_pairwise<T>(term, 0, count) : sum_from_left<T>(term, 0, count);
}

}  // namespace normfuzz
