// Which shapes each regime was tried on, as a table whose cells are shaded by their counts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/generate/generator.h"
#include "reports/escape.h"
#include "reports/html_parts.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

// Widths by octave, until the next one begins.
struct Band {
  const char* name;
  int octave;
};
constexpr Band kBands[] = {{"1", 0}, {"2–", 1}, {"4–", 2}, {"16–", 4}, {"64–", 6}, {"256–", 8}, {"1024–", 10}, {"4096–", 12}};
constexpr std::size_t kWidths = std::size(kBands);
using Counts = std::array<std::int64_t, 2 * kWidths>;  // a width with one row, then with several

std::size_t band_of(int octave) {
  std::size_t band = 0;
  while (band + 1 < kWidths && kBands[band + 1].octave <= octave) ++band;
  return band;
}

// 0: none; then a shade for every two octaves.
int shade_of(std::int64_t count) {
  int shade = 0;
  for (; count > 0 && shade < 5; count /= 4) ++shade;
  return shade;
}

}  // namespace

std::string coverage_section(const HtmlContext& c) {
  std::map<std::string, Counts> lines;
  for (const auto& [key, count] : c.report.tally.coverage) lines[key.regime][2 * band_of(key.octave) + (key.several_rows ? 1 : 0)] += count;
  if (lines.empty()) return "";
  std::vector<std::string> order;
  for (const RegimeInfo& r : all_regimes())
    if (lines.contains(std::string(r.name))) order.emplace_back(r.name);
  for (const auto& [regime, counts] : lines)
    if (std::find(order.begin(), order.end(), regime) == order.end()) order.push_back(regime);
  std::string head =
      "<tr><td><th scope=colgroup colspan=8>one row, of so many columns</th><th scope=colgroup colspan=8>several rows, of so many "
      "columns</th></tr>\n<tr><th "
      "scope=col>Regime</th>";
  for (int group = 0; group < 2; ++group)
    for (const Band& b : kBands) head += fmt::format("<th scope=col>{}</th>", b.name);
  std::string rows;
  std::size_t holes = 0;
  for (const std::string& regime : order) {
    rows += fmt::format("<tr><th scope=row>{}</th>", html_text(regime));
    for (std::size_t group = 0; group < 2; ++group)
      for (std::size_t b = 0; b < kWidths; ++b) {
        const std::int64_t n = lines[regime][2 * b + group];
        holes += n == 0;
        rows += fmt::format("<td class=h{}>{}", shade_of(n), n == 0 ? "·" : grouped(n));
      }
    rows += "</tr>\n";
  }
  return fmt::format(
      "<section><h2 id=coverage>Coverage</h2>\n<p class=quiet>Generated cases by regime and shape. A dot is a combination that was not "
      "tried in this campaign; "
      "some regimes have one width by definition.</p>\n<div class=scroll tabindex=0 role=region aria-labelledby=coverage-caption><table "
      "class=heat>"
      "<caption id=coverage-caption><span>Cases by regime, rows and columns; {} of {} combinations not "
      "tried</span></caption>\n<thead>{}</tr></thead>\n<tbody>\n{}</tbody>"
      "</table></div></section>\n",
      holes, order.size() * 2 * kWidths, head, rows);
}

}  // namespace normfuzz
