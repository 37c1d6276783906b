// The bounds of a whole case under one contract, slice by slice when they are asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "oracles/bound.h"

namespace normfuzz {

class CaseBounds {
 public:
  CaseBounds(const Case& c, Contract contract);  // premise: validate(c); the case must outlive this
  // Of an element by the name of its output and its logical index there. Premise: both exist.
  const ElementBound& of(std::string_view output, std::int64_t index);
  const CaseRows& rows() const { return rows_; }
  const Contract& contract() const { return contract_; }

 private:
  struct Place {
    std::int64_t slice = 0, position = 0;
  };
  Place place(int output, std::int64_t index);

  CaseRows rows_;
  Contract contract_;
  std::map<std::int64_t, std::vector<ElementBound>> slices_;
  std::vector<std::vector<Place>> places_;  // by output and index
};

}  // namespace normfuzz
