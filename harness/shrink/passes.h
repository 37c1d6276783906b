// What the shrinker tries: each pass proposes simpler relatives of a case, in no order; shrink.cc picks the simplest that still fails.
// Proposals need not be valid or simpler: whoever runs them checks that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case.h"
#include "harness/shrink/edit.h"

namespace normfuzz {

// The offending element, where it is known: what is kept first.
using Focus = Place;

std::vector<Case> shorter_axes(const Case& c, const Focus& focus);     // fewer rows, fewer columns
std::vector<Case> tiny_relatives(const Case& c, const Focus& focus);   // one row of a few values of x's own magnitude
std::vector<Case> simpler_shapes(const Case& c);                       // fewer dimensions
std::vector<Case> simpler_layouts(const Case& c);                      // toward dense
std::vector<Case> simpler_parameters(const Case& c);                   // null, ones, zeros; plain parameters; one dtype
std::vector<Case> simpler_tensors(const Case& c, const Focus& focus);  // all values of a tensor at once

// One change of values of one tensor; changes at different places can be made together.
struct Edit {
  std::string tensor;
  std::int64_t first = 0;
  std::vector<double> values;
};
// At most `most` values for each element (or block of elements of a large tensor).
std::vector<Edit> simpler_elements(const Case& c, std::size_t most);
Case edited(Case c, const Edit& e);

}  // namespace normfuzz
