// The errors of a campaign as small pictures: against the bound for each regime, in ulps against width and scale.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/generate/generator.h"
#include "reports/escape.h"
#include "reports/html_parts.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

constexpr int kQuarters = 4;  // per octave

bool finite(int bucket) { return bucket != kBucketOfZero && bucket != kBucketOfInfinity; }

// A stretch of a logarithmic axis, in octaves.
struct Range {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void include(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  bool empty() const { return low > high; }
  double clamp(double v) const { return std::clamp(v, low, high); }
};

// Pixels of a panel: the frame and its two axes.
class Panel {
 public:
  Panel(double width, double height, Range x, Range y) : width_(width), height_(height), x_(x), y_(y) {}
  double x(double octave) const { return kLeft + (x_.clamp(octave) - x_.low) / (x_.high - x_.low) * (width_ - kLeft - kRight); }
  double y(double octave) const {
    return height_ - kBottom - (y_.clamp(octave) - y_.low) / (y_.high - y_.low) * (height_ - kBottom - kTop);
  }

  std::string open(std::string_view label) const {
    return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" width={:.0f} height={:.0f} role=img aria-label=\"{}\">", width_, height_, width_,
                       height_, html_text(label));
  }
  std::string axes(std::string_view x_name, std::string_view y_name) const {
    std::string out = fmt::format("<path class=axis d=\"M{} {}V{:.0f}H{:.0f}\"/>", kLeft, kTop, height_ - kBottom, width_ - kRight);
    for (const int octave : ticks(x_))
      out += fmt::format("<path class=axis d=\"M{0:.1f} {1:.0f}v4\"/><text x={0:.1f} y={2:.0f} text-anchor=middle>{3}</text>", x(octave),
                         height_ - kBottom, height_ - kBottom + 15, power_text(octave));
    for (const int octave : ticks(y_))
      out += fmt::format("<path class=axis d=\"M{0} {1:.1f}h-4\"/><text x={2} y={3:.1f} text-anchor=end>{4}</text>", kLeft, y(octave),
                         kLeft - 6, y(octave) + 4, power_text(octave));
    out += fmt::format("<text x={:.0f} y={:.0f} text-anchor=end>{}</text>", width_ - kRight, height_ - 2, x_name);
    return out + fmt::format("<text x=0 y=9>{}</text>", y_name);
  }
  std::string level(double octave) const {
    return fmt::format("<path class=edge d=\"M{} {:.1f}H{:.0f}\"/>", kLeft, y(octave), width_ - kRight);
  }

 private:
  static constexpr double kLeft = 38, kRight = 8, kTop = 20, kBottom = 30;
  // At most five whole octaves, equal steps, 0 among them where it is in range.
  static std::vector<int> ticks(const Range& r) {
    int step = 1;
    while ((r.high - r.low) / step > 5) step = step == 1 ? 2 : step == 2 ? 5 : step == 5 ? 10 : step * 2;
    std::vector<int> out;
    for (int v = static_cast<int>(std::ceil(r.low / step)) * step; v <= r.high; v += step) out.push_back(v);
    return out;
  }
  double width_, height_;
  Range x_, y_;
};

// A mark of its own for every type, so that colour is not needed to tell them apart: circle, square, diamond, triangle.
std::string mark(DType d, double x, double y) {
  switch (d) {
    case DType::kF64:
      return fmt::format("M{:.0f} {:.0f}a2.4 2.4 0 1 0 5 0a2.4 2.4 0 1 0-5 0z", x - 2.5, y);
    case DType::kF32:
      return fmt::format("M{:.0f} {:.0f}h4v4h-4z", x - 2, y - 2);
    case DType::kF16:
      return fmt::format("M{:.0f} {:.0f}l3 3-3 3-3-3z", x, y - 3);
    case DType::kBF16:
      return fmt::format("M{:.0f} {:.0f}l3 5h-6z", x, y - 3);
  }
  return "";
}

int series_of(DType d) { return static_cast<int>(d) + 1; }

