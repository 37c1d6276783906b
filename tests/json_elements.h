// The elements of a JSON array, one after another.
#pragma once

#include <cstdint>

#include "core/json_document.h"

namespace normfuzz::testing {

template <class Visit>
void each(const JsonValue& list, Visit visit) {
  if (list.count() == 0) return;
  JsonValue v = list.first();
  for (std::int64_t i = 0;; v = v.next()) {
    visit(v);
    if (++i == list.count()) break;
  }
}

}  // namespace normfuzz::testing
