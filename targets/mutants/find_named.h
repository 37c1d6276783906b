#pragma once

#include <algorithm>
#include <string_view>

namespace normfuzz {

// The mutant of this name in a list of one kind; null if there is none.
template <class List>
const typename List::value_type* find_named(const List& list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& m) { return m.name == name; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace normfuzz
