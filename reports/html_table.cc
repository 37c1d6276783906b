#include <fmt/format.h>

#include <cmath>

#include "reports/escape.h"
#include "reports/html_parts.h"
#include "reports/wording.h"

namespace normfuzz {

std::string html_table(const HtmlTable& t) {
  std::string out;
  if (t.filter)
    out += fmt::format(
        "<p class=filter hidden><label for=\"{0}-filter\">Filter rows</label><input type=search id=\"{0}-filter\" aria-controls=\"{0}\" "
        "autocomplete=off><output></output></p>\n",
        t.id);
  out += fmt::format(
      "<div class=scroll tabindex=0 role=region aria-labelledby=\"{0}-caption\"><table id=\"{0}\"><caption id=\"{0}-caption\"><span>{1}"
      "</span></caption>\n<thead><tr>",
      t.id, t.caption);
  for (const std::string& name : t.head) {
    const bool number = name.starts_with('#');
    out += fmt::format("<th scope=col aria-sort=none{}><button type=button>{}</button></th>", number ? " class=n" : "",
                       html_text(name.substr(number ? 1 : 0)));
  }
  return out + "</tr></thead>\n<tbody>\n" + t.rows + "</tbody></table></div>\n";
}

// Infinity sorts behind every number.
std::string number_cell(double value, std::string_view text) {
  return fmt::format("<td class=n data-v={:.6g}>{}", std::isfinite(value) ? value : 1e300, text);
}

std::string count_cell(std::int64_t n) {
  return n == 0 ? "<td class=\"n quiet\" data-v=0>0" : number_cell(static_cast<double>(n), grouped(n));
}

}  // namespace normfuzz
