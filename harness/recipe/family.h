// The families that drivers are made of: related ops, or the properties of related theorems. One driver each (fuzz/CMakeLists.txt).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "oracles/theorems/property.h"

namespace normfuzz::fuzzing {

struct Family {
  std::string_view name;
  std::vector<std::string_view> ops = {};        // of an op family
  std::vector<const Property*> properties = {};  // of a property family: what some other code than a driver decides is left out
};

const std::vector<Family>& all_families();
const Family* find_family(std::string_view name);

}  // namespace normfuzz::fuzzing