std::string dtype_legend() {
  std::string out = "<ul class=legend>";
  for (const DType d : kAllDTypes)
    out += fmt::format("<li><svg width=12 height=12 aria-hidden=true class=s{}><path class=dot d=\"{}\"/></svg>{}</li>", series_of(d),
                       mark(d, 6, 6), name_of(d));
  return out + "<li><svg width=12 height=12 aria-hidden=true><path class=off d=\"M6 1l5 5-5 5-5-5z\"/></svg>beyond its bound</li></ul>\n";
}

// In the order of the list of regimes; names that are not on it behind.
std::vector<std::string> regimes_of(const Tally& tally) {
  std::set<std::string> left;
  for (const auto& [key, t] : tally.entries) {
    for (const auto& [regime, p] : t.errors.kept) left.insert(regime);
    for (const auto& [regime, p] : t.errors.broken) left.insert(regime);
  }
  std::vector<std::string> out;
  for (const RegimeInfo& r : all_regimes())
    if (left.erase(std::string(r.name)) > 0) out.emplace_back(r.name);
  out.insert(out.end(), left.begin(), left.end());
  return out;
}

using Points = std::map<std::string, ErrorMap::Point>;
const ErrorMap::Point* point(const Points& points, const std::string& regime) {
  const auto it = points.find(regime);
  return it == points.end() ? nullptr : &it->second;
}

struct RegimeRow {
  ErrorMap::Point worst;
  const TallyKey* where = nullptr;
  std::int64_t broken = 0;  // targets x ops x types beyond their bound
};

RegimeRow row_of(const Tally& tally, const std::string& regime) {
  RegimeRow row;
  for (const auto& [key, t] : tally.entries) {
    const ErrorMap::Point* p = point(t.errors.kept, regime);
    if (p && (!row.where || *p > row.worst)) {
      row.worst = *p;
      row.where = &key;
    }
    row.broken += point(t.errors.broken, regime) != nullptr;
  }
  return row;
}

// One mark per distinct pair, whatever number of ops share it.
std::string scatter(const Tally& tally, const std::string& regime, const Panel& panel) {
  std::map<DType, std::set<std::pair<int, int>>> kept;
  std::set<std::pair<int, int>> broken;
  for (const auto& [key, t] : tally.entries) {
    if (const ErrorMap::Point* p = point(t.errors.kept, regime)) kept[key.dtype].insert({p->ulps, p->ratio});
    if (const ErrorMap::Point* p = point(t.errors.broken, regime)) broken.insert({p->ulps, p->ratio});
  }
  const auto octaves = [](int bucket) { return (bucket + 0.5) / kQuarters; };
  std::string out;
  for (const auto& [d, points] : kept) {
    std::string path;
    for (const auto& [ulps, ratio] : points) path += mark(d, panel.x(octaves(ulps)), panel.y(octaves(ratio)));
    out += fmt::format("<path class=\"dot s{}\" d=\"{}\"/>", series_of(d), path);
  }
  std::string path;
  for (const auto& [ulps, ratio] : broken)
    path += fmt::format("M{:.0f} {:.0f}l4 4-4 4-4-4z", panel.x(octaves(ulps)), panel.y(octaves(ratio)) - 4);
  return path.empty() ? out : out + fmt::format("<path class=off d=\"{}\"/>", path);
}

std::string regime_table(const Tally& tally, const std::vector<std::string>& regimes) {
  std::string rows;
  for (const std::string& regime : regimes) {
    const RegimeRow r = row_of(tally, regime);
    const double ratio = middle_of_quarter_octave(r.worst.ratio), ulps = middle_of_quarter_octave(r.worst.ulps);
    rows += fmt::format("<tr><th scope=row class=k>{}</th>{}{}<td class=wide>{}{}\n", html_text(regime),
                        number_cell(ratio, measure_text(ratio)), number_cell(ulps, measure_text(ulps)),
                        r.where ? html_text(fmt::format("{} {} {}", r.where->target, r.where->op, name_of(r.where->dtype))) : "–",
                        count_cell(r.broken));
  }
  return "<details class=more><summary>As a table</summary>\n" +
         html_table({"regimes",
                     "The largest error / bound of each regime that kept its bound, to an eighth of an octave",
                     {"Regime", "#Error / bound", "#Ulps", "By", "#Beyond the bound"},
                     rows}) +
         "</details>\n";
}

