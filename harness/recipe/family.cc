#include "harness/recipe/family.h"

#include <algorithm>
#include <initializer_list>

namespace normfuzz::fuzzing {
namespace {

std::vector<const Property*> properties_of(std::initializer_list<std::string_view> prefixes) {
  std::vector<const Property*> found;
  for (const Property* p : all_properties())
    if (p->choose && (p->needs_kernel() || p->needs_no_kernel()))
      for (const std::string_view prefix : prefixes)
        if (p->id.starts_with(prefix)) found.push_back(p);
  return found;
}

}  // namespace

const std::vector<Family>& all_families() {
  static const std::vector<Family> families = {
      {"layer_norm", {"layer_norm", "channel_layer_norm", "group_norm", "instance_norm", "layer_norm_graph"}},
      {"rms_norm", {"rms_norm", "add_rms_norm", "qk_norm"}},
      {"batch_norm", {"batch_norm"}},
      {"norms", {"lp_norm", "rms", "distance", "cosine", "lp_normalize"}},
      {"backward",
       {"layer_norm_backward", "rms_norm_backward", "channel_layer_norm_backward", "group_norm_backward", "instance_norm_backward",
        "batch_norm_backward"}},
      {"sgd", {"layer_norm_sgd", "rms_norm_sgd", "channel_layer_norm_sgd"}},
      {.name = "laws_scale", .properties = properties_of({"rms.", "ln."})},
      {.name = "laws_channel", .properties = properties_of({"chan.", "graph."})},
      {.name = "laws_norms", .properties = properties_of({"norm.", "unit.", "cosine."})},
      {.name = "laws_bits", .properties = properties_of({"bit."})},
  };
  return families;
}

const Family* find_family(std::string_view name) {
  const auto& families = all_families();
  const auto it = std::find_if(families.begin(), families.end(), [&](const Family& f) { return f.name == name; });
  return it == families.end() ? nullptr : &*it;
}

}  // namespace normfuzz::fuzzing
