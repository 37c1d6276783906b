// What each regime promises, stated a second time as a predicate over the stored case, and a way to break that promise.
#pragma once

#include <string_view>
#include <vector>

#include "core/case.h"

namespace normfuzz::test {

struct RegimeCheck {
  std::string_view regime;
  bool (*keeps)(const Case&);
  void (*corrupt)(Case&);  // afterwards keeps() is false, for any case of the regime with at least two columns (or the regime's own width)
};
const std::vector<RegimeCheck>& regime_checks();

}  // namespace normfuzz::test