// Errors against one axis, over all ops, a line for each target.
struct Series {
  std::map<DType, std::map<std::string, ErrorMap::Spread>> lines;  // type -> target
  std::vector<std::string> targets;
};
constexpr std::size_t kMostLines = 5;

Series collect(const Tally& tally, ErrorMap::Spread ErrorMap::*axis) {
  Series s;
  for (const auto& [key, t] : tally.entries) {
    if ((t.errors.*axis).empty()) continue;
    const std::string target = key.target.substr(0, key.target.find(':'));  // all variants in one line
    if (std::find(s.targets.begin(), s.targets.end(), target) == s.targets.end()) s.targets.push_back(target);
    ErrorMap::Spread& line = s.lines[key.dtype][target];
    for (const auto& [at, octaves] : t.errors.*axis)
      if (finite(at))
        for (const auto& [octave, cases] : octaves) line[at][octave] += cases;
  }
  return s;
}

std::int64_t cases_of(const std::map<int, std::int64_t>& octaves) {
  std::int64_t sum = 0;
  for (const auto& [octave, cases] : octaves) sum += cases;
  return sum;
}

// log2 of the median, its place within its octave by rank.
double median_octave(const std::map<int, std::int64_t>& octaves) {
  double left = static_cast<double>(cases_of(octaves)) / 2;
  for (const auto& [octave, cases] : octaves) {
    if (left <= static_cast<double>(cases)) return octave + left / static_cast<double>(cases);
    left -= static_cast<double>(cases);
  }
  return 0;
}

// Targets beyond the fifth share the last colour.
std::size_t ink_of(const Series& s, const std::string& target) {
  const auto at = static_cast<std::size_t>(std::find(s.targets.begin(), s.targets.end(), target) - s.targets.begin());
  return std::min(at + 1, kMostLines);
}

std::string line_legend(const Series& s) {
  std::string out = "<ul class=legend>";
  for (std::size_t i = 0; i < std::min(s.targets.size(), kMostLines); ++i) {
    const bool rest = i + 1 == kMostLines && s.targets.size() > kMostLines;
    out += fmt::format("<li><svg width=28 height=10 aria-hidden=true><path class=\"line s{}\" d=\"M1 5h26\"/></svg>{}</li>", i + 1,
                       rest ? fmt::format("{} others", s.targets.size() - kMostLines + 1) : html_text(s.targets[i]));
  }
  return out + "</ul>\n";
}

std::string growth_panels(const Series& s, std::string_view axis_name, std::string_view what, double (*octave_of_class)(DType, int)) {
  std::string out = "<div class=panels>\n";
  for (const auto& [d, lines] : s.lines) {
    Range x, y;
    for (const auto& [target, line] : lines)
      for (const auto& [at, octaves] : line) {
        x.include(octave_of_class(d, at));
        y.include(median_octave(octaves));
      }
    if (x.empty()) continue;
    x.include(x.low + 1);
    y.low = std::clamp(std::floor(y.low), -4.0, 0.0);
    y.high = std::clamp(std::ceil(y.high), y.low + 4, 16.0);
    const Panel panel(280, 180, x, y);
    std::string paths;
    for (const auto& [target, line] : lines) {
      std::string path;
      for (const auto& [at, octaves] : line)
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', panel.x(octave_of_class(d, at)), panel.y(median_octave(octaves)));
      if (line.size() == 1) path += "h.1";
      paths += fmt::format("<path class=\"line s{}\" d=\"{}\"><title>{}</title></path>", ink_of(s, target), path, html_text(target));
    }
    out += fmt::format("<figure><figcaption>{}</figcaption>{}{}{}</svg></figure>\n", name_of(d),
                       panel.open(fmt::format("Median error in ulps against {}, {}, a line for each target.", what, name_of(d))),
                       panel.axes(axis_name, "ulps"), paths);
  }
  return out + "</div>\n";
}

