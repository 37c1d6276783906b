#include "oracles/case_bounds.h"

#include <algorithm>

namespace normfuzz {

CaseBounds::CaseBounds(const Case& c, Contract contract) : rows_(CaseRows::borrowing(c)), contract_(std::move(contract)) {}

CaseBounds::Place CaseBounds::place(int output, std::int64_t index) {
  const OutputShape shape = rows_.info().shape;
  if (shape == OutputShape::kRows) return {index, 0};
  const int first_sum = shape == OutputShape::kUpdate ? 0 : shape == OutputShape::kElements ? 1 << 30 : 1;
  if (output >= first_sum) return {rows_.slices() - 1, (output - first_sum) * rows_.parameters() + index};
  if (places_.empty()) {
    places_.resize(rows_.outputs().size());
    for (std::int64_t r = 0; r < rows_.rows(); ++r)
      for (std::int64_t i = 0; i < rows_.cols(); ++i) {
        const OutputElement e = rows_.element(r, i);
        auto& places = places_[static_cast<std::size_t>(e.output)];
        places.resize(static_cast<std::size_t>(rows_.output_size(e.output)));
        places[static_cast<std::size_t>(e.index)] = {r, i};
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
