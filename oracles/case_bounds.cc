#include "oracles/case_bounds.h"

#include <algorithm>

namespace normfuzz {

CaseBounds::CaseBounds(const Case& c, Contract contract) : rows_(CaseRows::borrowing(c)), contract_(std::move(contract)) {}

CaseBounds::Place CaseBounds::place(int output, std::int64_t index) {
  if (places_.empty()) {
    for (std::size_t k = 0; k < rows_.outputs().size(); ++k)
      places_.emplace_back(static_cast<std::size_t>(rows_.output_size(static_cast<int>(k))));
    for (std::int64_t s = 0; s < rows_.slices(); ++s)
      for (std::int64_t i = 0; i < rows_.slice_size(s); ++i) {
        const OutputElement e = rows_.element(s, i);
        places_[static_cast<std::size_t>(e.output)][static_cast<std::size_t>(e.index)] = {s, i};
      }
  }
  return places_[static_cast<std::size_t>(output)][static_cast<std::size_t>(index)];
}

const ElementBound& CaseBounds::of(std::string_view output, std::int64_t index) {
  const auto& names = rows_.outputs();
  const Place at = place(static_cast<int>(std::find(names.begin(), names.end(), output) - names.begin()), index);
  const auto [it, fresh] = slices_.try_emplace(at.slice);
  if (fresh) it->second = slice_bounds(rows_, at.slice, contract_);
  return it->second[static_cast<std::size_t>(at.position)];
}

}  // namespace normfuzz