double width_octave(DType, int width) { return width / 2.0; }
double scale_octave(DType d, int scale) { return (scale + 0.5) * scale_step(d); }

std::string growth_table(const Series& s, const std::string& id, std::string_view axis_name, double (*octave_of_class)(DType, int)) {
  std::string rows;
  for (const auto& [d, lines] : s.lines)
    for (const auto& [target, line] : lines)
      for (const auto& [at, octaves] : line) {
        const double octave = octave_of_class(d, at), median = std::exp2(median_octave(octaves)),
                     largest = std::exp2(octaves.rbegin()->first + 1);
        const bool between = octave != std::floor(octave);
        rows += fmt::format("<tr><th scope=row class=k>{}</th><td>{}{}{}{}{}\n", html_text(target), name_of(d),
                            number_cell(octave, (between ? "from " : "") + power_text(static_cast<int>(std::floor(octave)))),
                            count_cell(cases_of(octaves)), number_cell(median, measure_text(median)),
                            number_cell(largest, measure_text(largest)));
      }
  return "<details class=more><summary>As a table</summary>\n" +
         html_table({id,
                     "The worst error of a case, in ulps: the median over the cases, and what none exceeds",
                     {"Target", "Type", fmt::format("#{}", axis_name), "#Cases", "#Median", "#All below"},
                     rows,
                     true}) +
         "</details>\n";
}

}  // namespace

std::string regime_section(const HtmlContext& c) {
  const Tally& tally = c.report.tally;
  const std::vector<std::string> regimes = regimes_of(tally);
  if (regimes.empty()) return "";
  Range x, y;
  for (const auto& [key, t] : tally.entries)
    for (const auto& [regime, p] : t.errors.kept) {
      if (finite(p.ulps)) x.include((p.ulps + 0.5) / kQuarters);
      if (finite(p.ratio)) y.include((p.ratio + 0.5) / kQuarters);
    }
  // What lies beyond is drawn at the edge: a few ill-conditioned cases would push all others into a corner.
  x.include(0);
  x.low = std::clamp(x.low, -6.0, -2.0);
  x.high = std::clamp(x.high, 4.0, 24.0);
  y.low = std::clamp(y.empty() ? -8.0 : y.low, -14.0, -6.0);
  y.high = 5;
  const Panel panel(280, 180, x, y);
  std::string out =
      "<section><h2 id=errors>Error against bound</h2>\n<p class=quiet>The worst case of every target, op and type in each regime: how "
      "large its error is in "
      "ulps, and how much of what the contract allows that is. The dashed line is the bound; whatever lies above it is a violation. Marks "
      "at an edge lie beyond it.</p>\n" +
      dtype_legend() + "<div class=panels>\n";
  for (const std::string& regime : regimes)
    out += fmt::format("<figure><figcaption>{}</figcaption>{}{}{}{}</svg></figure>\n", html_text(regime),
                       panel.open("Error against bound in regime " + regime), panel.axes("error in ulps", "error / bound"), panel.level(0),
                       scatter(tally, regime, panel));
  return out + "</div>\n" + regime_table(tally, regimes) + "</section>\n";
}

std::string growth_section(const HtmlContext& c) {
  const Series width = collect(c.report.tally, &ErrorMap::by_width), scale = collect(c.report.tally, &ErrorMap::by_scale);
  if (width.targets.empty()) return "";
  return "<section><h2 id=growth>Error against width and scale</h2>\n<p class=quiet>The largest error of a case within its bound, in units "
         "of the last "
         "place; the line is the median over the cases of all ops. Ulps are many beside a large mean or a result near zero without "
         "anything being "
         "wrong: the bound decides.</p>\n" +
         line_legend(width) + "<h3>Columns of a row</h3>\n" + growth_panels(width, "columns", "the number of columns", width_octave) +
         growth_table(width, "growth-width", "Columns", width_octave) + "<h3>Largest magnitude of the input</h3>\n" +
         growth_panels(scale, "largest |x|", "the scale of the input", scale_octave) +
         growth_table(scale, "growth-scale", "Largest |x|", scale_octave) + "</section>\n";
}

}  // namespace normfuzz
