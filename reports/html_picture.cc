// Got, exact and allowed of each element on one line: the exact value in the middle, the allowed error a band around it, what the kernel
// gave a mark. Distances are in units of the allowed error, linear within it and logarithmic beyond; where nothing is allowed, in ulps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/escape.h"
#include "reports/html_parts.h"
#include "reports/wording.h"

namespace normfuzz {
namespace {

constexpr std::size_t kMostRows = 16;
constexpr double kWidth = 340, kRow = 22, kTop = 20, kMiddle = 170, kBand = 30,
                 kReach = 100;  // pixels; kReach: from the middle to the edge

struct Offset {
  double value = 0;  // signed distance from the exact value
  bool number = true;
  bool in_ulps = false;  // else in units of the allowed error
};

Offset offset_of(const ElementEvidence& e) {
  const double error = e.got - e.exact;
  Offset o;
  o.in_ulps = e.allowed == 0;
  if (!std::isfinite(error)) {
    o.number = std::isnan(e.got) && std::isnan(e.exact);  // the exact value is no number either: as it should be
    return o;
  }
  if (o.in_ulps)
    o.value = std::copysign(std::fabs(e.ulps), error);
  else if (std::isfinite(e.allowed))
    o.value = error / e.allowed;
  return o;
}

// The violating ones first, then the others, as many as there is room for; in the order of the elements.
std::vector<ElementEvidence> shown(const std::vector<ElementEvidence>& elements) {
  std::vector<std::size_t> order;
  for (const bool violating : {true, false})
    for (std::size_t i = 0; i < elements.size(); ++i)
      if ((elements[i].verdict == ElementVerdict::kViolation) == violating) order.push_back(i);
  order.resize(std::min(order.size(), kMostRows));
  std::sort(order.begin(), order.end());
  std::vector<ElementEvidence> out;
  for (const std::size_t i : order) out.push_back(elements[i]);
  return out;
}

// Where a distance stands; `decades`: how many lie between the band and the edge.
double place(double offset, double decades) {
  const double size = std::fabs(offset);
  const double distance = size <= 1 ? size * kBand : kBand + (kReach - kBand) * std::min(1.0, std::log10(size) / decades);
  return kMiddle + std::copysign(distance, offset);
}

std::string distance_text(const Offset& o, const ElementEvidence& e) {
  if (!o.number) return std::isnan(e.got) ? "NaN" : std::isinf(e.got) ? (e.got > 0 ? "+inf" : "−inf") : "a number";
  if (std::isinf(e.allowed)) return "no bound";
  const std::string size = fmt::format("{:.3g}", std::fabs(o.value));
  return o.value == 0 ? "exact" : o.in_ulps ? size + " ulp" : size + "×";
}

std::string row(const ElementEvidence& e, double y, double decades) {
  const Offset o = offset_of(e);
  const bool off = e.verdict == ElementVerdict::kViolation || e.verdict == ElementVerdict::kLimit;
  std::string out = fmt::format("<text class=t x=0 y={:.0f}>{}[{}]</text>", y + 4, html_text(e.output), e.index);
  if (std::isinf(e.allowed))
    out += fmt::format("<path class=band d=\"M{:.0f} {:.0f}h{:.0f}v12h-{:.0f}z\"/>", kMiddle - kReach, y - 6, 2 * kReach, 2 * kReach);
  else if (e.allowed > 0)
    out += fmt::format("<path class=band d=\"M{:.0f} {:.0f}h{:.0f}v12h-{:.0f}z\"/>", kMiddle - kBand, y - 6, 2 * kBand, 2 * kBand);
  out += fmt::format("<path class=exact d=\"M{:.0f} {:.0f}v16\"/>", kMiddle, y - 8);
  const double x = o.number ? place(o.value, decades) : kMiddle + (std::signbit(e.got) && !std::isnan(e.got) ? -kReach : kReach);
  if (off)
    out += fmt::format("<path class=off d=\"M{:.1f} {:.1f}l5 5-5 5-5-5z\"/>", x, y - 5);
  else
    out += fmt::format("<circle class=got cx={:.1f} cy={:.1f} r=4 />", x, y);
  return out +
         fmt::format("<text class={} x={:.0f} y={:.0f} text-anchor=end>{}</text>\n", off ? "v" : "t", kWidth, y + 4, distance_text(o, e));
}

std::string axis(double y, double decades, bool in_ulps) {
  std::string out = fmt::format("<path class=axis d=\"M{:.0f} {:.0f}h{:.0f}\"/>", kMiddle - kReach, y, 2 * kReach);
  const auto tick = [&](double offset, const std::string& text) {
    const double x = place(offset, decades);
    out += fmt::format("<path class=axis d=\"M{0:.1f} {1:.0f}v4\"/><text x={0:.1f} y={2:.0f} text-anchor=middle>{3}</text>", x, y, y + 15,
                       text);
  };
  const double last = std::ceil(decades);
  const std::string far = power_text(static_cast<int>(last), 10);
  tick(-std::pow(10, last), "−" + far);
  tick(-1, "−1");
  tick(1, "+1");
  tick(std::pow(10, last), "+" + far);
  return out +
         fmt::format("<text x={:.0f} y={:.0f} text-anchor=middle>{}</text>", kMiddle, y + 29,
                     in_ulps ? "distance from the exact value in ulps" : "distance from the exact value, in units of the allowed error");
}

}  // namespace

std::string element_picture(const std::vector<ElementEvidence>& all) {
  const std::vector<ElementEvidence> elements = shown(all);
  if (elements.empty()) return "";
  double largest = 10;
  bool in_ulps = true;
  for (const ElementEvidence& e : elements) {
    const Offset o = offset_of(e);
    largest = std::max(largest, std::fabs(o.value));
    in_ulps = in_ulps && o.in_ulps;
  }
  const double decades = std::ceil(std::log10(largest)), bottom = kTop + kRow * static_cast<double>(elements.size());
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" width={0:.0f} height={1:.0f} role=img aria-label=\"Distance of {2} "
      "output elements from the exact value; the table has the numbers.\">\n",
      kWidth, bottom + 36, elements.size());
  out += fmt::format("<text x={:.0f} y=10 text-anchor=middle>exact</text>", kMiddle);
  for (std::size_t i = 0; i < elements.size(); ++i) out += row(elements[i], kTop + kRow * (static_cast<double>(i) + 0.5) - 2, decades);
  out += axis(bottom + 2, decades, in_ulps) + "</svg>\n";
  if (all.size() > elements.size()) out += fmt::format("<p class=quiet>{} of {} elements are drawn.</p>\n", elements.size(), all.size());
  return out;
}

}  // namespace normfuzz
