#include "reports/wording.h"

#include "harness/store.h"

namespace normfuzz {

std::string law_text(std::string_view law) {
  if (law == "constant_row") return "constant row -> bias";
  if (law == "equal_rows") return "equal rows -> equal bits";
  if (law == "batch_invariance") return "batch invariance";
  return std::string(law);
}

std::string variants_of(const Finding& finding) {
  std::string out;
  for (const std::string& variant : finding.variants)
    if (!variant.empty()) out += (out.empty() ? ":" : ", :") + variant;
  return out;
}

std::string shard_text(const CampaignReport& report) {
  const std::string shards = std::to_string(report.shards);
  return report.shard == CampaignSettings::kMerged ? "several of " + shards : std::to_string(report.shard) + "/" + shards;
}

}  // namespace normfuzz
